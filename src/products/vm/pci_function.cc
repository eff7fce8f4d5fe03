#include "vm/pci_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "vm/drivers/nvidia_gpus.h"
#include "vm/strict_reader.h"

namespace gpuready::vm {
namespace {

// Linux, include/linux/ioport.h.
constexpr std::uint64_t kMemory = 0x200, kPrefetch = 0x2000, kWide = 0x100000, kUnset = 0x20000000;
constexpr int kBars = 6;

template <class Small>
std::optional<Small> narrow(std::optional<std::uint64_t> value) {
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<Small>::max()))
    return std::nullopt;
  return static_cast<Small>(*value);
}

class Attributes {
 public:
  Attributes(Host& host, const PciAddress& address)
      : host_(host), folder_(folder_of(address) + "/") {}
  std::optional<std::string> text(const char* name) const {
    return host_.read_text(folder_ + name);
  }
  std::optional<std::uint64_t> hex(const char* name) const {
    return host_.read_hex(folder_ + name);
  }
  template <class Small>
  std::optional<Small> id(const char* name) const {
    return narrow<Small>(hex(name));
  }
  std::optional<int> count(const char* name) const {
    const auto value = text(name);
    return value ? narrow<int>(parse_uint(*value)) : std::nullopt;
  }
  std::optional<std::string> link_name(const std::string& name) const {
    return host_.link_name(folder_ + name);
  }
  std::optional<PciAddress> link_address(const std::string& name) const {
    const auto last = link_name(name);
    return last ? parse_pci_address(*last) : std::nullopt;
  }
  std::vector<std::string> list(const char* name) const {
    return host_.list_directory(folder_ + name).value_or(std::vector<std::string>{});
  }

 private:
  Host& host_;
  std::string folder_;
};

std::vector<MdevType> read_mdev_types(Host& host, StrictReader& strict, const PciAddress& address) {
  const std::string folder = folder_of(address) + "/mdev_supported_types";
  std::vector<MdevType> types;
  for (const auto& id : strict.list(folder)) {
    const std::string base = folder + "/" + id + "/";
    MdevType type{
        .id = id, .name = host.read_text(base + "name"), .available = {}, .instances = {}};
    if (const auto text = host.read_text(base + "available_instances"))
      type.available = narrow<int>(parse_uint(*text));
    type.instances = strict.list(base + "devices");
    types.push_back(std::move(type));
  }
  return types;
}

// "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00" (Linux, pci-sysfs.c, modalias_show).
bool fits_modalias(const PciFunction& function, std::string_view modalias) {
  const auto part = [&](std::string_view name, std::size_t digits) -> std::optional<std::uint64_t> {
    const auto at = modalias.find(name);
    return at == modalias.npos
               ? std::nullopt
               : parse_hex(modalias.substr(std::min(at + name.size(), modalias.size()), digits));
  };
  return part("pci:v", 8) == function.vendor_id && part("d", 8) == function.device_id &&
         part("bc", 2) == function.class_code >> 16 &&
         part("sc", 2) == (function.class_code >> 8 & 0xff);
}

std::optional<std::string> unless_null(std::optional<std::string> text) {
  if (text && (*text == "(null)" || text->empty())) return std::nullopt;
  return text;
}

}  // namespace

bool PciFunction::suspended() const {
  return runtime_status == "suspended" || runtime_status == "suspending";
}

std::string folder_of(const PciAddress& address) {
  return "/sys/bus/pci/devices/" + address.text();
}

std::vector<VgpuType> parse_vgpu_types(std::string_view text) {
  std::vector<VgpuType> types;
  for (const auto line : lines(text)) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const auto id = trim(line.substr(0, colon)), name = trim(line.substr(colon + 1));
    if (!parse_uint(id)) continue;  // the heading
    types.push_back(
        {std::string(id), name.empty() ? std::nullopt : std::optional(printable(name))});
  }
  return types;
}

std::string vgpu_attribute(const PciAddress& address) {
  return folder_of(address) + "/nvidia/current_vgpu_type";
}

std::vector<Bar> parse_bars(std::string_view text) {
  std::vector<Bar> bars;
  int index = -1;
  for (const auto line : lines(text)) {
    if (++index == kBars) break;
    const auto words = split(line, " \t");
    if (words.size() != 3) break;
    const auto start = parse_hex(words[0]), end = parse_hex(words[1]), flags = parse_hex(words[2]);
    if (!start || !end || !flags) break;
    if (!(*flags & kMemory) || *end <= *start) continue;
    const bool fits = *end - *start != std::numeric_limits<std::uint64_t>::max();
    bars.push_back({.index = index,
                    .bytes = fits ? *end - *start + 1 : *end,
                    .prefetchable = (*flags & kPrefetch) != 0,
                    .wide = (*flags & kWide) != 0,
                    .assigned = *start != 0 && !(*flags & kUnset)});
  }
  return bars;
}

std::uint64_t mmio_bytes(const std::vector<Bar>& bars) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  std::uint64_t sum = 0;
  for (const auto& bar : bars) {
    const std::uint64_t room = bar.bytes >= kMost ? kMost : std::bit_ceil(bar.bytes);
    sum = sum > std::numeric_limits<std::uint64_t>::max() - room
              ? std::numeric_limits<std::uint64_t>::max()
              : sum + room;
  }
  return sum;
}

