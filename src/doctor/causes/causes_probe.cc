// Drivers that hang, crash or stay silent: what the probes' ends tell.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "doctor/commands.h"
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
      if (outcome == "crashed") {
        match.cure =
            "In Windows, install another release of NVIDIA's driver, a newer one where there is "
            "one; then run wsl --shutdown and wsl --update, and start WSL again. Install no "
            "driver for Linux in WSL.";
        if (probe.probe == "NVML" && machine.nvidia.cuda_start && machine.nvidia.cuda_start->ok())
          match.explanation =
              "In WSL, Windows' driver does the work, and a part of it crashes. CUDA itself "
              "starts, so programs that ask nothing of NVML work meanwhile.";
      }
      match.command = "";
      match.action = Action::ask_host;
      for (const auto& hit : log_hits(machine, {"dxg: dxgk: *: wait_for_completion failed"}))
        if (match.evidence.size() < 3) match.evidence.push_back(evidence("kernel log", hit.text));
    }
    if (probe.vendor == Vendor::nvidia && (outcome == "hung" || outcome == "timed_out"))
      add_gsp_advice(machine, match, outcome == "hung" ? "Reboot to get the GPU back." : "");
    if (outcome == "crashed" && probe.vendor == Vendor::nvidia && in_container(machine))
      cure_in_container(match, machine, Ask::nvidia_libraries);
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
          return std::ranges::find(match.pci, hit.pci) != match.pci.end();
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

struct Crash {
  std::size_t line = 0;
  std::string head, place;  // place: of the instruction, where no GPU's driver is
};

// The GPU that amdgpu was starting when the kernel crashed, and has not started since.
std::optional<PciAddress> started_by_amdgpu(const Machine& machine, const LogLine& crash) {
  constexpr double kStartSeconds = 30;
  const auto gpus = gpus_on_bus(machine, Vendor::amd);
  const Ids begins = {"amdgpu: enabling device (", "*: initializing kernel modesetting ("};
  std::optional<PciAddress> starts;
  for (const auto& hit : log_hits(machine, both(begins, {"*: Initialized amdgpu "}))) {
    const auto since =
        crash.seconds.value_or(0) - machine.kernel_log.lines[hit.line].seconds.value_or(0);
    if (!says_any(hit.text, begins))
      starts = hit.pci && hit.pci != starts ? starts : std::nullopt;
    else if (since >= 0 && since < kStartSeconds && (hit.pci || !starts))
      starts = hit.pci || gpus.size() != 1 ? hit.pci : gpus.front()->address;
  }
  return starts;
}

// The memory that programs share with GPUs is in the kernel's own care.
bool tell_of_kernel(const Machine& machine, const Crash& crash, Match& match) {
  if (crash.place.empty() || crash.place.ends_with(']') ||
      std::ranges::none_of(kDrivenVendors,
                           [&](Vendor vendor) { return module_loaded(machine, vendor); }))
    return false;
  match.severity = Severity::warning;
  match.standing = Standing::past;
  match.title = "The kernel crashed in its own code";
  match.explanation =
      "The kernel ended a thread and goes on. What the thread held stays locked, and memory may be "
      "damaged, so that programs on the GPUs may hang or fail.";
  match.cure =
      "Reboot. If it comes again, run another kernel, the one before or a newer one, then another "
      "version of the GPU's driver. Where crashes come at different places, test the machine's "
      "memory (memtest86+).";
  const auto starting = started_by_amdgpu(machine, machine.kernel_log.lines[crash.line]);
  if (!starting || !pci_device(machine, *starting)) return true;
  const auto gpu = about(machine, *starting);
  match.gpus = gpu.gpus;
  match.pci = gpu.pci;
  match.severity = Severity::error;
  match.standing = Standing::present;
  match.title = "The kernel crashed while amdgpu started the GPU";
  match.explanation =
      "The kernel ended the thread that started the GPU. amdgpu stays half loaded, cannot be "
      "unloaded, and may crash again at every start.";
  match.cure =
      "Boot with modprobe.blacklist=amdgpu, so that the machine comes up. Then run another kernel, "
      "mostly a newer one, with amdgpu built for it (Ubuntu: the package linux-generic-hwe of this "
      "release); after a crash in sync_global_pgds_l5, boot with no5lvl, which turns five-level "
      "page tables off. Load amdgpu by hand (modprobe amdgpu), and take the blacklist off once it "
      "starts.";
  match.command = "";
  match.terms = kByReboot;
  return true;
}

