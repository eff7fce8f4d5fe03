#include "vm/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "machine/gpu_use.h"
#include "machine/pci/pci_addresses.h"
#include "machine/pci/pci_files.h"
#include "vm/host_facts.h"
#include "vm/mediated.h"
#include "vm/readiness.h"
#include "vm/strict_reader.h"
#include "vm/usage/disk_claims.h"
#include "vm/usage/storage_use.h"

namespace gpuready::vm {
namespace {

const std::string kDevices = "/sys/bus/pci/devices";
constexpr std::uint32_t kStorageClass = 0x01, kNetworkClass = 0x02;

class Reader {
 public:
  Reader(Host& host, const Machine& machine) : host_(host), machine_(machine) {}

  Inventory read(const InventoryOptions& options) {
    out_.host = read_host_facts(host_, machine_);
    list_addresses();
    for (const auto& address : addresses_)
      if (wanted(address, options)) add(address);
    for (const auto& address : options.named) add(address, true);
    std::ranges::sort(out_.devices, {}, [](const Device& d) { return d.function.address; });
    find_companions();
    out_.addresses = addresses_;
    out_.instances = read_mediated_devices(host_);
    if (out_.devices.empty() && out_.instances.empty()) return std::move(out_);
    std::vector<LockedRead> reads;
    for (auto& device : out_.devices) reads.push_back({&device.function, &device.around.unclear});
    read_locked_attributes(host_, reads);
    open_ = read_open_files(host_);
    if (open_.unseen) out_.unseen.push_back(*open_.unseen);
    storage_ = read_storage_use(host_, open_.mounts);
    read_networks();
    for (auto& device : out_.devices) surround(device);
    find_disk_claims(host_, storage_, out_);
    for (auto& device : out_.devices) find_linked_users(device);
    for (auto& instance : out_.instances)
      find_holders(instance.around, true, [&](const std::string& place) {
        return contains(place, "/" + instance.uuid + "/");
      });
    assess(out_);
    return std::move(out_);
  }

 private:
  void list_addresses() {
    const auto names = host_.list_directory(kDevices);
    if (!names) {
      out_.unseen.push_back(printable(names.error().message));
      out_.bus_unread = why_bus_unread(machine_);
      return;
    }
    for (const auto& name : *names)
      if (const auto address = parse_pci_address(name)) addresses_.push_back(*address);
  }

  bool wanted(const PciAddress& address, const InventoryOptions& options) {
    const auto class_code = host_.read_hex(folder_of(address) + "/class");
    if (!class_code) return false;
    const auto code = static_cast<std::uint32_t>(*class_code & 0xffffff);
    if (options.all) return code >> 16 != 0x06 || code >> 8 == 0x0680;
    const auto vendor = host_.read_hex(folder_of(address) + "/vendor").value_or(0);
    return is_passable(static_cast<std::uint16_t>(vendor), code);
  }

  // Adds the function, and all that its IOMMU group and its slot bind to it.
  void add(const PciAddress& address, bool named = false) {
    if (out_.find(address)) return;
    Device device;
    auto function = read_pci_function(host_, address, &device.around.unclear);
    if (!function) {  // it vanished while it was read, or what it is cannot be read
      if (!named) unreadable_.insert(address);
      return;
    }
    if (function->stays_with_host() && !named) return;
    device.function = std::move(*function);
    const auto members = members_of(device);
    out_.devices.push_back(std::move(device));
    for (const auto& other : members) add(other);
    if (!out_.find(address)->function.is_bridge())  // a chipset's slot
      for (const auto& other : addresses_)
        if (same_slot(other, address)) add(other);
    for (const auto& other : unreadable_)
      if (same_slot(other, address) || std::ranges::find(members, other) != members.end())
        out_.find(address)->around.unclear.push_back(fmt::format(
            "{}: its class, vendor or device cannot be read, and it may have to go along",
            folder_of(other)));
  }

  std::vector<PciAddress> members_of(Device& device) {
    std::vector<PciAddress> out;
    const auto group = device.function.iommu_group;
    if (!group) return out;
    StrictReader strict(host_, device.around.unclear);
    const std::string folder = fmt::format("/sys/kernel/iommu_groups/{}/devices", *group);
    for (const auto& name : strict.list(folder))
      if (const auto address = parse_pci_address(name)) out.push_back(*address);
    return out;
  }

