#include "vm/guest/device_mapper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/descriptor.h"

namespace gpuready::vm {
namespace {

constexpr const char* kControl = "/dev/mapper/control";

dm_ioctl header_of(const LinearMap& map, std::size_t bytes) {
  dm_ioctl header{};
  header.version[0] = 4;  // DM_VERSION_MAJOR; 4.0 is in every kernel
  header.data_size = static_cast<std::uint32_t>(bytes);
  header.data_start = sizeof header;
  map.name.copy(header.name, sizeof header.name - 1);
  if (map.read_only) header.flags = DM_READONLY_FLAG;
  return header;
}

// The argument of DM_TABLE_LOAD: a header, and a target with its text for each part.
std::string table_of(const LinearMap& map) {
  std::string targets;
  std::uint64_t start = 0;
  for (const auto& part : map.parts) {
    auto text = fmt::format("{} {}", part.device, part.device_sector);
    text.resize(text.size() / 8 * 8 + 8);  // a NUL, and the next target aligned
    dm_target_spec target{};
    target.sector_start = start;
    target.length = part.sectors;
    target.next = static_cast<std::uint32_t>(sizeof target + text.size());
    std::string_view("linear").copy(target.target_type, sizeof target.target_type - 1);
    targets.append(reinterpret_cast<const char*>(&target), sizeof target).append(text);
    start += part.sectors;
  }
  auto header = header_of(map, sizeof(dm_ioctl) + targets.size());
  header.target_count = static_cast<std::uint32_t>(map.parts.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + targets;
}

}  // namespace

Result<std::string> map_device(const LinearMap& map) {
  const Descriptor control(::open(kControl, O_RDWR | O_CLOEXEC));
  if (!control)
    return fail(
        ErrorKind::not_found,
        std::string(kControl) +
            " is missing: the bundle needs the module dm_mod (vm drivers collect --module)");
  const auto path = "/dev/mapper/" + map.name;
  auto device = header_of(map, sizeof(dm_ioctl));
  map.uuid.copy(device.uuid, sizeof device.uuid - 1);
  if (::ioctl(control.get(), DM_DEV_CREATE, &device) != 0) {
    if (errno == EBUSY) return path;  // by an earlier call
    return fail_errno("mapping of " + map.name, errno);
  }
  auto table = table_of(map);
  auto resume = header_of(map, sizeof(dm_ioctl));
  if (::ioctl(control.get(), DM_TABLE_LOAD, table.data()) != 0 ||
      ::ioctl(control.get(), DM_DEV_SUSPEND, &resume) != 0) {
    const int error = errno;
    auto remove = header_of(map, sizeof(dm_ioctl));
    (void)::ioctl(control.get(), DM_DEV_REMOVE, &remove);
    return fail_errno("mapping of " + map.name + " (its disks may be too small)", error);
  }
  // The kernel makes only /dev/dm-N; udev's rules make this link.
  const auto node = fmt::format("../dm-{}", minor(device.dev));
  if (::symlink(node.c_str(), path.c_str()) != 0 && errno != EEXIST) return fail_errno(path, errno);
  return path;
}

}  // namespace gpuready::vm
