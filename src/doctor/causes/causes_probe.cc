// Drivers that hang, crash or stay silent: what the probes' ends tell.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

struct Ended {
  std::string_view probe;         // as people call it
  Vendor vendor = Vendor::other;  // whose GPUs are concerned; other: every GPU
  const std::optional<std::string>* outcome = nullptr;
  const std::optional<std::string>* stopped_in = nullptr;
};

std::vector<Match> ended(const Facts& facts, std::string_view outcome, std::string_view phrase,
                         bool vulkan) {
  static const std::optional<std::string> kNowhere;
  const auto& machine = facts.machine;
  const Ended probes[] = {
      {"NVML", Vendor::nvidia, &machine.nvidia.nvml_outcome, &machine.nvidia.nvml_stopped_in},
      {"the CUDA driver", Vendor::nvidia, &machine.nvidia.cuda_outcome,
       &machine.nvidia.cuda_stopped_in},
      {"ROCm", Vendor::amd, &machine.amd.outcome, &machine.amd.stopped_in},
      {"Vulkan", Vendor::other, &machine.vulkan.outcome, &kNowhere},
  };
  std::vector<Match> matches;
  for (const auto& probe : probes) {
    if (*probe.outcome != std::optional(std::string(outcome))) continue;
    const bool is_vulkan = probe.vendor == Vendor::other;
    if (is_vulkan && !vulkan) continue;
    Match match = is_vulkan ? Match{} : about_all(machine, probe.vendor);
    const std::string where = probe.stopped_in->value_or("");
    const auto proof =
        evidence(where.empty() ? fmt::format("probe of {}", probe.probe) : where, outcome);
    // CUDA stands on the same kernel driver as NVML: what stops both is reported once, at the lower
    // one.
    const auto below = std::find_if(matches.begin(), matches.end(), [&](const Match& known) {
      return !is_vulkan && known.gpus == match.gpus && known.pci == match.pci;
    });
    if (below != matches.end()) {
      below->evidence.push_back(proof);
      continue;
    }
    match.title = capitalized(
        fmt::format("{} {}{}", probe.probe, phrase, where.empty() ? "" : " in " + quote(where)));
    match.evidence.push_back(proof);
    if (machine.system.wsl2 && probe.vendor == Vendor::nvidia) {
      match.explanation =
          "In WSL, Windows' driver does the work, and it does not answer this machine.";
      match.cure =
          "In Windows, run wsl --shutdown and start WSL again; if it comes again, update WSL (wsl "
          "--update) and the GPU's driver in Windows.";
      match.command = "";
      match.action = Action::ask_host;
      for (const auto& hit : log_hits(machine, {"dxg: dxgk: *: wait_for_completion failed"}))
        if (match.evidence.size() < 3) match.evidence.push_back(evidence("kernel log", hit.text));
    }
    // Vulkan may fail in any vendor's driver, and is not how work reaches the GPU.
    if (is_vulkan) match.severity = Severity::warning;
    for (const auto& hit : log_hits(machine, {"kernel: INFO: task *:* blocked for more than "}))
      if (match.evidence.size() < 3 && !is_vulkan)
        match.evidence.push_back(evidence("kernel log", hit.text));
    matches.push_back(std::move(match));
  }
  return matches;
}

// nv_pci_remove() of NVIDIA's open kernel modules (nv-pci.c) waits until nothing holds the GPU.
std::vector<Match> hung(const Facts& facts) {
  auto matches = ended(facts, "hung", "hangs", true);
  if (!suspects(facts.machine, Vendor::nvidia)) return matches;
  const auto done = log_hits(facts.machine, {"NVRM: ...Continuing with GPU removal for device "});
  for (auto& match : refused(facts, {"NVRM: ...Attempting to remove device "})) {
    if (std::ranges::any_of(done, [&](const LogHit& hit) {
          return hit.pci && std::ranges::count(match.pci, *hit.pci) > 0;
        }))
      continue;
    match.title = "The driver waits in vain for programs to let go of a GPU that it shall give up";
    match.explanation =
        "The GPU is being taken from the driver (for a virtual machine, or as an external one) "
        "while a program holds it, and the kernel waits without end.";
    match.cure =
        "Reboot; if that hangs, too, cut the power. Next time, stop what holds the GPU (displays, "
        "monitors, nvidia-persistenced) before it is taken from the driver.";
    matches.push_back(std::move(match));
  }
  return matches;
}
std::vector<Match> timed_out(const Facts& facts) {
  return ended(facts, "timed_out", "did not answer in time", true);
}
std::vector<Match> crashed(const Facts& facts) { return ended(facts, "crashed", "crashed", true); }
std::vector<Match> not_started(const Facts& facts) {
  return ended(facts, "failed_to_start", "could not be asked", false);
}