  // Functions of one slot go together when the slot is a GPU's: its audio and USB-C functions hold
  // its power state. Those of a chipset's slot have nothing to do with each other.
  static bool go_together(const Device& a, const Device& b) {
    if (a.function.stays_with_host() || b.function.stays_with_host()) return false;
    if (a.function.iommu_group && a.function.iommu_group == b.function.iommu_group) return true;
    if (a.function.physical_function || b.function.physical_function) return false;
    const auto gpu = [](const Device& d) {
      return is_passable(d.function.vendor_id, d.function.class_code);
    };
    return same_slot(a.function.address, b.function.address) && (gpu(a) || gpu(b));
  }

  void find_companions() {
    for (auto& device : out_.devices) {
      std::set<PciAddress> closure = {device.function.address};
      for (bool grew = true; grew;) {
        grew = false;
        for (const auto& other : out_.devices) {
          if (closure.contains(other.function.address)) continue;
          if (std::ranges::any_of(closure, [&](const PciAddress& member) {
                return go_together(*out_.find(member), other);
              }))
            grew = closure.insert(other.function.address).second;
        }
      }
      auto& around = device.around;
      around.moves_together.assign(closure.begin(), closure.end());
      for (const auto& other : out_.devices) {
        const auto& address = other.function.address;
        if (other.function.stays_with_host()) continue;
        if (device.function.iommu_group &&
            other.function.iommu_group == device.function.iommu_group)
          around.group.push_back(address);
        if (address != device.function.address && same_slot(address, device.function.address) &&
            closure.contains(address))
          around.companions.push_back(address);
      }
    }
  }

  std::vector<std::string> list(const std::string& folder) {
    return host_.list_directory(folder).value_or(std::vector<std::string>{});
  }

  void find_nodes(Device& device) {
    auto& nodes = device.around.nodes;
    const std::string folder = folder_of(device.function.address);
    StrictReader strict(host_, device.around.unclear);
    const auto list = [&](const std::string& below) { return strict.list(below); };
    for (const auto& name : list(folder + "/drm"))
      if (name.starts_with("card") || name.starts_with("renderD"))
        nodes.push_back("/dev/dri/" + name);
    for (const auto& card : list(folder + "/sound"))
      for (const auto& name : list(folder + "/sound/" + card))
        if (name.starts_with("pcm") || name.starts_with("control") || name.starts_with("hw"))
          nodes.push_back("/dev/snd/" + name);
    for (const auto& name : list(folder + "/nvme")) nodes.push_back("/dev/" + name);
    for (const char* kind : {"/infiniband_verbs", "/infiniband_mad"})
      for (const auto& name : list(folder + kind)) nodes.push_back("/dev/infiniband/" + name);
    for (const auto& name : list(folder + "/vfio-dev"))
      nodes.push_back("/dev/vfio/devices/" + name);
    if (is_handed_over(device.function) && device.function.iommu_group)
      nodes.push_back(fmt::format("/dev/vfio/{}", *device.function.iommu_group));
    const auto generic = host_.list_directory("/sys/class/nvme-generic");
    for (const auto& disk : storage_.disks) {
      if (!disk.path.contains(device.function.address)) continue;
      nodes.push_back("/dev/" + disk.name);
      for (const auto& name : generic.value_or(std::vector<std::string>{}))
        if (name.starts_with("ng") && disk.name == "nvme" + name.substr(2))
          nodes.push_back("/dev/" + name);
    }
    for (const auto& name : list(folder))
      if (name.starts_with("virtio"))
        if (const auto driver = strict.link_name(folder + "/" + name + "/driver"))
          virtio_drivers_[device.function.address].insert(*driver);
    if (carries_virtio(device, "virtio_console"))  // which is which is not told
      for (const auto& file : open_.files)
        if (file.path.starts_with("/dev/hvc")) nodes.push_back(file.path);
    find_nvidia_nodes(device);
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  }