// `at`: the instruction, or a step of the trace to it, in a module.
bool tell_of_driver(const Machine& machine, const Crash& crash, std::string_view module,
                    std::string_view at, Match& match) {
  match.title = fmt::format("The driver's module {} crashed in the kernel", quote(module));
  match.evidence.push_back(evidence("kernel log", at));
  if (module.starts_with("vfio")) {
    match.explanation =
        "The kernel ended a thread that gave a GPU to a guest or took it back. "
        "What it held stays locked, so the GPU cannot change hands.";
    match.cure =
        "Reboot; if it comes again, update the kernel, and what resets GPUs for it "
        "(vendor-reset).";
    for (const auto& device : machine.pci)
      if (device.is_gpu && device.driver && passes_through(*device.driver)) {
        match.pci.push_back(device.address);
        match.evidence.push_back(driver_of(device));
      }
    return !match.pci.empty();
  }
  const auto vendor = vendor_of_writer(module);
  if (!vendor || !any_gpu(machine, *vendor)) return false;
  if (*vendor == Vendor::nvidia && crash.line < load_line(machine)) return false;
  const auto gpus = about_all(machine, *vendor);
  match.gpus = gpus.gpus;
  match.pci = gpus.pci;
  if (!start_failed(machine, *vendor)) match.severity = Severity::warning;
  if (!crash.place.empty())
    match.title =
        fmt::format("The kernel crashed at work for the driver's module {}", quote(module));
  if (module == "nvidia_uvm" && contains(at, "uvm_hmm_unregister_gpu") && !hmm_is_off(machine)) {
    match.cure =
        "Reboot. Before that, turn off the mirroring of programs' memory (HMM), where it crashed: "
        "uvm_disable_hmm=1 for nvidia_uvm. A newer driver may have it mended.";
    match.command = "echo options nvidia_uvm uvm_disable_hmm=1 >> /etc/modprobe.d/nvidia-uvm.conf";
  }
  return true;
}

// "Oops: 0000 [#1]" or "BUG: ...", then "RIP: 0010:function+0x2f/0xb0 [module]"; on Arm "Unable to
// handle kernel ...", "Internal error: Oops", then "pc : function+0x2f/0xb0 [module]". Without a
// module the kernel's own code crashed, and the steps of the trace tell for whom. A WARNING
// writes such lines, too, and goes on (Linux: show_regs, __warn).
std::vector<Match> oopsed(const Facts& facts) {
  constexpr double kTraceSeconds = 2;  // from its head to its last step
  const auto& machine = facts.machine;
  const auto& log = machine.kernel_log.lines;
  std::vector<Match> matches;
  std::optional<Crash> crash;
  const auto end_in = [&](std::string_view module, std::string_view at) {
    Match match;
    for (const auto* text : {&crash->head, &crash->place})
      if (!text->empty()) match.evidence.push_back(evidence("kernel log", *text));
    const bool first = std::ranges::none_of(
        matches, [](const Match& known) { return known.gpus.empty() && known.pci.empty(); });
    if (module.empty() ? first && tell_of_kernel(machine, *crash, match)
                       : tell_of_driver(machine, *crash, module, at, match))
      matches.push_back(std::move(match));
    crash.reset();
  };
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string& line = log[i].text;
    const auto message = parse_message(line);
    if (!message || message->writer != "kernel") continue;
    const auto is = [&](std::initializer_list<std::string_view> patterns) {
      return std::ranges::any_of(patterns, [&](auto text) { return says(*message, text); });
    };
    const bool head = is({"kernel: BUG: ", "kernel: Oops: ", "kernel: Internal error: Oops",
                          "kernel: Unable to handle kernel ", "kernel: kernel BUG at ",
                          "kernel: general protection fault, "});
    const bool place = is({"kernel: RIP: ", "kernel: pc : "});
    const auto open = line.rfind('[');
    const auto module = line.ends_with(']') && open != line.npos
                            ? line.substr(open + 1, line.size() - open - 2)
                            : "";
    const bool known = vendor_of_writer(module) || module.starts_with("vfio");
    const auto since = crash ? log[crash->line].seconds : std::nullopt;
    const bool late = since && log[i].seconds.value_or(0) > *since + kTraceSeconds;
    if (crash && ((late && (head || place || known)) || is({"kernel: WARNING: CPU: "})))
      end_in("", "");
    if (!crash && head) crash = Crash{i, line, {}};
    if (!crash) continue;
    if (known && (place ? crash->place.empty() : !contains(line, ": ")))
      end_in(module, line);
    else if (place && crash->place.empty())
      crash->place = line;
  }
  if (crash) end_in("", "");
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
       .cure = "Drain the machine and reboot it; if that hangs, too, cut the power. If it comes "
               "again, update the driver.",
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
