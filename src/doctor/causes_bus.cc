// On the bus, and bound to which driver. Lines of the kernel's module loader:
// kernel/module/signing.c and security/lockdown of Linux; modprobe's own: "Key was rejected by
// service" (EKEYREJECTED).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

struct KernelDriver {
  Vendor vendor;
  std::string_view name;    // of the module
  std::string_view wanted;  // what people call it
};
constexpr KernelDriver kDrivers[] = {
    {Vendor::nvidia, "nvidia", "NVIDIA's"},
    {Vendor::amd, "amdgpu", "AMD's (amdgpu)"},
    {Vendor::intel, "xe or i915", "Intel's (xe or i915)"},
};

bool loaded(const Machine& machine, Vendor vendor) {
  switch (vendor) {
    case Vendor::nvidia:
      return machine.nvidia.module_loaded;
    case Vendor::amd:
      return machine.amd.module_loaded;
    case Vendor::intel:
      return machine.intel.i915_loaded || machine.intel.xe_loaded;
    default:
      return true;
  }
}

bool bus_seen(const Machine& machine) {
  return std::none_of(machine.unseen.begin(), machine.unseen.end(), [](const Unseen& unseen) {
    return unseen.what.starts_with("/sys/bus/pci/devices");
  });
}

std::vector<Match> no_gpu(const Facts& facts) {
  const auto& machine = facts.machine;
  const bool elsewhere = machine.system.wsl2 || machine.system.jetson_release ||
                         machine.apple.chip || !machine.fakes.empty();
  if (!machine.gpus.empty() || elsewhere || !bus_seen(machine)) return {};
  for (const auto& device : machine.pci)
    if (device.is_gpu) return {};
  Match match;
  match.evidence.push_back(evidence(
      "/sys/bus/pci/devices",
      machine.pci.empty()
          ? "no display controller or accelerator is listed"
          : fmt::format("{} display controller(s) or accelerator(s) listed, none of them a GPU",
                        machine.pci.size())));
  if (machine.nvidia.module_loaded) {
    // The module refuses to load without a GPU, so there was one when it was loaded.
    match.severity = Severity::error;
    match.title = "The GPU has gone from the PCI bus";
    match.explanation =
        "NVIDIA's kernel module is loaded, which needs a GPU at that moment, and none is on the "
        "bus "
        "now.";
    match.cure = "Cut the power and start again; if it stays away, check power, riser and slot.";
    match.evidence.push_back(evidence("/proc/driver/nvidia/version",
                                      machine.nvidia.module_version.value_or("module loaded")));
  }
  return {match};
}

Match at_device(const Machine& machine, const PciDevice& device) {
  Match match = about(machine, device.address);
  match.evidence.push_back(
      evidence(fmt::format("/sys/bus/pci/devices/{}/driver", device.address.text()),
               device.driver ? "-> " + *device.driver : "no driver is bound"));
  return match;
}

template <class Test>
std::vector<Match> bound_to(const Facts& facts, Vendor vendor, Test&& test) {
  std::vector<Match> matches;
  for (const auto& device : facts.machine.pci)
    if (device.is_gpu && device.driver && test(*device.driver) &&
        (vendor == Vendor::other || facts.machine.find_gpu(device.address) == nullptr ||
         facts.machine.find_gpu(device.address)->vendor == vendor))
      matches.push_back(at_device(facts.machine, device));
  return matches;
}

std::vector<Match> nouveau(const Facts& facts) {
  auto matches = bound_to(facts, Vendor::nvidia,
                          [](const std::string& driver) { return driver == "nouveau"; });
  const auto& command_line = facts.machine.system.kernel_command_line;
  for (auto& match : matches)
    if (command_line && contains(*command_line, "nouveau"))
      match.evidence.push_back(evidence("/proc/cmdline", *command_line));
  return matches;
}

std::vector<Match> passed_through(const Facts& facts) {
  return bound_to(facts, Vendor::other, [](const std::string& driver) {
    return driver == "vfio-pci" || driver == "pci-stub" || driver == "xen-pciback" ||
           driver == "nvgrace_gpu_vfio_pci" || driver == "nvgrace-gpu-vfio-pci";
  });
}

std::vector<const PciDevice*> driverless(const Machine& machine, Vendor vendor) {
  auto devices = gpus_on_bus(machine, vendor);
  std::erase_if(devices, [](const PciDevice* device) { return device->driver.has_value(); });
  return devices;
}