  std::optional<std::string> nvidia_node(const PciAddress& address) const {
    const auto* gpu = machine_.find_gpu(address);
    if (!gpu || gpu->vendor != Vendor::nvidia || !gpu->minor_number) return std::nullopt;
    return fmt::format("/dev/nvidia{}", *gpu->minor_number);
  }

  // If no source says which node is whose, each open one of no other device may be this one's.
  void find_nvidia_nodes(Device& device) {
    auto& nodes = device.around.nodes;
    const auto& driver = device.function.driver;
    if (const auto node = nvidia_node(device.function.address)) return nodes.push_back(*node);
    const bool gpu = driver == "nvidia" && has_memory(device.function);
    const bool fabric = driver == "nvidia-nvswitch";
    if (fabric) nodes.push_back("/dev/nvidia-nvswitchctl");  // through which all are reached
    for (const auto& file : open_.files) {
      const auto number = after_prefix(file.path, fabric ? "/dev/nvidia-nvswitch" : "/dev/nvidia");
      if ((gpu || fabric) && number && parse_uint(*number) && !is_of_any(file.path))
        nodes.push_back(file.path);
    }
  }

  // Through nodes that all GPUs share NVIDIA's driver takes references of any, and does not report
  // of which: by NVKMS, by ATTACH_GPUS_TO_FD of the control node, by UVM (nv.c of NVIDIA's open
  // modules). Unbinding a GPU with a reference never ends (open-gpu-kernel-modules, issue 1119).
  // Clients of the control node and of UVM hold the nodes of the GPUs that they use, too.
  void find_shared_holders(Device& device, std::set<std::uint32_t>& seen) {
    if (device.function.driver != "nvidia" || !has_memory(device.function)) return;
    const auto is_of_a_gpu = [](const std::string& path) {
      const auto number = after_prefix(path, "/dev/nvidia");
      return number && parse_uint(*number);
    };
    for (const auto& file : open_.files) {
      const bool any = file.path == "/dev/nvidia-modeset";
      if (!any && file.path != "/dev/nvidiactl" && !file.path.starts_with("/dev/nvidia-uvm"))
        continue;
      const bool told = !any && std::ranges::any_of(open_.files, [&](const OpenFile& other) {
        return other.pid == file.pid && is_of_a_gpu(other.path);
      });
      if (!told && seen.insert(file.pid).second)
        add_process(
            device.around, file.pid,
            fmt::format("holds {} open, and may use any GPU through it", printable(file.path)));
    }
  }

  bool is_of_any(const std::string& node) const {
    return std::ranges::any_of(out_.devices, [&](const Device& device) {
      return nvidia_node(device.function.address) == node;
    });
  }

  std::string name_of_process(std::uint32_t pid) {
    return printable(host_.read_text(fmt::format("/proc/{}/comm", pid)).value_or(""));
  }

  // A service that runs and that the plan stops.
  std::optional<std::string> service_of(const std::string& process) {
    for (const auto& service : holding_services())
      if (service.process == process &&
          std::ranges::find(out_.host.services, service.unit) != out_.host.services.end())
        return std::string(service.unit);
    return std::nullopt;
  }

  void add_process(Surroundings& around, std::uint32_t pid, const std::string& holds) {
    const std::string name = name_of_process(pid);
    const auto service = service_of(name);
    around.uses.push_back({.kind = "process",
                           .what = name.empty()
                                       ? fmt::format("process {} {}", pid, holds)
                                       : fmt::format("process {} ({}) {}", pid, name, holds),
                           .pid = pid,
                           .ends_with_plan = service.has_value(),
                           .service = service});
  }

  // An open VFIO device of which the kernel does not tell more: another file of the same process
  // does, which it was opened through, or it may be any.
  bool may_be_any(const OpenFile& file) const {
    return file.is_vfio_device() && !open_.places.contains(file.path) &&
           std::ranges::none_of(open_.files, [&](const OpenFile& other) {
             return other.pid == file.pid && other.path.starts_with("/dev/vfio/");
           });
  }

