// The PCI bus as sysfs shows it. The class is read first, and only display controllers, processing
// accelerators, NVIDIA's switches, and the other functions of a GPU's slot are read further: a
// server has hundreds of functions. All of this comes from the kernel's memory except the link
// attributes, which read the device's configuration space and would wake a suspended GPU.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "machine/pci/pci_addresses.h"
#include "machine/pci/pci_files.h"
#include "machine/pci/pci_ids.h"
#include "machine/sources.h"
#include "machine/system/drm_cards.h"
#include "value/vendors.h"

namespace gpuready {
namespace {
const std::string kFolder = "/sys/bus/pci/devices", kDevices = kFolder + "/";

using pci_vendor::kAmd, pci_vendor::kIntel, pci_vendor::kNvidia;
constexpr std::uint32_t kDisplay = 0x03;        // base class
constexpr std::uint32_t kAccelerator = 0x1200;  // processing accelerator
constexpr std::uint32_t kOtherBridge = 0x0680;  // NVSwitch
constexpr std::uint32_t kEthernet = 0x0200, kInfiniBand = 0x0207, kOtherNetwork = 0x0280;

struct Slot {
  PciAddress address;
  std::uint32_t class_code = 0;
  bool detailed = false;
};

// Intel's processing accelerators are NPUs and Gaudi; AMD's are Instinct GPUs.
bool gpu_class(std::uint16_t vendor, std::uint32_t class_code) {
  if (class_code >> 16 == kDisplay) return vendor_with_pci_id(vendor) != Vendor::other;
  return class_code >> 8 == kAccelerator && vendor == kAmd;
}

class Function {
 public:
  Function(Host& host, const PciAddress& address) : host_(host), base_(kDevices + address.text()) {}
  std::optional<std::string> text(const char* name) const { return host_.read_text(base_ + name); }
  std::optional<std::uint64_t> hex(const char* name) const { return host_.read_hex(base_ + name); }
  std::optional<std::string> link_name(const char* name) const {
    return host_.link_name(base_ + name);
  }
  bool has(const char* name) const { return host_.exists(base_ + name); }
  PcieLink link(const char* speed, const std::optional<std::string>& width) const {
    PcieLink link;
    if (const auto value = text(speed)) link.generation = parse_link_speed(*value);
    if (width) link.width = parse_link_width(*width);
    return link;
  }
  std::optional<std::string> width_now() const { return text("/current_link_width"); }
  PcieLink link_now() const { return link("/current_link_speed", width_now()); }
  PcieLink link_max() const { return link("/max_link_speed", text("/max_link_width")); }
  PcieErrors errors() const {
    PcieErrors errors;
    if (const auto counts = text("/aer_dev_correctable"))
      errors.correctable = parse_aer_total(*counts, "TOTAL_ERR_COR");
    if (const auto counts = text("/aer_dev_nonfatal")) {
      errors.nonfatal = parse_aer_total(*counts, "TOTAL_ERR_NONFATAL");
      errors.unsupported_requests = parse_aer_total(*counts, "UnsupReq");
    }
    if (const auto counts = text("/aer_dev_fatal"))
      errors.fatal = parse_aer_total(*counts, "TOTAL_ERR_FATAL");
    return errors;
  }

 private:
  Host& host_;
  std::string base_;
};

template <class Small>
std::optional<Small> narrow(std::optional<std::uint64_t> value) {
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<Small>::max()))
    return std::nullopt;
  return static_cast<Small>(*value);
}

// A kernel other than Linux has none.
bool has_sys(Host& host) {
  const auto identity = host.identity();
  return identity && identity->kernel_name == "Linux";
}

std::vector<Slot> list_slots(Host& host) {
  std::vector<Slot> slots;
  const auto names = host.list_directory(kFolder);
  if (!names) return slots;
  for (const auto& name : *names) {
    const auto address = parse_pci_address(name);
    if (!address) continue;
    const auto class_code = host.read_hex(kDevices + name + "/class");
    if (!class_code) continue;  // vanished while being read
    slots.push_back({*address, static_cast<std::uint32_t>(*class_code & 0xffffff), false});
  }
  return slots;
}