bool start_failed(const Machine& machine, Vendor vendor) {
  const auto failed = [](const std::optional<ApiStatus>& start) { return start && !start->ok(); };
  if (vendor == Vendor::amd) return failed(machine.amd.start);
  return vendor == Vendor::nvidia &&
         (failed(machine.nvidia.nvml_start) || failed(machine.nvidia.cuda_start));
}

Match set_aside(const Machine& machine) {
  Match match;
  for (const auto& device : machine.pci) {
    if (!device.is_gpu || !device.driver || !passes_through(*device.driver)) continue;
    match.pci.push_back(device.address);
    match.evidence.push_back(driver_of(device));
  }
  return match;
}

// "Oops: 0000 [#1]" or "BUG: ...", then "RIP: 0010:function+0x2f/0xb0 [module]"; on Arm "Unable to
// handle kernel ...", "Internal error: Oops", then "pc : function+0x2f/0xb0 [module]". A WARNING
// writes such lines, too, and goes on (Linux: show_regs, __warn).
std::vector<Match> oopsed(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  std::optional<std::string> oops;
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string& line = log[i].text;
    if (says_any(line, {"kernel: WARNING: CPU: "})) oops.reset();
    if (says_any(line, {"kernel: BUG: ", "kernel: Oops: ", "kernel: Internal error: Oops",
                        "kernel: Unable to handle kernel "}))
      oops = oops.value_or(line);
    if (!oops || !says_any(line, {"kernel: RIP: ", "kernel: pc : "}) || !line.ends_with(']'))
      continue;
    const auto module = line.substr(line.rfind('[') + 1, line.size() - line.rfind('[') - 2);
    const auto vendor = vendor_of_writer(module);
    Match match;
    if (module.starts_with("vfio")) {
      match = set_aside(machine);
      if (match.pci.empty()) continue;
      match.explanation =
          "The kernel ended a thread that gave a GPU to a guest or took it back. "
          "What it held stays locked, so the GPU cannot change hands.";
      match.cure =
          "Reboot; if it comes again, update the kernel, and what resets GPUs for it "
          "(vendor-reset).";
    } else {
      if (!vendor || !any_gpu(machine, *vendor)) continue;
      if (*vendor == Vendor::nvidia && i < load_line(machine)) continue;
      match = about_all(machine, *vendor);
      if (!start_failed(machine, *vendor)) match.severity = Severity::warning;
    }
    match.title = fmt::format("The driver's module {} crashed in the kernel", quote(module));
    match.evidence.insert(match.evidence.begin(),
                          {evidence("kernel log", *oops), evidence("kernel log", line)});
    matches.push_back(std::move(match));
    oops.reset();
  }
  return matches;
}

}  // namespace

std::vector<Cause> probe_causes() {
  return {
      {.id = "driver-crashed",
       .title = "The driver crashed in the kernel",
       .explanation =
           "The kernel ended a thread of the driver that used memory which is not there. "
           "What the thread held stays locked, so the driver cannot be unloaded.",
       .cure = "Reboot; if it comes again, update the driver, or go back to the version before.",
       .command = "reboot",
       .action = Action::reboot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "rocm-start-failed", "uvm-stale",
                    "driver-hung", "probe-timed-out", "gpu-not-listed", "expected-gpu-count"},
       .match = oopsed},
      // AMD's mismatch of user space and kernel driver shows as a hang, and lies closer to the
      // root.
      {.id = "driver-hung",
       .title = "The driver hangs",
       .explanation = "A call into the driver sleeps in the kernel and cannot even be killed; "
                      "every program that uses the GPU will hang likewise.",
       .cure = "Drain the machine and reboot it; if it recurs, update the driver.",
       .command = "reboot",
       .action = Action::reboot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "gpu-not-listed",
                    "expected-gpu-count", "probe-timed-out"},
       .match = hung},
      {.id = "probe-timed-out",
       .title = "The driver did not answer in time",
       .explanation = "A call into the driver was still running at its deadline and was stopped.",
       .cure = "Try again with a longer --timeout when the machine is quiet; turn on persistence "
               "so that drivers start faster; if it stays, reboot.",
       .action = Action::check_again,
       .explains = {"nvml-start-failed", "cuda-start-failed", "gpu-not-listed",
                    "expected-gpu-count"},
       .match = timed_out},
      {.id = "probe-crashed",
       .title = "The driver's library crashed",
       .explanation = "The child process that asked the driver's library died by a signal inside "
                      "it.",
       .cure = "Reinstall the driver's user-space libraries in the version of the kernel module.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "gpu-not-listed",
                    "expected-gpu-count"},
       .match = crashed},
      {.id = "probe-not-started",
       .severity = Severity::warning,
       .title = "A probe could not be started",
       .explanation = "The helper process that asks the driver did not start, so the driver was "
                      "not asked.",
       .cure = "Check that GPUREADY_HELPER, where it is set, names a working gpuready.",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"expected-gpu-count"},
       .match = not_started},
  };
}

}  // namespace gpuready::doctor
