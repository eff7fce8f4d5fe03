#include "vm/device.h"

#include <algorithm>

#include "base/text.h"
#include "machine/system/kernel_drivers.h"
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

const MediatedDevice* Inventory::find_instance(std::string_view uuid) const {
  const auto found = std::ranges::find(instances, uuid, &MediatedDevice::uuid);
  return found == instances.end() ? nullptr : &*found;
}

std::string no_such_device(const PciAddress& address) {
  return address.text() +
         " is not a PCI device of this machine; `gpuready vm list --all` lists them";
}
std::string no_such_instance(std::string_view uuid) {
  return std::string(uuid) +
         " is not a mediated device of this machine; `gpuready vm list` lists them";
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return text.size() == kShape.size() && std::ranges::equal(text, kShape, [](char c, char shape) {
           return shape == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_passable(std::uint16_t vendor, std::uint32_t class_code) {
  return class_code >> 16 == kDisplay || class_code >> 8 == kAccelerator ||
         (class_code >> 8 == kOtherBridge && vendor == pci_vendor::kNvidia);
}

const Use* use_that_stays(const Surroundings& around) {
  const auto found = std::ranges::find(around.uses, false, &Use::ends_with_plan);
  return found == around.uses.end() ? nullptr : &*found;
}

bool has_memory(const PciFunction& function) {
  if (function.physical_function) return false;  // its physical function's driver clears it
  return function.class_code >> 16 == kDisplay || function.class_code >> 8 == kAccelerator;
}

bool is_vfio(const std::optional<std::string>& driver) {
  return driver && passes_through(*driver) && *driver != "pci-stub";
}

bool is_handed_over(const PciFunction& function) {
  return function.is_vgpu() || is_vfio(function.driver);
}

}  // namespace gpuready::vm
