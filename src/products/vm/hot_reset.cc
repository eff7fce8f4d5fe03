#include "vm/hot_reset.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "vm/pci_function.h"

namespace gpuready::vm {
namespace {

// A structure of the kernel's with an array at its end.
template <class Head, class Entry>
struct Buffer {
  explicit Buffer(std::size_t count)
      : bytes((sizeof(Head) + count * sizeof(Entry) + sizeof(std::uint64_t) - 1) /
              sizeof(std::uint64_t)) {
    head()->argsz = static_cast<std::uint32_t>(sizeof(Head) + count * sizeof(Entry));
  }
  Head* head() { return reinterpret_cast<Head*>(bytes.data()); }
  Entry* entries() { return reinterpret_cast<Entry*>(head() + 1); }
  std::vector<std::uint64_t> bytes;
};

Result<Descriptor> open_node(const std::string& path) {
  Descriptor node(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!node) return fail_errno(path, errno);
  return node;
}

class HotReset {
 public:
  Result<void> run(Host& host, const std::string& folder, const std::vector<std::string>& allowed) {
    container_ = TRY(open_node("/dev/vfio/vfio"));
    for (const auto& address : allowed) TRY(take_group(host, address));
    if (groups_.empty()) return fail(ErrorKind::bad_input, folder + ": no device is named");
    if (::ioctl(container_.get(), VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0)
      return fail_errno("VFIO cannot use the IOMMU (is the module vfio_iommu_type1 loaded?)",
                        errno);
    const std::string name(last_component(folder));
    const auto group = groups_.find(TRY(group_of(host, name)));
    if (group == groups_.end())
      return fail(ErrorKind::bad_input, name + ": it is not among those that may be reset");
    const Descriptor device(::ioctl(group->second.get(), VFIO_GROUP_GET_DEVICE_FD, name.c_str()));
    if (!device) return fail_errno(name, errno);
    const auto reached = TRY(reached_groups(device, name, allowed));
    Buffer<vfio_pci_hot_reset, std::int32_t> request(reached.size());
    request.head()->count = static_cast<std::uint32_t>(reached.size());
    std::ranges::copy(reached, request.entries());
    if (::ioctl(device.get(), VFIO_DEVICE_PCI_HOT_RESET, request.head()) != 0)
      return fail_errno(name, errno);
    return {};
  }

 private:
  static Result<std::string> group_of(Host& host, const std::string& address) {
    return std::string(
        last_component(TRY(host.read_link("/sys/bus/pci/devices/" + address + "/iommu_group"))));
  }

  Result<void> take_group(Host& host, const std::string& address) {
    const auto number = TRY(group_of(host, address));
    if (groups_.contains(number)) return {};
    const auto path = "/dev/vfio/" + number;
    auto group = TRY(open_node(path));
    const int container = container_.get();
    if (::ioctl(group.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0)
      return fail_errno(path, errno);
    groups_.emplace(number, std::move(group));
    return {};
  }

  // The descriptors of the groups of all devices that the reset reaches.
  Result<std::vector<std::int32_t>> reached_groups(const Descriptor& device,
                                                   const std::string& name,
                                                   const std::vector<std::string>& allowed) {
    constexpr std::size_t kMost = 256;  // functions of one bus
    Buffer<vfio_pci_hot_reset_info, vfio_pci_dependent_device> info(kMost);
    if (::ioctl(device.get(), VFIO_DEVICE_GET_PCI_HOT_RESET_INFO, info.head()) != 0)
      return fail_errno(name + ": the kernel has no hot reset for it", errno);
    const auto count = std::min<std::size_t>(info.head()->count, kMost);
    std::vector<std::string> held;
    for (const auto& [number, group] : groups_) held.push_back(number);
    std::vector<std::int32_t> groups;
    for (const auto& number :
         TRY(groups_of_reset(name, std::span(info.entries(), count), allowed, held)))
      groups.push_back(groups_.at(number).get());
    return groups;
  }

  Descriptor container_;
  std::map<std::string, Descriptor> groups_;  // by number
};

}  // namespace

Result<std::vector<std::string>> groups_of_reset(const std::string& name,
                                                 std::span<const vfio_pci_dependent_device> reached,
                                                 std::span<const std::string> allowed,
                                                 std::span<const std::string> held) {
  std::vector<std::string> groups;
  for (const auto& one : reached) {
    const auto address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", one.segment, one.bus,
                                     one.devfn >> 3, one.devfn & 7);
    const auto group = std::to_string(one.group_id);
    if (std::ranges::find(held, group) == held.end() ||
        std::ranges::find(allowed, address) == allowed.end())
      return fail(ErrorKind::busy, fmt::format("{}: its reset would reset {}, too", name, address),
                  EBUSY);
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

Result<void> vfio_hot_reset(Host& host, const std::string& folder, const std::string& allowed) {
  std::vector<std::string> addresses;
  for (const auto word : split(allowed, " ")) addresses.emplace_back(word);
  return HotReset().run(host, folder, addresses);
}

}  // namespace gpuready::vm
