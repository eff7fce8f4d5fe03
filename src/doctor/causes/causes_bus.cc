// On the bus, or not, or as a share. Lines of slots: drivers/pci/hotplug/pciehp_ctrl.c and
// pciehp_hpc.c of Linux.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

const Ids kPowerFaults = {"pcieport: pciehp: Slot(*): Power fault", "pciehp: Slot(*): Power fault",
                          "pciehp: Power fault on slot "};  // the last before Linux 4.18

bool bus_seen(const Machine& machine) {
  return std::none_of(machine.unseen.begin(), machine.unseen.end(), [](const Unseen& unseen) {
    return unseen.what.starts_with("/sys/bus/pci/devices");
  });
}

// What computes here, and is nothing that is examined: Gaudi, NPUs, inference cards.
void add_accelerators(const Machine& machine, Match& match) {
  constexpr std::size_t kQuotes = 8;
  std::size_t count = 0;
  for (const auto& device : machine.pci) {
    if (device.class_code >> 8 != 0x1200) continue;
    ++count;
    if (match.evidence.size() <= kQuotes)
      match.evidence.push_back(
          evidence(device.address.text(),
                   device.name.value_or(fmt::format("accelerator {:04x}:{:04x}", device.vendor_id,
                                                    device.device_id))));
  }
  if (count == 0) return;
  match.title = fmt::format("No GPU is on the PCI bus; it has {} other accelerator{}", count,
                            count == 1 ? "" : "s");
  match.explanation = "gpuready examines GPUs; it neither tests nor judges these accelerators.";
  match.cure = "Use the vendor's own tool for them, such as hl-smi for Gaudi.";
}

std::vector<Match> no_gpu(const Facts& facts) {
  const auto& machine = facts.machine;
  const bool elsewhere = machine.system.wsl2 || machine.system.jetson_release ||
                         machine.apple.chip || !machine.fakes.empty();
  if (!machine.gpus.empty() || elsewhere || !bus_seen(machine) || has_gpu_partition(machine))
    return {};
  for (const auto& device : machine.pci)
    if (device.is_gpu) return {};
  Match match;
  match.standing = Standing::chosen;  // libraries without a GPU are not a fault
  match.evidence.push_back(evidence(
      "/sys/bus/pci/devices",
      machine.pci.empty()
          ? "no display controller or accelerator is listed"
          : fmt::format("{} display controller(s) or accelerator(s) listed, none of them a GPU",
                        machine.pci.size())));
  if (machine.system.kernel_release.ends_with("-linuxkit")) {
    match.explanation =
        "This is a container in the virtual machine of Docker Desktop, which has no GPU and cannot "
        "be given one.";
    match.cure =
        "On Linux, use the host's own Docker Engine: quit Docker Desktop, choose the engine's "
        "context, and start the container there with the GPU: with --device /dev/kfd --device "
        "/dev/dri --group-add video --group-add render for ROCm, --device /dev/dri for Intel's, "
        "--gpus all for NVIDIA's.";
    match.command = "docker context use default";
    match.terms = kAtLaunch;
    match.evidence.push_back(evidence("kernel release", machine.system.kernel_release));
  } else if (machine.system.hypervisor)
    match.cure =
        "Where there should be one: have it passed through to this virtual machine, or choose a "
        "kind of instance that has GPUs.";
  else if (is_laptop(machine.system))
    match.cure =
        "Where there should be one: turn it on again in the firmware's setup (hybrid graphics) or "
        "by the tool that switched it off (prime-select on-demand, envycontrol -s hybrid, "
        "supergfxctl -m Hybrid), and reboot.";
  add_accelerators(machine, match);
  if (const auto faults = log_hits(machine, kPowerFaults); !faults.empty()) {
    match.severity = Severity::warning;
    match.title = "No GPU is on the PCI bus, and a slot's power failed";
    match.cure = "If a GPU is in this slot: check power supply, cables and riser.";
    match.action = Action::power_cycle;
    match.evidence.push_back(evidence("kernel log", faults.front().text));
  }
  if (machine.nvidia.module_loaded) {
    // The module refuses to load without a GPU, so there was one when it was loaded.
    match.standing = Standing::present;
    match.severity = Severity::error;
    match.title = "The GPU has gone from the PCI bus";
    match.explanation =
        "NVIDIA's kernel module is loaded, which needs a GPU at that moment, and none is on the "
        "bus now.";
    match.cure = "Cut the power and start again; if it stays away, check power, riser and slot.";
    match.action = Action::power_cycle;
    match.own_cure = true;
    match.evidence.push_back(evidence("/proc/driver/nvidia/version",
                                      machine.nvidia.module_version.value_or("module loaded")));
  }
  return {match};
}