  // Who holds one of its device files open, by name or by its place in sysfs.
  template <class IsOfIt>
  std::set<std::uint32_t> find_holders(Surroundings& around, bool vfio, IsOfIt is_of_it) {
    std::set<std::uint32_t> seen;
    for (const auto& file : open_.files) {
      const auto place = open_.places.find(file.path);
      const bool named = std::ranges::find(around.nodes, file.path) != around.nodes.end() ||
                         (place != open_.places.end() && is_of_it(place->second));
      if ((!named && !(vfio && may_be_any(file))) || !seen.insert(file.pid).second) continue;
      if (file.pid == 0)
        around.uses.push_back({.kind = "console",
                               .what = "the kernel's console is on " + printable(file.path),
                               .pid = {}});
      else
        add_process(around, file.pid,
                    !file.is_vfio_device() ? "holds " + printable(file.path) + " open"
                    : named                ? "holds it open through VFIO"
                            : "holds a VFIO device open, and the kernel does not report which");
    }
    return seen;
  }

  void find_processes(Device& device) {
    auto seen = find_holders(device.around, is_vfio(device.function.driver),
                             [&](const std::string& place) { return carries(device, place); });
    find_shared_holders(device, seen);
    const auto* gpu = machine_.find_gpu(device.function.address);
    if (!gpu) return;
    device.around.uuid = gpu->uuid;
    device.around.persistence = gpu->persistence;
    for (const auto& process : gpu->processes)
      if (seen.insert(process.pid).second)
        add_process(device.around, process.pid, "computes or draws on it");
    if (gpu->persistence.value_or(false))
      device.around.uses.push_back({.kind = "persistence",
                                    .what = "persistence mode keeps the driver's hold of it",
                                    .pid = {},
                                    .ends_with_plan = true});
  }

  void find_display(Device& device) {
    const std::string drm = folder_of(device.function.address) + "/drm";
    StrictReader strict(host_, device.around.unclear);
    for (const auto& card : list(drm))
      for (const auto& connector : strict.list(drm + "/" + card))
        if (connector.starts_with(card + "-") &&
            strict.one_of(drm + "/" + card + "/" + connector + "/enabled",
                          {"enabled", "disabled"}) == "enabled")
          device.around.uses.push_back(
              {.kind = "display",
               .what = "a display at " + printable(connector) + " shows its picture",
               .pid = {}});
  }

  void find_disks(Device& device) {
    const bool has_disks = device.function.class_code >> 16 == kStorageClass ||
                           std::ranges::any_of(storage_.disks, [&](const auto& disk) {
                             return disk.path.contains(device.function.address);
                           });
    if (has_disks)
      device.around.unclear.insert(device.around.unclear.end(), storage_.unclear.begin(),
                                   storage_.unclear.end());
    for (const auto& disk : storage_.disks) {
      if (disk.used_by.empty() && !disk.essential) continue;
      if (!disk.path.contains(device.function.address)) continue;
      device.around.uses.push_back(
          {.kind = "disk",
           .what = fmt::format("{} is in use: {}", printable(disk.name),
                               disk.used_by.empty() ? "it holds the root filesystem or swap"
                                                    : printable(disk.used_by)),
           .pid = {},
           .whole_machine = disk.essential});
    }
    if (storage_.pools_unknown && has_disks)
      device.around.uses.push_back(
          {.kind = "disk",
           .what = "a ZFS filesystem is mounted, and which disks it uses is not known",
           .pid = {}});
  }

  // The function itself, or what is on a bus that it carries: virtio, USB.
  static bool carries(const Device& device, const std::string& place) {
    const auto path = parse_pci_path(place).path;
    return std::ranges::find(path, device.function.address) != path.end();
  }

  bool carries_virtio(const Device& device, const std::string& driver) const {
    const auto found = virtio_drivers_.find(device.function.address);
    return found != virtio_drivers_.end() && found->second.contains(driver);
  }

  // Filesystems on no block device: which of several devices carries one is not told.
  void find_mounts(Device& device) {
    for (const auto& mount : storage_.of_virtio)
      if (carries_virtio(device, mount.driver))
        device.around.uses.push_back(
            {.kind = "mount",
             .what = fmt::format("{} ({}) is mounted", printable(mount.point), mount.type),
             .pid = {},
             .whole_machine = mount.point == "/"});
  }