void note_missing(Host& host, Machine& machine) {
  const auto names = host.list_directory(kFolder);
  if (names) return;
  // A machine without PCI has /sys/bus all the same; without that, /sys itself is missing.
  const bool needs_sys = !machine.system.wsl2 && !machine.system.jetson_release;
  const auto buses = host.status("/sys/bus");
  const bool no_sys = needs_sys && names.error().kind == ErrorKind::not_found && !buses &&
                      buses.error().kind == ErrorKind::not_found && has_sys(host) &&
                      !host.status("/sys/devices");
  if (no_sys)
    machine.unseen.push_back({kFolder, "/sys is not mounted, or is empty"});
  else
    note_unseen(machine, kFolder, names.error());
}

void choose(Host& host, std::vector<Slot>& slots) {
  for (auto& slot : slots) {
    if (slot.class_code >> 16 == kDisplay || slot.class_code >> 8 == kAccelerator)
      slot.detailed = true;
    else if (slot.class_code >> 8 == kOtherBridge)
      slot.detailed = Function(host, slot.address).hex("/vendor") == kNvidia;
  }
  // Audio and USB-C functions hold a GPU's IOMMU group and power state. Host bridges share their
  // slot with nothing that belongs to a GPU.
  for (auto& slot : slots) {
    if (slot.detailed || slot.address.function == 0) continue;
    slot.detailed = std::any_of(slots.begin(), slots.end(), [&](const Slot& other) {
      return other.class_code >> 16 == kDisplay && other.address.function == 0 &&
             same_slot(other.address, slot.address);
    });
  }
}

bool asleep(const PciDevice& device) {
  return device.runtime_status == "suspended" || device.runtime_status == "suspending";
}

PciDevice identify(Host& host, const Slot& slot) {
  const Function function(host, slot.address);
  PciDevice device;
  device.address = slot.address;
  device.class_code = slot.class_code;
  device.vendor_id = narrow<std::uint16_t>(function.hex("/vendor")).value_or(0);
  device.device_id = narrow<std::uint16_t>(function.hex("/device")).value_or(0);
  device.runtime_status = function.text("/power/runtime_status");
  device.driver = function.link_name("/driver");
  auto path = pci_path_of(host, slot.address);
  device.path = std::move(path.path);
  device.host_bridge = std::move(path.host_bridge);
  if (const auto name = pci_device_name(device.vendor_id, device.device_id))
    device.name = std::string(*name);
  if (const auto group = function.link_name("/iommu_group"))
    device.iommu_group = narrow<int>(parse_uint(*group));
  // A virtual function is a share of a GPU for guests, no GPU of this machine.
  device.is_gpu = gpu_class(device.vendor_id, device.class_code) && !function.has("/physfn");
  return device;
}

// Whether the half of Mellanox' driver that offers InfiniBand is not loaded. ConnectX-3 that have
// both kinds of ports are of another class; one with an Ethernet port is in use.
bool lacks_infiniband(Host& host, const Slot& slot, std::string_view driver) {
  constexpr std::string_view kCore = "_core";
  if (driver != "mlx4_core" && driver != "mlx5_core") return false;
  const std::string half(driver.substr(0, driver.size() - kCore.size()));
  const auto absent = [&](const std::string& path) {
    const auto status = host.status(path);
    return !status && status.error().kind == ErrorKind::not_found;
  };
  const auto device = kDevices + slot.address.text();
  return absent("/sys/module/" + half + "_ib") && absent(device + "/infiniband") &&
         absent(device + "/net");
}

// An InfiniBand adapter, or an EFA (the ids of Linux's efa driver), that no driver offers.
bool is_idle_adapter(Host& host, const Slot& slot) {
  constexpr std::uint16_t kAmazon = 0x1d0f, kFirstEfa = 0xefa0, kLastEfa = 0xefaf;
  constexpr std::uint16_t kMellanox = 0x15b3;
  const Function function(host, slot.address);
  if (slot.class_code >> 8 == kEthernet) {
    if (function.hex("/vendor") != kAmazon) return false;
    const auto device = function.hex("/device").value_or(0);
    if (device < kFirstEfa || device > kLastEfa) return false;
  } else if (slot.class_code >> 8 == kOtherNetwork) {
    if (function.hex("/vendor") != kMellanox) return false;
  } else if (slot.class_code >> 8 != kInfiniBand) {
    return false;
  }
  const auto driver = function.link_name("/driver");
  return (!driver || lacks_infiniband(host, slot, *driver)) && !function.has("/physfn");
}

