#include "vm/readiness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gpuready::vm {
namespace {

struct Answer {
  Readiness readiness;
  std::string reason;
  std::optional<std::string> cure = {};
};
constexpr const char* kStatusCure =
    "A virtual machine may have it: ask gpuready vm status, as root, and see who holds its node in "
    "/dev/vfio.";
using Question = std::optional<Answer> (*)(const Device&, const HostFacts&);

std::optional<Answer> of_a_bridge(const Device& device, const HostFacts&) {
  if (!device.function.is_bridge()) return std::nullopt;
  return Answer{Readiness::never, "it is a bridge, which leads to other devices"};
}

std::optional<Answer> of_the_machine(const Device& device, const HostFacts&) {
  for (const auto& use : device.around.uses)
    if (use.whole_machine) return Answer{Readiness::never, use.what};
  return std::nullopt;
}

// One that somebody set aside by hand shows the console no longer.
std::optional<Answer> of_the_boot_display(const Device& device, const HostFacts&) {
  if (!device.function.boot_vga.value_or(false) || is_vfio(device.function.driver))
    return std::nullopt;
  return Answer{Readiness::never, "it is the boot display: the machine's console is on it",
                "Choose another primary display in the firmware's setup, or have none."};
}

std::optional<Answer> of_the_journal(const Device& device, const HostFacts&) {
  if (device.around.attached_to)
    return Answer{Readiness::in_use, "it is attached to " + printable(*device.around.attached_to),
                  fmt::format("gpuready vm detach --for '{}' gives it back.",
                              printable(*device.around.attached_to))};
  if (device.around.quarantine)
    return Answer{Readiness::needs, "needs cleaning: " + printable(*device.around.quarantine),
                  "gpuready vm recover cleans and tests it."};
  if (device.around.not_told)
    return Answer{Readiness::needs, "needs a look: " + printable(*device.around.not_told),
                  kStatusCure};
  return std::nullopt;
}

std::optional<Answer> of_the_iommu(const Device& device, const HostFacts& host) {
  if (device.function.iommu_group) return std::nullopt;
  if (host.iommu_groups)
    return Answer{Readiness::needs,
                  "needs an IOMMU group: the IOMMU is on, and this device is not behind it",
                  {}};
  return Answer{Readiness::needs, "needs the IOMMU: it is off", iommu_cure(host)};
}

std::optional<Answer> of_vfio(const Device& device, const HostFacts& host) {
  if (host.vfio_pci_present || is_handed_over(device.function)) return std::nullopt;
  return Answer{Readiness::needs,
                fmt::format("needs vfio-pci: kernel {} has no such module", host.kernel_release),
                "Install the kernel's full set of modules (on Ubuntu: linux-modules-extra), or a "
                "kernel with CONFIG_VFIO_PCI."};
}

// NVIDIA's driver keeps its virtual functions for itself; they are handed over as vGPUs alone.
std::optional<Answer> of_vgpu_type(const Device& device, const HostFacts&) {
  const auto& function = device.function;
  if (!function.vgpu_type || function.is_vgpu() || function.driver != "nvidia") return std::nullopt;
  std::vector<std::string> types;
  for (const auto& type : function.vgpu_types)
    types.push_back(type.name ? fmt::format("{} ({})", type.id, *type.name) : type.id);
  return Answer{
      Readiness::needs, "needs a vGPU type: the virtual function has none",
      fmt::format("Write the id of one into {}; it can have {}.", vgpu_attribute(function.address),
                  types.empty() ? "none now" : join(types, ", "))};
}

std::optional<Answer> of_users(const Device& device, const HostFacts&) {
  for (const auto& use : device.around.uses)
    if (!use.ends_with_plan) return Answer{Readiness::in_use, use.what};
  return std::nullopt;
}

// What is in sysfs and cannot be read may be what keeps it here.
std::optional<Answer> of_what_is_unclear(const Device& device, const HostFacts&) {
  if (device.around.unclear.empty()) return std::nullopt;
  return Answer{Readiness::needs, "needs a look: " + device.around.unclear.front(),
                "A device that is being reset or removed answers so: ask again, and look into the "
                "kernel's log; restart the machine when it stays."};
}

// The first that has an answer decides.
constexpr Question kQuestions[] = {of_a_bridge,    of_the_machine, of_the_boot_display,
                                   of_the_journal, of_the_iommu,   of_vfio,
                                   of_vgpu_type,   of_users,       of_what_is_unclear};

Answer of_itself(const Device& device, const HostFacts& host) {
  for (const auto question : kQuestions)
    if (auto answer = question(device, host)) return *std::move(answer);
  return {Readiness::ready, {}, {}};
}

}  // namespace