std::vector<Match> module_rejected(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& driver : kDrivers) {
    if (loaded(machine, driver.vendor)) continue;
    const auto devices = driverless(machine, driver.vendor);
    if (devices.empty()) continue;
    const auto hits =
        log_hits(machine, {"Loading of module with unavailable key is rejected",
                           "Loading of unsigned module is rejected",
                           "Loading of module with unsupported crypto is rejected",
                           "unsigned module loading is restricted", "Key was rejected by service",
                           "Required key not available"});
    if (hits.empty()) continue;
    for (const auto* device : devices) {
      Match match = about(machine, device->address);
      match.evidence.push_back(evidence("kernel log", hits.back().text));
      if (machine.system.secure_boot)
        match.evidence.push_back(
            evidence("/sys/firmware/efi/efivars/SecureBoot-*",
                     *machine.system.secure_boot ? "Secure Boot is on" : "Secure Boot is off"));
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

std::vector<Match> driver_absent(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  if (machine.system.wsl2) return matches;
  for (const auto& driver : kDrivers) {
    if (loaded(machine, driver.vendor)) continue;
    for (const auto* device : driverless(machine, driver.vendor)) {
      Match match = at_device(machine, *device);
      match.evidence.push_back(evidence(fmt::format("/sys/module/{}", driver.name), "not loaded"));
      match.title = fmt::format("{} kernel module is not loaded", driver.wanted);
      if (driver.vendor == Vendor::amd) match.command = "modprobe amdgpu";
      if (driver.vendor == Vendor::intel) match.command = "modprobe xe || modprobe i915";
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

}  // namespace

std::vector<Cause> bus_causes() {
  return {
      {.id = "no-gpu",
       .severity = Severity::info,
       .title = "No GPU is on the PCI bus",
       .explanation = "Neither a GPU nor another accelerator answers on this machine's PCI bus.",
       .cure = "Where there should be one: reseat it and check its power, or pass it through to "
               "this virtual machine.",
       .command = {},
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "expected-gpu-count"},
       .match = no_gpu},
      {.id = "nouveau-bound",
       .severity = Severity::error,
       .title = "nouveau holds the GPU",
       .explanation = "The kernel's own nouveau driver is bound to the GPU, so NVIDIA's cannot be; "
                      "nouveau offers no CUDA.",
       .cure = "Keep nouveau from loading, rebuild the initramfs, and reboot.",
       .command = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > "
                  "/etc/modprobe.d/blacklist-nouveau.conf && update-initramfs -u && reboot",
       .explains = {"driver-not-loaded", "nvml-start-failed", "cuda-start-failed",
                    "nvml-library-missing", "cuda-library-missing", "device-nodes-missing",
                    "gpu-not-listed", "expected-gpu-count", "vulkan-software-only"},
       .match = nouveau},
      {.id = "passthrough-bound",
       .severity = Severity::error,
       .title = "The GPU is set aside for a virtual machine",
       .explanation =
           "A pass-through driver holds the GPU, so no program on this system can use it.",
       .cure =
           "If this system should use it: take it from the pass-through driver and probe again.",
       .command = "echo > /sys/bus/pci/devices/{pci}/driver_override; "
                  "echo {pci} > /sys/bus/pci/devices/{pci}/driver/unbind; "
                  "echo {pci} > /sys/bus/pci/drivers_probe",
       .explains = {"driver-not-loaded", "nvml-start-failed", "cuda-start-failed",
                    "nvml-library-missing", "cuda-library-missing", "device-nodes-missing",
                    "gpu-not-listed", "expected-gpu-count", "vulkan-software-only",
                    "rocm-start-failed"},
       .match = passed_through},
      {.id = "module-rejected",
       .severity = Severity::error,
       .title = "The kernel rejected the GPU's kernel module",
       .explanation = "The module is not signed with a key that this kernel trusts; with Secure "
                      "Boot on, such modules are refused.",
       .cure = "Enrol the key that signed the module (asked for at the next boot), or install "
               "modules that the distribution signed.",
       .command = "mokutil --import /var/lib/dkms/mok.pub",
       .explains = {"driver-not-loaded", "nvml-start-failed", "cuda-start-failed",
                    "device-nodes-missing", "gpu-not-listed", "expected-gpu-count",
                    "vulkan-software-only", "rocm-start-failed"},
       .match = module_rejected},
      {.id = "driver-not-loaded",
       .severity = Severity::error,
       .title = "The GPU's kernel module is not loaded",
       .explanation = "The GPU is on the bus and no driver is bound to it. The driver is not "
                      "installed, or was not built for the running kernel.",
       .cure = "Install the driver, or rebuild its modules for the running kernel, and load it.",
       .command = "dkms autoinstall -k {kernel} && modprobe nvidia",
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "device-nodes-missing", "gpu-not-listed",
                    "expected-gpu-count", "vulkan-software-only", "rocm-start-failed"},
       .match = driver_absent},
  };
}

}  // namespace gpuready::doctor