Result<PciFunction> read_pci_function(Host& host, const PciAddress& address,
                                      std::vector<std::string>* unclear) {
  const Attributes attributes(host, address);
  std::vector<std::string> ignored;
  StrictReader strict(host, unclear == nullptr ? ignored : *unclear);
  const std::string base = folder_of(address) + "/";
  PciFunction function;
  function.address = address;
  const auto class_code = attributes.hex("class");
  const auto vendor = attributes.id<std::uint16_t>("vendor");
  const auto device = attributes.id<std::uint16_t>("device");
  if (!class_code || !vendor || !device)
    return fail(ErrorKind::not_found, address.text() + ": there is no such PCI device");
  function.class_code = static_cast<std::uint32_t>(*class_code & 0xffffff);
  function.vendor_id = *vendor;
  function.device_id = *device;
  function.name = nvidia_name(*vendor, *device);
  function.subsystem_vendor_id = attributes.id<std::uint16_t>("subsystem_vendor");
  function.subsystem_device_id = attributes.id<std::uint16_t>("subsystem_device");
  function.modalias = attributes.text("modalias");
  if (function.modalias && !fits_modalias(function, *function.modalias))
    strict.note(
        fmt::format("{}modalias says \"{}\", which does not fit vendor {:04x}, device {:04x}, "
                    "class {:06x}",
                    base, printable(function.modalias->substr(0, 80)), function.vendor_id,
                    function.device_id, function.class_code));
  function.driver = strict.link_name(base + "driver");
  if (const auto group = attributes.link_name("iommu_group"))
    function.iommu_group = narrow<int>(parse_uint(*group));
  if (const auto path = host.real_path(folder_of(address)))
    function.behind_bridge = parse_pci_path(*path).path.size() > 1;
  function.numa_node = attributes.count("numa_node");
  if (const auto boot = strict.one_of(base + "boot_vga", {"0", "1"}))
    function.boot_vga = *boot == "1";
  constexpr std::uint32_t kVga = 0x0300;
  if (!function.boot_vga && function.class_code >> 8 == kVga)
    strict.note(base + "boot_vga does not say whether this is the boot display");
  function.runtime_status = attributes.text("power/runtime_status");
  function.power_control = attributes.text("power/control");
  if (const auto allowed = attributes.text("d3cold_allowed"))
    function.d3cold_allowed = *allowed == "1";
  if (const auto resource = attributes.text("resource")) function.bars = parse_bars(*resource);
  if (!function.suspended()) {
    const auto link = [&](const char* speed, const char* width) {
      PcieLink one;
      if (const auto text = attributes.text(speed)) one.generation = parse_link_speed(*text);
      if (const auto text = attributes.text(width)) one.width = parse_link_width(*text);
      return one;
    };
    function.link_now = link("current_link_speed", "current_link_width");
    function.link_max = link("max_link_speed", "max_link_width");
  }
  function.vf_total = attributes.count("sriov_totalvfs");
  function.physical_function = attributes.link_address("physfn");
  return function;
}

namespace {

std::vector<std::string> locked_attributes(Host& host, const PciFunction& function) {
  const std::string base = folder_of(function.address) + "/";
  std::vector<std::string> paths = {base + "reset_method", base + "sriov_numvfs",
                                    vgpu_attribute(function.address),
                                    base + "nvidia/creatable_vgpu_types"};
  const std::string types = base + "mdev_supported_types";
  for (const auto& id : host.list_directory(types).value_or(std::vector<std::string>{}))
    for (const char* attribute : {"/name", "/available_instances"})
      paths.push_back(types + "/" + id + attribute);
  return paths;
}

void read_locked(Host& host, PciFunction& function, std::vector<std::string>& unclear) {
  const Attributes attributes(host, function.address);
  StrictReader strict(host, unclear);
  const std::string numvfs = folder_of(function.address) + "/sriov_numvfs";
  if (const auto methods = attributes.text("reset_method"))
    for (const auto word : split(*methods, " \t\n")) function.reset_methods.emplace_back(word);
  function.vf_count = strict.count(numvfs);
  if (function.vf_total && !function.vf_count)
    strict.note(numvfs + " does not say whether virtual functions exist");
  constexpr int kMostFunctions = 65'535;  // of 16 bits, PCIe's SR-IOV capability
  for (int i = 0; i < std::min(function.vf_count.value_or(0), kMostFunctions); ++i)
    if (const auto virtual_function = attributes.link_address("virtfn" + std::to_string(i)))
      function.virtual_functions.push_back(*virtual_function);
  function.mdev_types = read_mdev_types(host, strict, function.address);
  if (const auto type = attributes.text("nvidia/current_vgpu_type");
      type && parse_uint(trim(*type)) && function.physical_function) {
    function.vgpu_type = std::string(trim(*type));
    if (const auto types = attributes.text("nvidia/creatable_vgpu_types"))
      function.vgpu_types = parse_vgpu_types(*types);
  }
}

}  // namespace

void read_locked_attributes(Host& host, std::span<const LockedRead> reads) {
  std::vector<std::string> overrides, paths;
  for (const auto& read : reads)
    overrides.push_back(folder_of(read.function->address) + "/driver_override");
  host.ask_driver(overrides);
  std::vector<LockedRead> free;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto text = host.read_file(overrides[i]);
    if (!text &&
        (text.error().kind == ErrorKind::hung || text.error().kind == ErrorKind::timed_out)) {
      reads[i].unclear->push_back(printable(text.error().message));
      continue;
    }
    if (text) reads[i].function->driver_override = unless_null(std::string(trim(*text)));
    free.push_back(reads[i]);
  }
  for (const auto& read : free)
    for (auto& path : locked_attributes(host, *read.function)) paths.push_back(std::move(path));
  host.ask_driver(paths);
  for (const auto& read : free) read_locked(host, *read.function, *read.unclear);
  host.ask_driver({});  // forgets the answers: what is read after a write is read again
}

}  // namespace gpuready::vm