void read_details(Host& host, PciDevice& device) {
  const Function function(host, device.address);
  const bool accelerator =
      device.class_code >> 16 == kDisplay || device.class_code >> 8 == kAccelerator;
  if (!accelerator && device.vendor_id != kNvidia) return;

  device.subsystem_vendor_id = narrow<std::uint16_t>(function.hex("/subsystem_vendor"));
  device.subsystem_device_id = narrow<std::uint16_t>(function.hex("/subsystem_device"));
  if (const auto node = function.text("/numa_node"))
    device.numa_node = narrow<int>(parse_uint(*node));
  if (const auto cpus = function.text("/local_cpulist"); cpus && !cpus->empty())
    device.local_cpus = cpus;
  if (const auto resource = function.text("/resource"))
    device.bar_sizes_bytes = parse_bar_sizes(*resource);
  if (const auto vga = function.text("/boot_vga")) device.boot_vga = *vga == "1";
  if (!device.is_gpu && device.vendor_id != kNvidia) return;

  device.errors = function.errors();
  if (device.is_gpu)
    for (std::size_t i = 0; i + 1 < device.path.size(); ++i) {
      const Function port(host, device.path[i]);
      device.ports.push_back({device.path[i], asleep(device) ? PcieLink{} : port.link_now(),
                              asleep(device) ? PcieLink{} : port.link_max(), port.errors()});
    }
  if (asleep(device)) return;

  // All bits of the field are set; no link has more than 32 lanes.
  const auto width = function.width_now();
  if (width == "63") device.reads_ones = true;
  device.link_now = function.link("/current_link_speed", width);
  device.link_max = function.link_max();
  if (device.path.empty()) return;
  const std::size_t top = board_top(host, device.path, device.vendor_id);
  if (top + 1 < device.path.size()) {
    const Function end(host, device.path[top]);
    // Behind Intel's switch the GPU claims 2.5 GT/s and one lane, whatever the card has.
    const bool claims = device.vendor_id != kIntel;
    device.link_max = claims ? slower_of(device.link_max, end.link_max()) : end.link_max();
    if (const auto now = end.link_now(); now.generation || now.width)
      device.link_now = claims ? slower_of(device.link_now, now) : now;
  }
  if (top > 0 && top <= device.ports.size()) {
    device.port_link_now = device.ports[top - 1].link_now;
    device.port_link_max = device.ports[top - 1].link_max;
  }
}

void add_details(Machine& machine, const PciDevice& device) {
  auto& gpu = gpu_at(machine, device.address, vendor_with_pci_id(device.vendor_id));
  gpu.numa_node = device.numa_node;
  gpu.cpu_affinity = device.local_cpus;
  gpu.pcie_errors = device.errors;
  gpu.link_now = device.link_now;
  gpu.link_max = device.link_max;
  // Intel's integrated graphics is function 00:02.0 on every processor that has it.
  gpu.integrated = device.vendor_id == kIntel && device.address.bus == 0 && device.path.size() < 2;
}
}  // namespace

void find_pci(Host& host, Machine& machine) {
  auto slots = list_slots(host);
  choose(host, slots);
  for (const auto& slot : slots) {
    if (!slot.detailed && is_idle_adapter(host, slot)) {
      auto& adapter = machine.network.emplace_back();
      adapter.pci = slot.address;
      adapter.driver = Function(host, slot.address).link_name("/driver");
    }
    if (!slot.detailed) continue;
    const auto& device = machine.pci.emplace_back(identify(host, slot));
    if (!device.is_gpu) continue;
    auto& gpu = gpu_at(machine, device.address, vendor_with_pci_id(device.vendor_id));
    gpu.driver = device.driver;
    gpu.suspended = asleep(device);
    add_source(gpu, "pci");
  }
}

void read_pci(Host& host, Machine& machine) {
  if (machine.pci.empty()) note_missing(host, machine);
  const auto displays = connected_displays(host);
  for (auto& device : machine.pci) {
    read_details(host, device);
    if (const auto found = displays.find(device.address); found != displays.end())
      device.display_connected = found->second;
    if (device.is_gpu) add_details(machine, device);
  }
}

}  // namespace gpuready