  // Below the function itself, or below a bus that it carries: virtio, USB. The folder of a
  // device's interfaces exists while it has one, and shows those of this network namespace.
  void read_networks() {
    for (const char* bus : {"pci", "virtio", "usb", "auxiliary"}) {
      const auto folder = fmt::format("/sys/bus/{}/devices/", bus);
      for (const auto& name : list(folder)) {
        const auto inside = host_.list_directory(folder + name + "/net");
        if (!inside || !inside->empty()) continue;
        const auto place = host_.real_path(folder + name);
        if (!place) continue;
        for (const auto& function : parse_pci_path(*place).path) hidden_networks_.insert(function);
      }
    }
    StrictReader strict(host_, unclear_networks_);
    for (const auto& name : strict.list("/sys/class/net")) {
      const auto folder = host_.real_path("/sys/class/net/" + name);
      if (!is_device_path(folder)) {
        strict.note("where /sys/class/net/" + printable(name) +
                    " leads is not known: it is a link to no device");
        continue;
      }
      for (const auto& function : parse_pci_path(*folder).path) networks_[function].insert(name);
    }
  }

  void find_networks(Device& device) {
    StrictReader strict(host_, device.around.unclear);
    if (hidden_networks_.contains(device.function.address))
      device.around.uses.push_back({.kind = "network",
                                    .what = "its network interface is in another network namespace",
                                    .pid = {}});
    auto names = networks_[device.function.address];
    if (device.function.class_code >> 16 == kNetworkClass) {
      for (const auto& note : unclear_networks_) strict.note(note);
      for (auto& name : strict.list(folder_of(device.function.address) + "/net"))
        names.insert(std::move(name));
    }
    for (const auto& name : names) {
      // Without a cable it is up and not running: somebody configured it all the same.
      constexpr std::uint64_t kUp = 1;  // Linux, include/uapi/linux/if.h: IFF_UP
      const auto path = "/sys/class/net/" + name + "/flags";
      const auto flags = host_.read_hex(path);
      if (!flags) strict.note(path + " does not say whether the interface is up");
      if (flags && (*flags & kUp))
        device.around.uses.push_back(
            {.kind = "network",
             .what = fmt::format("network interface {} is up", printable(name)),
             .pid = {}});
    }
  }

  void find_shares(Device& device) {
    if (const int count = device.function.vf_count.value_or(0); count > 0)
      device.around.uses.push_back({.kind = "virtual functions",
                                    .what = fmt::format("{} virtual functions exist", count),
                                    .pid = {}});
    for (const auto& type : device.function.mdev_types)
      for (const auto& instance : type.instances)
        device.around.uses.push_back(
            {.kind = "mediated device",
             .what = fmt::format("mediated device {} ({}) exists", printable(instance),
                                 printable(type.name.value_or(type.id))),
             .pid = {}});
  }

  // What computes on GPUs that a switch links goes through it.
  void find_linked_users(Device& device) {
    if (device.function.driver != "nvidia-nvswitch") return;
    for (const auto& other : out_.devices) {
      if (other.function.driver != "nvidia" || !has_memory(other.function)) continue;
      if (const auto* use = use_that_stays(other.around))
        device.around.uses.push_back({.kind = use->kind,
                                      .what = fmt::format("{}, which it may link, is in use: {}",
                                                          other.function.address.text(), use->what),
                                      .pid = use->pid});
    }
  }

  void surround(Device& device) {
    find_nodes(device);
    find_processes(device);
    find_display(device);
    find_disks(device);
    find_mounts(device);
    find_networks(device);
    find_shares(device);
  }

  Host& host_;
  const Machine& machine_;
  Inventory out_;
  std::vector<PciAddress> addresses_;
  std::set<PciAddress> unreadable_;
  OpenFiles open_;
  StorageUse storage_;
  std::map<PciAddress, std::set<std::string>> virtio_drivers_;
  std::map<PciAddress, std::set<std::string>> networks_;  // interfaces below a function
  std::set<PciAddress> hidden_networks_;  // with interfaces in other network namespaces
  std::vector<std::string> unclear_networks_;
};

}  // namespace

Inventory read_inventory(Host& host, const Machine& machine, const InventoryOptions& options) {
  return Reader(host, machine).read(options);
}

}  // namespace gpuready::vm