// Boards with NVSwitches carry eight GPUs, those of a DGX-2 sixteen at twelve switches (NVIDIA,
// Fabric Manager User Guide). A virtual machine may be given some of both.
std::vector<Match> board_incomplete(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.system.hypervisor || in_container(machine) || !bus_seen(machine)) return {};
  const auto switches = nvswitches(machine);
  const auto gpus = std::ranges::count(machine.gpus, Vendor::nvidia, &Gpu::vendor);
  const auto expected = switches >= 12 ? 16 : 8;
  if (switches == 0 || gpus == 0 || gpus >= expected) return {};
  Match match;
  match.title = fmt::format("{} of the {} GPUs of this board are on the bus", gpus, expected);
  match.evidence.push_back(evidence("/sys/bus/pci/devices",
                                    fmt::format("{} GPUs beside {} NVSwitches", gpus, switches)));
  return {match};
}

std::vector<Match> wsl1(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!in_wsl1(machine) || !machine.gpus.empty()) return {};
  Match match;
  match.evidence.push_back(evidence("kernel release", machine.system.kernel_release));
  if (machine.nvidia.libraries.empty()) match.severity = Severity::warning;
  return {match};
}

// An address that a GPU's driver wrote about, and where no function is now.
std::vector<LogHit> of_absent_gpus(const Machine& machine) {
  auto hits =
      log_hits(machine, {"drm: Initialized nvidia-drm ", "NVRM: *", "nvidia: *", "amdgpu: *",
                         "drm: Initialized amdgpu ", "xe: *", "drm: Initialized xe "});
  std::erase_if(hits, [&](const LogHit& hit) {
    const auto message = parse_message(hit.text);
    const auto vendor = message ? vendor_of_writer(message->writer) : std::nullopt;
    return !hit.pci || pci_device(machine, *hit.pci) ||
           (vendor && !module_loaded(machine, *vendor));
  });
  return hits;
}

// A slot whose link went down at work takes its GPU off the bus, mostly without a word of the GPU's
// driver. The log gives the port alone; the GPU is on the next bus below it.
std::vector<Match> gone_from_slot(const Machine& machine) {
  constexpr int kBusesBelow = 8;  // a switch of the board or of the machine between them
  std::vector<Match> matches;
  const auto absent = of_absent_gpus(machine);
  const Ids kDown = {"pcieport: pciehp: Slot(*): Link Down",
                     "pcieport: pciehp: Slot(*): Card not present", "pciehp: Slot(*): Link Down",
                     "pciehp: Slot(*): Card not present"};
  for (const auto& down : log_hits(machine, both(kPowerFaults, kDown))) {
    if (!down.pci) continue;
    const LogHit* gone = nullptr;
    for (const auto& hit : absent) {
      const int below = hit.pci->bus - down.pci->bus;
      if (hit.pci->domain != down.pci->domain || below < 1 || below > kBusesBelow) continue;
      if (hit.line < down.line && (!gone || hit.pci->bus <= gone->pci->bus)) gone = &hit;
    }
    if (!gone) continue;
    const bool told = std::ranges::any_of(machine.kernel_log.xids, [&](const XidEvent& event) {
      return event.code == 79 && event.pci && same_slot(*event.pci, *gone->pci);
    });
    const bool known = std::ranges::any_of(
        matches, [&](const Match& match) { return match.pci.front() == *gone->pci; });
    if (told || known) continue;
    Match match;
    match.id = "off-the-bus";
    match.pci.push_back(*gone->pci);
    match.severity = Severity::error;
    match.title = "A GPU has gone from its slot";
    match.explanation = "The slot's link went down, and its GPU is no longer on the bus.";
    match.cure = "Cut the power and start again; if it stays away, check power, riser and slot.";
    match.action = Action::power_cycle;
    match.own_cure = true;
    const bool power_failed = says_any(down.text, kPowerFaults);
    if (power_failed) {
      match.title = "A GPU has gone from its slot, whose power failed";
      match.explanation = "The slot reported a power fault, and its GPU is no longer on the bus.";
      match.cure = "Cut the power; check power supply, cables and riser; then try another slot.";
    }
    match.evidence = {evidence("kernel log", down.text), evidence("kernel log", gone->text)};
    matches.push_back(std::move(match));
  }
  return matches;
}

