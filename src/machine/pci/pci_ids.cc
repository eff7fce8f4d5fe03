#include "machine/pci/pci_ids.h"

#include "base/vendor_codes.h"

#include <array>
#include <cstdio>

extern "C" {
extern const char gpuready_pci_ids_begin[];
extern const char gpuready_pci_ids_end[];
}

namespace gpuready {
namespace {
struct VendorName {
  std::uint16_t id;
  std::string_view name;
};
constexpr VendorName kVendorNames[] = {
    {pci_vendor::kNvidia, "NVIDIA"},
    {pci_vendor::kAmd, "AMD"},
    {pci_vendor::kIntel, "Intel"},
    {pci_vendor::kApple, "Apple"},
    {0x1a03, "ASPEED"},
    {0x102b, "Matrox"},
    {0x1af4, "virtio"},
    {0x1234, "QEMU"},
    {0x15ad, "VMware"},
    {0x1013, "Cirrus Logic"},
    {0x1414, "Microsoft"},
    {0x1da3, "Habana Labs"},
    {0x1b36, "Red Hat"},
};

std::string hex4(std::uint16_t value) {
  std::array<char, 5> out{};
  std::snprintf(out.data(), out.size(), "%04x", value);
  return out.data();
}

std::string_view line_from(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}
}  // namespace

std::optional<std::string_view> find_pci_name(std::string_view ids, std::uint16_t vendor,
                                              std::uint16_t device) {
  const std::string key = hex4(vendor) + hex4(device) + " ";
  for (std::size_t low = 0, high = ids.size(); low < high;) {  // both where a line begins
    const std::size_t before = ids.substr(0, low + (high - low) / 2).rfind('\n');
    const std::size_t at = before == ids.npos ? 0 : before + 1;
    const auto line = line_from(ids, at);
    if (line.starts_with(key)) return line.substr(key.size());
    if (line < key)
      low = at + line.size() + 1;
    else
      high = at;
  }
  return std::nullopt;
}

std::string_view pci_ids_text() { return {gpuready_pci_ids_begin, gpuready_pci_ids_end}; }

std::optional<std::string_view> pci_device_name(std::uint16_t vendor, std::uint16_t device) {
  return find_pci_name(pci_ids_text(), vendor, device);
}

std::string display_name(std::uint16_t vendor, std::uint16_t device,
                         const std::optional<std::string>& pci_name) {
  std::string who = "PCI";
  for (const auto& known : kVendorNames)
    if (known.id == vendor) who = known.name;
  if (!pci_name || pci_name->empty()) return who + " device " + hex4(vendor) + ":" + hex4(device);
  std::string_view name = *pci_name;
  const auto open = name.rfind('[');
  const auto close = name.rfind(']');
  if (open != name.npos && close != name.npos && close > open + 1)
    name = name.substr(open + 1, close - open - 1);
  if (name.starts_with(who)) return std::string(name);
  return who + " " + std::string(name);
}

}  // namespace gpuready
