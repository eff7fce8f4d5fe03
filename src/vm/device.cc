#include "vm/device.h"

#include <algorithm>

#include "base/text.h"
#include "machine/kernel_drivers.h"
#include "value/vendors.h"

namespace gpuready::vm {
namespace {
// PCI Code and ID Assignment Specification: base class, or base class and subclass.
constexpr std::uint32_t kDisplay = 0x03, kAccelerator = 0x1200, kOtherBridge = 0x0680;
}  // namespace

const Device* Inventory::find(const PciAddress& address) const {
  const auto found = std::ranges::find(
      devices, address, [](const Device& device) { return device.function.address; });
  return found == devices.end() ? nullptr : &*found;
}

Device* Inventory::find(const PciAddress& address) {
  return const_cast<Device*>(std::as_const(*this).find(address));
}

bool is_passable(std::uint16_t vendor, std::uint32_t class_code) {
  return class_code >> 16 == kDisplay || class_code >> 8 == kAccelerator ||
         (class_code >> 8 == kOtherBridge && vendor == pci_vendor::kNvidia);
}

bool has_memory(const PciFunction& function) {
  if (function.physical_function) return false;  // its physical function's driver clears it
  return function.class_code >> 16 == kDisplay || function.class_code >> 8 == kAccelerator;
}

bool is_vfio(const std::optional<std::string>& driver) {
  return driver && passes_through(*driver) && *driver != "pci-stub";
}

}  // namespace gpuready::vm
