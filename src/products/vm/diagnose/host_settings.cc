// What the kernel says now of what its log said once.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "vm/diagnose/host.h"

namespace gpuready::vm {
namespace {

// A controller behind the IOMMU's remapping has a name that begins with "IR-", on Intel's and AMD's
// machines (as both drivers of Linux name them). One without it proves nothing while another has
// it: some interrupts are never remapped.
std::optional<bool> remaps_interrupts(Host& host) {
  constexpr std::string_view kFolder = "/sys/kernel/irq";
  constexpr std::size_t kMost = 4096;
  const auto numbers = host.list_directory(std::string(kFolder));
  if (!numbers) return std::nullopt;
  bool seen = false;
  for (std::size_t i = 0; i < std::min(numbers->size(), kMost); ++i) {
    const auto name = host.read_text(fmt::format("{}/{}/chip_name", kFolder, (*numbers)[i]));
    if (!name) continue;
    if (name->starts_with("IR-")) return true;
    seen |= name->starts_with("PCI-MSI") || *name == "IO-APIC";
  }
  return seen ? std::optional(false) : std::nullopt;
}

// Reading would wake a device that sleeps, and waits while the kernel resets one.
std::map<PciAddress, std::string> headers(Host& host, const State& state,
                                          const std::vector<PciAddress>& devices) {
  constexpr std::size_t kHeader = 64;  // what others than root may read
  std::vector<PciAddress> awake;
  std::vector<std::string> paths;
  std::map<PciAddress, std::string> out;
  for (const auto& address : devices)
    if (const auto* device = state.inventory.find(address);
        device && !device->function.suspended()) {
      awake.push_back(address);
      paths.push_back(folder_of(address) + "/config");
    }
  host.ask_driver(paths);
  for (std::size_t i = 0; i < awake.size(); ++i)
    if (const auto bytes = host.read_file(paths[i]); bytes && bytes->size() >= 4)
      out[awake[i]] = bytes->substr(0, kHeader);
  host.ask_driver({});
  return out;
}

// "  c0000000-cfffffff : 0000:17:00.0", and below it, further in, what lies there. Others than root
// see zeros.
std::optional<std::vector<PciAddress>> framebuffers(Host& host) {
  constexpr std::string_view kNames[] = {
      "BOOTFB", "efifb", "vesafb", "simplefb", "simple-framebuffer", "simpledrm"};
  const auto text = host.read_file("/proc/iomem");
  if (!text) return std::nullopt;
  std::vector<PciAddress> out;
  std::optional<PciAddress> device;
  std::size_t depth = 0;
  bool shown = false;
  for (const auto line : lines(*text)) {
    const auto indent = std::min(line.find_first_not_of(' '), line.size());
    const auto colon = line.find(" : ");
    if (colon == line.npos) continue;
    const auto name = trim(line.substr(colon + 3));
    shown |= line.substr(indent, colon - indent).find_first_not_of("0-") != line.npos;
    if (indent <= depth) device.reset();
    if (const auto address = parse_pci_address(name)) {
      device = address;
      depth = indent;
    }
    const bool boots =
        std::ranges::any_of(kNames, [&](auto known) { return name.starts_with(known); });
    if (boots && device && std::ranges::find(out, *device) == out.end()) out.push_back(*device);
  }
  return shown ? std::optional(out) : std::nullopt;
}

}  // namespace

HostSettings read_host_settings(Host& host, const State& state,
                                const std::vector<PciAddress>& devices) {
  HostSettings settings;
  if (const auto text =
          host.read_text("/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"))
    settings.unsafe_interrupts = *text == "Y" || *text == "1";
  settings.iommufd = host.exists("/sys/module/iommufd") || host.exists("/dev/iommu");
  std::vector<std::string> types;
  for (const auto& address : devices)
    if (const auto* device = state.inventory.find(address); device && device->function.iommu_group)
      types.push_back(
          fmt::format("/sys/kernel/iommu_groups/{}/type", *device->function.iommu_group));
  // They wait for the group's lock, which a driver that hangs may hold.
  host.ask_driver(types);
  for (const auto& path : types)
    if (const auto type = host.read_text(path))
      settings.translates = settings.translates.value_or(false) || type->starts_with("DMA");
  host.ask_driver({});
  settings.remaps_interrupts = remaps_interrupts(host);
  settings.headers = headers(host, state, devices);
  settings.framebuffers = framebuffers(host);
  return settings;
}

}  // namespace gpuready::vm
