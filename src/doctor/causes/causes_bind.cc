// Which driver holds a GPU, and whether the right one could be loaded.
// Lines: kernel/module/signing.c and security/lockdown of Linux ("Loading of ... is rejected").
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

template <class Test>
std::vector<Match> held_by(const Facts& facts, Test&& test) {
  std::vector<Match> matches;
  for (const Vendor vendor : kDrivenVendors)
    for (const auto* device : without_driver(facts.machine, vendor))
      if (device->driver && test(vendor, *device->driver))
        matches.push_back(at_device(facts.machine, *device));
  return matches;
}

bool is_nouveau(Vendor vendor, std::string_view driver) {
  return vendor == Vendor::nvidia && driver == "nouveau";
}

// No one asked this GPU to compute: what its present driver does is all that is wanted of it.
bool is_display_only(const Facts& facts, const PciDevice& device) {
  return !facts.options.compute_asked && !facts.options.expected_gpus &&
         gpuready::is_display_only(facts.machine, device);
}

void report_display_only(const PciDevice& device, Match& match) {
  match.severity = Severity::info;
  match.standing = Standing::chosen;
  match.title =
      fmt::format("The GPU is for display only: {} offers no compute", quote(*device.driver));
  match.command = "";
}

// What of NVIDIA's drivers runs this GPU, by the chip's name in pci.ids: the open modules from
// Turing on, the proprietary ones from Maxwell on.
std::string_view driver_for(const PciDevice& device) {
  const std::string_view chip = device.name ? std::string_view(*device.name) : "";
  for (const auto prefix : {"TU1", "GA1", "AD1", "GH1", "GB1", "GB2"})
    if (chip.starts_with(prefix)) return "{do:install-open-driver}";
  for (const auto prefix : {"GM1", "GM2", "GP1", "GV1"})
    if (chip.starts_with(prefix)) return "{do:install-proprietary-driver}";
  return "";
}

std::vector<Match> nouveau(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = held_by(facts, is_nouveau);
  for (auto& match : matches) {
    const auto& device = *pci_device(machine, match.pci.front());
    if (machine.nvidia.libraries.empty()) {
      match.cure =
          "Install NVIDIA's driver, in a branch that supports this GPU, and reboot: its "
          "packages keep nouveau from loading.";
      match.command = std::string(driver_for(device));
    } else if (drives_display(machine, device) != DrivesDisplay::no) {
      match.cure =
          "Reinstall NVIDIA's driver, so that it is built for the running kernel and in the "
          "initramfs, and reboot: it then drives the display as well. Blacklisting nouveau by hand "
          "takes the picture from the display where NVIDIA's driver does not start.";
      match.command = "{do:rebuild-initramfs}";
    }
    if (is_display_only(facts, device)) {
      report_display_only(device, match);
      match.explanation =
          "nouveau, the kernel's own driver, serves displays and offers no CUDA; "
          "nothing that uses CUDA was found here.";
      match.cure =
          "Nothing to do for displays. To compute with it, install NVIDIA's "
          "driver in a branch that supports this GPU, and reboot.";
    }
    if (const auto& command_line = machine.system.kernel_command_line;
        command_line && contains(*command_line, "nouveau"))
      match.evidence.push_back(evidence("/proc/cmdline", *command_line));
  }
  return matches;
}

// Nothing binds such a driver by itself: somebody set the GPU aside.
std::vector<Match> passed_through(const Facts& facts) {
  auto matches = held_by(facts, [](Vendor, std::string_view name) { return passes_through(name); });
  for (auto& match : matches) match.standing = Standing::chosen;
  return matches;
}

struct Holder {
  std::string_view driver, explanation, cure;
};
constexpr Holder kHolders[] = {
    {"nova-core",
     "nova-core is the kernel's driver in the making for NVIDIA's GPUs; it offers no "
     "CUDA.",
     "Install NVIDIA's driver, keep nova_core and nouveau from loading, and reboot."},
    {"NovaCore",
     "nova-core is the kernel's driver in the making for NVIDIA's GPUs; it offers no "
     "CUDA.",
     "Install NVIDIA's driver, keep nova_core and nouveau from loading, and reboot."},
    {"nvidiafb", "nvidiafb drives old NVIDIA GPUs as a plain frame buffer; it offers no CUDA.",
     "Install NVIDIA's driver, keep nvidiafb from loading, rebuild the initramfs, and reboot."},
    {"radeon",
     "radeon is the kernel's older driver for AMD GPUs; it offers neither ROCm nor "
     "Vulkan.",
     "Boot with radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 "
     "amdgpu.cik_support=1, for a GPU of the first two GCN generations; an older one cannot "
     "compute."},
};

std::vector<Match> wrong_driver(const Facts& facts) {
  auto matches = held_by(facts, [](Vendor vendor, std::string_view name) {
    return !is_nouveau(vendor, name) && !passes_through(name);
  });
  for (auto& match : matches) {
    const auto& device = *pci_device(facts.machine, match.pci.front());
    const auto& driver = *device.driver;
    match.title = fmt::format("The driver {} holds the GPU", quote(driver));
    if (drives_display(facts.machine, device) != DrivesDisplay::no) {
      match.cure = fmt::format(
          "Install the vendor's driver and reboot, so that it takes over the GPU and its display "
          "from {0}. Taking the GPU from {0} while it runs takes the picture from the display.",
          quote(driver));
      match.command = "";
    }
    for (const auto& holder : kHolders)
      if (holder.driver == driver) {
        match.explanation = std::string(holder.explanation);
        if (!match.cure || driver == "radeon") match.cure = std::string(holder.cure);
      }
    if (is_display_only(facts, device)) {
      report_display_only(device, match);
      match.cure = "Nothing to do for displays. To compute with it: " +
                   match.cure.value_or("install the vendor's driver.");
    }
    match.values.emplace_back("holder", driver);
  }
  return matches;
}