// Windows Server's and Windows' documents on GPU partitioning; microsoft/WSL2-Linux-Kernel,
// drivers/hv/dxgkrnl.
std::vector<Match> partition(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.system.wsl2) return {};
  const auto* dxg = node(machine, "/dev/dxg");
  std::vector<Match> matches;
  for (const auto& device : machine.pci) {
    if (!is_gpu_partition(device)) continue;
    Match match;
    match.pci.push_back(device.address);
    match.evidence.push_back(driver_of(device));
    if (!dxg || !dxg->exists) {
      match.evidence.push_back(evidence("/dev/dxg", "no such device node"));
      if (device.driver == "dxgkrnl" && in_container(machine)) {
        match.title = "The container was not given the GPU partition";
        match.explanation = "The driver dxgkrnl runs, and the container lacks /dev/dxg.";
        match.cure = "Start the container with /dev/dxg and the host's driver in /usr/lib/wsl.";
        match.command = "docker run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl IMAGE";
      }
    } else if (dxg->openable == false) {
      match.title = "This user may not open the GPU partition's device node";
      match.explanation = "Programs reach the partition through /dev/dxg.";
      match.cure = "Let the users of the GPU open it, by a udev rule for the device dxg.";
      match.command = "chmod 0666 /dev/dxg";
      match.evidence.push_back(
          evidence("/dev/dxg", fmt::format("may not be opened: {} (mode {:04o}, user {})",
                                           dxg->open_error.value_or("refused"),
                                           dxg->mode.value_or(0), machine.system.effective_uid)));
    } else if (const auto* blocked = failed_start(machine.nvidia.nvml_start, {17})) {
      match.title = "Windows blocks access to the GPU partition";
      match.explanation =
          "The kernel's part (dxgkrnl) and the driver's libraries are here, and the Windows host "
          "refuses them: they do not fit its driver, or dxgkrnl is not of its build.";
      match.cure =
          "Copy the libraries again from the Windows host, in the version of its driver, and build "
          "dxgkrnl from the newest WSL2-Linux-Kernel; update the host's driver.";
      match.command = "";
      match.evidence.push_back(evidence(*blocked));
    } else if (machine.system.wsl_drivers.empty() && machine.nvidia.libraries.empty()) {
      match.title = "Hyper-V gives this machine a GPU partition without its driver's libraries";
      match.explanation =
          "The kernel's part (dxgkrnl) runs. The rest of the driver is the Windows host's, and "
          "is not here.";
      match.cure =
          "Copy them from the Windows host, in the version of its driver: "
          "C:\\Windows\\System32\\lxss\\lib to /usr/lib/wsl/lib, the driver's folder of "
          "DriverStore\\FileRepository to /usr/lib/wsl/drivers; then name /usr/lib/wsl/lib in "
          "/etc/ld.so.conf.d and run ldconfig.";
      match.command = "";
      match.evidence.push_back(evidence("/usr/lib/wsl/drivers", "missing or empty"));
    } else {
      continue;
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> missing(const Facts& facts) {
  auto matches = gone_from_slot(facts.machine);
  if (matches.empty()) matches = no_gpu(facts);
  return matches;
}

}  // namespace

std::vector<Cause> bus_causes() {
  return {
      {.id = "no-gpu",
       .severity = Severity::info,
       .title = "No GPU is on the PCI bus",
       .explanation = "Neither a GPU nor another accelerator answers on this machine's PCI bus.",
       .cure = "Where there should be one: cut the power, reseat it, connect its power cables, and "
               "check that the firmware's setup has the slot on.",
       .backing = Backing::absent,
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "gpu-missing-from-board", "expected-gpu-count"},
       .match = missing},
      {.id = "gpu-missing-from-board",
       .title = "A GPU of the board is not on the bus",
       .explanation =
           "The machine has NVSwitches, whose boards are never sold with fewer GPUs: one "
           "lost its power or its link, or the firmware left it out at startup.",
       .cure = "Cut the machine's power and start it again; if it stays away, read the BMC's log, "
               "and have the GPU and the board checked.",
       .command = "{do:power-cycle}",
       .action = Action::power_cycle,
       .own_cure = true,
       .explains = {"expected-gpu-count"},
       .match = board_incomplete},
      {.id = "wsl1",
       .title = "WSL 1 has no GPU",
       .explanation = "This distribution runs in WSL 1, which has neither GPUs nor a PCI bus.",
       .cure =
           "In Windows, convert the distribution to WSL 2 (wsl --set-version NAME 2), and remove "
           "NVIDIA's driver for Linux from it: its libraries come from Windows.",
       .action = Action::configure,
       .terms = kInWindows,
       .backing = Backing::absent,
       .explains = {"no-gpu", "nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "driver-library-mismatch", "expected-gpu-count"},
       .match = wsl1},
      {.id = "gpu-partition-unusable",
       .title = "Hyper-V gives this machine a GPU partition, and no driver runs it",
       .explanation =
           "A share of the host's GPU is on the bus (1414:008e). Linux drives it through "
           "dxgkrnl, which is not part of most kernels.",
       .cure =
           "Start a kernel for which dxgkrnl is installed, where the search finds one (GRUB: "
           "Advanced options; GRUB_DEFAULT in /etc/default/grub keeps it). Else build dxgkrnl for "
           "this kernel with DKMS, from Microsoft's WSL2-Linux-Kernel. The Windows host's driver "
           "belongs into /usr/lib/wsl, if it is not there yet. Or have the whole GPU assigned to "
           "this machine (Discrete Device Assignment).",
       .command = "modprobe dxgkrnl || find /lib/modules -name 'dxgkrnl.ko*'",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "vulkan-software-only", "expected-gpu-count"},
       .match = partition},
  };
}

}  // namespace gpuready::doctor