std::string iommu_cure(const HostFacts& host) {
  if (host.hypervisor && *host.hypervisor != "none")
    return "This machine is itself a guest: its hypervisor must give it a virtual IOMMU.";
  const std::string_view vendor = host.cpu_vendor ? *host.cpu_vendor : std::string_view();
  if (vendor == "intel")
    return "Switch VT-d on in the firmware's setup, add intel_iommu=on iommu=pt to the kernel's "
           "command line, and restart.";
  if (vendor == "amd")
    return "Switch IOMMU (AMD-Vi) on in the firmware's setup, add iommu=pt to the kernel's command "
           "line, and restart.";
  return "Switch the IOMMU on in the firmware's setup and restart.";
}

static void assess_instance(MediatedDevice& instance) {
  auto& around = instance.around;
  const auto set = [&](Readiness readiness, std::string reason, std::optional<std::string> cure) {
    around.readiness = readiness;
    around.reason = std::move(reason);
    around.cure = std::move(cure);
  };
  set(Readiness::ready, {}, {});
  if (around.attached_to)
    return set(Readiness::in_use, "it is attached to " + printable(*around.attached_to),
               fmt::format("gpuready vm detach --for '{}' gives it back.",
                           printable(*around.attached_to)));
  if (around.quarantine)
    return set(Readiness::needs, "needs recovery: " + printable(*around.quarantine),
               "gpuready vm recover goes on with it.");
  if (around.not_told)
    return set(Readiness::needs, "needs a look: " + printable(*around.not_told), kStatusCure);
  if (instance.api && *instance.api != "vfio-pci")
    return set(Readiness::never,
               fmt::format("it is not a PCI device for a guest: its interface is {}",
                           printable(*instance.api)),
               {});
  if (!instance.driver)
    return set(Readiness::needs, "needs its VFIO driver: none has it",
               "Load the module that drives mediated devices (vfio_mdev, or its maker's).");
  if (!around.uses.empty()) return set(Readiness::in_use, around.uses.front().what, {});
}

void assess(Inventory& inventory) {
  for (auto& instance : inventory.instances) assess_instance(instance);
  std::vector<Answer> own;
  own.reserve(inventory.devices.size());
  for (const auto& device : inventory.devices) own.push_back(of_itself(device, inventory.host));
  for (std::size_t i = 0; i < own.size(); ++i) {
    Answer answer = own[i];
    // The worst of those that go with it; enumerators are in that order.
    for (const auto& other : inventory.devices[i].around.moves_together) {
      const auto* member = inventory.find(other);
      const auto& theirs = own[static_cast<std::size_t>(member - inventory.devices.data())];
      if (member == &inventory.devices[i] || theirs.readiness <= answer.readiness) continue;
      answer = theirs;
      answer.reason = fmt::format("{} goes with it: {}", other.text(), theirs.reason);
    }
    auto& around = inventory.devices[i].around;
    around.readiness = answer.readiness;
    around.reason = std::move(answer.reason);
    around.cure = std::move(answer.cure);
  }
}

std::vector<PciAddress> passable_ones(const Inventory& inventory, bool all) {
  std::vector<PciAddress> shown;
  for (const auto& device : inventory.devices) {
    const auto& function = device.function;
    if (all || is_passable(function.vendor_id, function.class_code) ||
        device.around.moves_together.size() > 1)
      shown.push_back(function.address);
  }
  return shown;
}

std::vector<std::string> every_instance(const Inventory& inventory) {
  std::vector<std::string> uuids;
  for (const auto& instance : inventory.instances) uuids.push_back(instance.uuid);
  return uuids;
}

}  // namespace gpuready::vm