// Which module it was, only programs say (modprobe, systemd), whose lines prove nothing.
const Ids kRejections = {
    "kernel: Loading of module with unavailable key is rejected",
    "kernel: Loading of unsigned module is rejected",
    "kernel: Loading of module with unsupported crypto is rejected",
    "Lockdown: ...unsigned module loading is restricted",
};

std::vector<Match> module_rejected(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  const auto hits = log_hits(machine, kRejections);
  for (const Vendor vendor : kDrivenVendors) {
    if (module_loaded(machine, vendor)) continue;
    if (hits.empty()) continue;
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver) continue;
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
  for (const Vendor vendor : kDrivenVendors) {
    if (module_loaded(machine, vendor)) continue;
    const auto& driver = *kernel_driver(vendor);
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver) continue;
      Match match = at_device(machine, *device);
      for (const auto name : split(driver.names, " "))
        match.evidence.push_back(evidence(fmt::format("/sys/module/{}", name), "not loaded"));
      match.title = fmt::format("{} kernel module is not loaded", driver.people);
      const auto hits = log_hits(
          machine,
          {"*: version magic ", "*: disagrees about version of symbol ", "*: Unknown symbol "});
      for (const auto name : split(driver.names, " "))
        for (const auto& hit : hits)
          if (contains(hit.text, name) && match.evidence.size() < 4) {
            match.evidence.push_back(evidence("kernel log", hit.text));
            match.explanation =
                "A module of the driver is installed and was built for another kernel, so this one "
                "refuses it.";
          }
      if (vendor == Vendor::amd) match.command = "modprobe amdgpu";
      if (vendor == Vendor::intel) match.command = "modprobe xe || modprobe i915";
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

const std::vector<std::string_view> kNoDriver = {
    "driver-not-loaded", "driver-not-bound",     "nvml-start-failed",    "cuda-start-failed",
    "rocm-start-failed", "nvml-library-missing", "cuda-library-missing", "device-nodes-missing",
    "gpu-not-listed",    "expected-gpu-count",   "vulkan-software-only"};

}  // namespace

std::vector<Cause> bind_causes() {
  return {
      {.id = "nouveau-bound",
       .title = "nouveau holds the GPU",
       .explanation = "The kernel's own nouveau driver is bound to the GPU, so NVIDIA's cannot be; "
                      "nouveau offers no CUDA.",
       .cure = "Keep nouveau from loading, rebuild the initramfs, and reboot.",
       .command = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > "
                  "/etc/modprobe.d/blacklist-nouveau.conf && {do:rebuild-initramfs}",
       .action = Action::configure,
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = nouveau},
      {.id = "passthrough-bound",
       .severity = Severity::info,
       .title = "The GPU is set aside for a virtual machine",
       .explanation =
           "A pass-through driver holds the GPU, so no program on this system can use it.",
       .cure =
           "If this system should use it: take it from the pass-through driver and probe again.",
       .command = "echo > /sys/bus/pci/devices/{pci}/driver_override; "
                  "echo {pci} > /sys/bus/pci/devices/{pci}/driver/unbind; "
                  "echo {pci} > /sys/bus/pci/drivers_probe",
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = passed_through},
      {.id = "wrong-driver-bound",
       .title = "Another driver holds the GPU",
       .explanation = "The driver that is bound to the GPU is not its vendor's, and offers no "
                      "compute.",
       .cure = "Keep that driver from loading, or take the GPU from it, and let the vendor's "
               "driver probe again.",
       .command = "echo {pci} > /sys/bus/pci/drivers/{holder}/unbind && "
                  "echo {pci} > /sys/bus/pci/drivers_probe",
       .action = Action::configure,
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = wrong_driver},
      {.id = "module-rejected",
       .title = "The kernel rejected a kernel module, and the GPU's is not loaded",
       .explanation = "The module is not signed with a key that this kernel trusts; with Secure "
                      "Boot on, such modules are refused. The kernel does not say which module it "
                      "was.",
       .cure = "If the GPU's module is installed (modinfo finds it): enrol the key that signed it "
               "(asked for at the next boot), or install modules that the distribution signed. If "
               "not, install the driver.",
       .command = "mokutil --import /var/lib/dkms/mok.pub",
       .action = Action::configure,
       .backing = Backing::silent,
       .explains = kNoDriver,
       .match = module_rejected},
      {.id = "driver-not-loaded",
       .title = "The GPU's kernel module is not loaded",
       .explanation = "The GPU is on the bus and no driver is bound to it. The driver is not "
                      "installed, or was not built for the running kernel.",
       .cure = "Install the driver, or rebuild its modules for the running kernel, and load it.",
       .command = "dkms autoinstall -k {kernel} && modprobe nvidia",
       .action = Action::configure,
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "device-nodes-missing", "gpu-not-listed",
                    "expected-gpu-count", "vulkan-software-only", "rocm-start-failed"},
       .match = driver_absent},
  };
}

}  // namespace gpuready::doctor
