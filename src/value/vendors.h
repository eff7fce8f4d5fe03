// Vendors by their ids on the PCI bus.
#pragma once

#include <cstdint>
#include <utility>

#include "base/vendor_codes.h"
#include "gpuready/machine.h"

namespace gpuready {

inline constexpr std::pair<Vendor, std::uint16_t> kVendorIds[] = {
    {Vendor::nvidia, pci_vendor::kNvidia},
    {Vendor::amd, pci_vendor::kAmd},
    {Vendor::intel, pci_vendor::kIntel},
    {Vendor::apple, pci_vendor::kApple},
};

constexpr Vendor vendor_with_pci_id(std::uint32_t id) {
  for (const auto& [vendor, known] : kVendorIds)
    if (known == id) return vendor;
  return Vendor::other;
}

}  // namespace gpuready
