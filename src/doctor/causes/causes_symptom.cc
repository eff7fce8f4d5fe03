// What is reported only when nothing nearer the root was found: starts and calls that failed, GPUs
// that a driver does not list, Xids, and a count that is not met.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/xid_table.h"
#include "machine/gpu_use.h"

namespace gpuready::doctor {
namespace {

constexpr int kNvmlDriverNotLoaded = 9, kNvmlOperatingSystem = 17, kCudaOutOfMemory = 2;

bool nvidia_expected(const Machine& machine) {
  return any_gpu(machine, Vendor::nvidia) || machine.nvidia.module_loaded || machine.system.wsl2 ||
         machine.system.jetson_release.has_value();
}

// WSL's driver is that of Windows.
void cure_in_windows(Match& match) {
  match.cure =
      "In Windows, install NVIDIA's newest driver, then run wsl --update and wsl --shutdown, and "
      "start again. A data-centre card must run in the driver model WDDM (nvidia-smi -dm 0 in "
      "Windows): WSL does not reach it in TCC.";
  match.action = Action::ask_host;
  match.own_cure = true;
  match.command = "wsl.exe --update && wsl.exe --shutdown";
}

std::vector<Match> start_failed(const Facts& facts, const std::optional<ApiStatus>& start) {
  if (!start || start->ok() || !nvidia_expected(facts.machine)) return {};
  // A WSL machine without an NVIDIA GPU has nothing to start.
  if (facts.machine.system.wsl2 && facts.machine.nvidia.libraries.empty()) return {};
  Match match = about_all(facts.machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*start));
  add_gsp_advice(facts.machine, match, "");
  if (!facts.machine.system.wsl2) return {match};
  cure_in_windows(match);
  if (start->code == kNvmlDriverNotLoaded && start->call.starts_with("nvml")) {
    match.explanation =
        "The driver's libraries are in WSL, and NVML reaches no driver behind them: Windows does "
        "not answer this session. It may refuse a session that an administrator's terminal "
        "started.";
    match.cure =
        "In Windows, run wsl --shutdown, and start Linux from a terminal that is not elevated, if "
        "it was started as administrator. If it stays, run wsl --update and wsl --shutdown; then "
        "install NVIDIA's newest driver in Windows. A data-centre card must run in the driver "
        "model WDDM (nvidia-smi -dm 0 in Windows): WSL does not reach it in TCC.";
    match.command = "wsl.exe --shutdown";
  }
  const int count = facts.machine.nvidia.nvml_device_count.value_or(0);
  if (start->code == kCudaOutOfMemory && start->call.starts_with("cu") && count > 1) {
    std::string fewer = "0";
    for (int gpu = 1; gpu + 1 < count; ++gpu) fewer += fmt::format(",{}", gpu);
    match.title = "CUDA does not start with all GPUs of this machine in WSL 2";
    match.explanation = fmt::format(
        "cuInit reports a lack of memory, and NVML lists {} GPUs. With several GPUs this is mostly "
        "a limit of the way in which WSL shares Windows' GPUs, and not a lack of memory.",
        count);
    match.cure =
        "Let CUDA see fewer GPUs, by CUDA_VISIBLE_DEVICES, or disable one in Windows' Device "
        "Manager. Then install NVIDIA's newest driver in Windows, and run wsl --update and wsl "
        "--shutdown. More memory in .wslconfig does not help; to use all GPUs, start Linux without "
        "Windows.";
    match.command = "export CUDA_VISIBLE_DEVICES=" + fewer;
    match.action = Action::configure;
    match.terms = kAsUser;
  }
  if (start->code == kNvmlOperatingSystem && start->call.starts_with("nvml")) {
    match.title = "Windows refuses this system access to its GPU";
    match.explanation =
        "NVML answers that the operating system blocks the GPU: Windows' driver and WSL's kernel "
        "do not fit each other, or a container was started without the GPU.";
    const auto* dxg = node(facts.machine, "/dev/dxg");
    const bool given = dxg && dxg->exists &&
                       facts.machine.nvidia.nvml_library.value_or("").starts_with("/usr/lib/wsl/");
    if (in_container(facts.machine) && given) {
      match.explanation =
          "NVML answers that the operating system blocks the GPU, and the container has /dev/dxg "
          "and Windows' libraries: WSL's kernel, Windows' driver and NVIDIA's container toolkit do "
          "not fit each other.";
      match.cure =
          "In Windows, run wsl --update and wsl --shutdown, and see that nvidia-smi works in the "
          "distribution itself; if not, install NVIDIA's newest driver in Windows. If only "
          "containers fail, update nvidia-container-toolkit (or go back to the release before), "
          "run nvidia-ctk runtime configure --runtime=docker, and restart Docker. Then create the "
          "container again, with --gpus all as before.";
    } else if (in_container(facts.machine)) {
      cure_in_container(match, facts.machine, Ask::nvidia_gpus);
    }
  }
  // Windows' side is gone for this machine, and only a new start of WSL brings it back.
  const auto cut_off =
      log_hits(facts.machine, {"dxg: dxgk: dxgvmb_send_create_process: create_process failed"});
  if (cut_off.empty()) return {match};
  match.title = "WSL has lost its way to Windows' GPU driver";
  match.explanation = "The kernel can make no process known to Windows' driver any more.";
  match.cure =
      "In Windows, run wsl --shutdown and start WSL again; if it comes again, update WSL (wsl "
      "--update) and the GPU's driver in Windows.";
  match.command = "wsl.exe --shutdown";
  match.terms = kInWindows;
  match.evidence.push_back(evidence("kernel log", cut_off.back().text));
  return {match};
}

std::vector<Match> nvml_failed(const Facts& facts) {
  // Jetson's NVML knows little, and some releases refuse to start it.
  if (facts.machine.system.jetson_release) return {};
  return start_failed(facts, facts.machine.nvidia.nvml_start);
}

// NVIDIA vGPU user guide, "OpenCL and CUDA Application Support": of the profiles' series, which the
// last letter of "GRID T4-4B" tells, Q and C have CUDA, and A and B have not.
bool is_without_cuda(const Gpu& gpu) {
  const auto number = gpu.name.rfind('-') + 1;
  const std::string_view profile = std::string_view(gpu.name).substr(number);
  return gpu.virtualization == "vgpu" && number > 0 && profile.size() > 1 &&
         (profile.back() == 'A' || profile.back() == 'B') &&
         parse_uint(profile.substr(0, profile.size() - 1));
}

std::vector<Match> cuda_failed(const Facts& facts) {
  auto matches = start_failed(facts, facts.machine.nvidia.cuda_start);
  for (auto& match : matches)
    for (const auto& gpu : facts.machine.gpus) {
      if (!failed_start(facts.machine.nvidia.cuda_start, {100}) || !is_without_cuda(gpu)) continue;
      match.title = "The virtual GPU's profile has no CUDA";
      match.explanation = "Profiles of the series A and B are for desktops; Q and C have CUDA.";
      match.cure = "Give this virtual machine a profile of the series Q or C, on the host.";
      match.command = "";
      match.action = Action::ask_host;
      match.own_cure = true;
      match.evidence.push_back(evidence("nvmlDeviceGetName", gpu.name));
    }
  return matches;
}

std::vector<Match> not_listed_by_nvml(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  if (!nvml_started(machine)) return {};
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia || gpu.faked || gpu.suspended || !gpu.pci) continue;
    if (gpu.nvml_index || gpu.driver != "nvidia") continue;
    if (access_to(machine, gpu).use != GpuUse::unusable) continue;  // another container's
    Match match = about(gpu);
    match.evidence.push_back(
        evidence("nvmlDeviceGetCount_v2()",
                 fmt::format("{} GPUs listed, {} not among them",
                             nvidia.nvml_device_count.value_or(0), gpu.pci->text())));
    add_gsp_advice(machine, match, "");
    if (machine.system.hypervisor)
      match.cure =
          "Look at the kernel log for this address. Shut this virtual machine down and start it "
          "again, so that the host resets the GPU; if it comes again, have the host's operator "
          "look at the GPU. Until then programs can be kept to the others "
          "(CUDA_VISIBLE_DEVICES).";
    matches.push_back(std::move(match));
  }
  return matches;
}

// Programs do not see a GPU that management sees.
Match unlisted(const Gpu& gpu, const GpuAccess& access, std::string listed) {
  Match match = about(gpu);
  match.title = "Programs do not see a GPU that its driver runs";
  match.explanation =
      "It failed to start for programs, waits for a reset, may not be opened by this user, or is "
      "too old for this version of the libraries.";
  match.cure = "Look at the kernel log for this address; reset the GPU or restart the machine.";
  match.command = "";
  match.evidence.push_back(evidence(access.source, std::move(listed)));
  return match;
}

std::vector<Match> not_listed_for_programs(const Machine& machine) {
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    const auto access = access_to(machine, gpu);
    if (access.use != GpuUse::unusable || !gpu.pci) continue;
    if (left_out_by_cuda(machine, gpu) && access.source == kCudaCount)
      matches.push_back(
          unlisted(gpu, access,
                   fmt::format("{} of the {} GPUs that NVML lists, {} not among them",
                               machine.nvidia.cuda_device_count.value_or(0),
                               machine.nvidia.nvml_device_count.value_or(0), gpu.pci->text())));
    if (left_out_by_rocm(machine, gpu) && access.source == kRocmCount)
      matches.push_back(
          unlisted(gpu, access,
                   fmt::format("{} is not among those that ROCm lists, and the kernel's list "
                               "(/sys/class/kfd) has it",
                               gpu.pci->text())));
  }
  return matches;
}

std::vector<Match> not_listed(const Facts& facts) {
  auto matches = not_listed_by_nvml(facts);
  std::ranges::move(not_listed_for_programs(facts.machine), std::back_inserter(matches));
  return matches;
}

// Codes that say more than "this GPU has no such feature".
bool telling(const Machine& machine, const Gpu& gpu, const ApiStatus& status) {
  if (status.ok() || is_unread_in_wsl(machine, gpu, status)) return false;
  if (status.call.starts_with("cu")) return true;
  constexpr int kTelling[] = {8, 10, 15, 16, 17, 999};  // a corrupt inforom (14) has its own cause
  return std::find(std::begin(kTelling), std::end(kTelling), status.code) != std::end(kTelling);
}

std::vector<Match> call_failed(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus) {
    Match match = about(gpu);
    for (const auto& status : gpu.errors)
      if (telling(facts.machine, gpu, status) && match.evidence.size() < 4)
        match.evidence.push_back(evidence(status));
    if (match.evidence.empty()) continue;
    if (facts.machine.system.wsl2) cure_in_windows(match);
    matches.push_back(std::move(match));
  }
  return matches;
}

void explain_removal(const XidEvent& event, Match& match) {
  const auto code = named_cause(event);
  if (!code) return;
  const auto* cause = find_xid(*code);
  match.title = fmt::format("Xid 45: channels removed because of Xid {}", *code);
  match.explanation =
      fmt::format("The driver removed an application's channels because of Xid {}{}.", *code,
                  cause ? fmt::format(" ({})", cause->name) : "");
  if (cause) {
    match.severity = cause->fatal ? Severity::error : Severity::warning;
    match.cure = fmt::format("Act on Xid {}: {}.", *code, describe(cause->action));
    match.action = action_of(*cause);
  }
}

// Whether this kind of Xid can be why the driver or CUDA does not start: the GPU or firmware on it
// failed.
bool stops_the_gpu(int code) {
  const auto* entry = find_xid(code);
  const bool firmware =
      entry && entry->klass == XidClass::firmware &&
      (entry->action == XidAction::reset_gpu || entry->action == XidAction::update_software);
  return entry && (entry->fatal || firmware);
}

// An Xid without an address can be about any GPU that does not answer. When all do, it says nothing
// against one of them.
void place(const Machine& machine, const std::optional<PciAddress>& address, Match& match) {
  auto found = address ? about(machine, *address) : suspects(machine, Vendor::nvidia);
  if (!found) {
    match.severity = std::min(*match.severity, Severity::warning);
    return;
  }
  match.gpus = std::move(found->gpus);
  match.pci = std::move(found->pci);
}

std::vector<Match> xid_events(const Facts& facts) {
  const auto& machine = facts.machine;
  struct Seen {
    const XidEvent* first = nullptr;
    const XidEvent* last = nullptr;
    const XidEvent* worst = nullptr;
    std::size_t count = 0;
  };
  // What is past is distinguished from what is not.
  std::map<std::tuple<int, std::optional<PciAddress>, XidState>, Seen> events;
  const auto states = xid_states(machine);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& event = machine.kernel_log.xids[i];
    auto& seen = events[{event.code, event.pci, states[i]}];
    if (!seen.first) seen.first = &event;
    seen.last = &event;
    if (!seen.worst ||
        xid_severity(event.code, event.line) > xid_severity(event.code, seen.worst->line))
      seen.worst = &event;
    seen.count += 1 + event.left_out;
  }
  // In the order in which they came: the first is nearest to the root.
  std::vector<std::pair<decltype(events)::key_type, Seen>> in_order(events.begin(), events.end());
  std::ranges::sort(in_order, {}, [](const auto& event) { return event.second.first; });
  std::vector<Match> matches;
  for (const auto& [key, seen] : in_order) {
    const auto& [code, address, state] = key;
    // Channels that were removed because of an Xid that is reported itself are a part of that.
    const auto cause = code == 45 ? named_cause(*seen.last) : std::nullopt;
    const auto follows = [&](const auto& other) {
      return cause == std::get<0>(other.first) && address == std::get<1>(other.first) &&
             std::get<2>(other.first) != XidState::past;
    };
    if (state != XidState::past && std::ranges::any_of(events, follows)) continue;
    Match match = about_xid(code);
    match.id = fmt::format("xid-{}", code);
    if (!any_gpu(machine, Vendor::nvidia)) match.command = "";  // no tool of NVIDIA's
    // NVLink's events each say how grave they are; of a recovery action the newest one holds.
    match.severity = xid_severity(code, code == 154 ? seen.last->line : seen.worst->line);
    if (code == 45) explain_removal(*seen.last, match);
    if (state == XidState::past) {
      match.severity = Severity::info;
      match.standing = Standing::past;
      match.cure = match.command = "";
      *match.title += " (earlier, or another container's)";
    } else if (state == XidState::survived) {
      match.severity = std::min(*match.severity, Severity::warning);
      match.standing = Standing::past;
    } else if (*match.severity < Severity::error &&
               !(machine.nvidia.module_loaded && stops_the_gpu(code))) {
      match.standing = Standing::past;
    }
    place(machine, address, match);
    match.evidence.push_back(evidence(seen.first->source, seen.first->line));
    if (seen.worst != seen.first && seen.worst != seen.last)
      match.evidence.push_back(evidence(seen.worst->source, seen.worst->line));
    if (seen.count > 1)
      match.evidence.push_back(evidence(
          seen.last->source, fmt::format("{} times, last: {}", seen.count, seen.last->line)));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::string name_of(const Gpu& gpu) {
  return gpu.pci ? gpu.pci->text() : fmt::format("GPU {}", gpu.index);
}

// What could not be looked at may hide the cause.
std::string what_was_not_seen(const Machine& machine) {
  std::vector<std::string> parts;
  if (!machine.kernel_log.readable) parts.emplace_back("the kernel log");
  for (const auto& unseen : machine.unseen)
    if (parts.size() < 4 && !contains(unseen.what, "kernel log"))
      parts.push_back(quote(unseen.what));
  return parts.empty() ? "Everything that a diagnosis reads was read, and none of it names a cause."
                       : fmt::format("What could not be read may hold the cause: {}.",
                                     fmt::join(parts, ", "));
}

std::vector<Match> unexplained(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    if (facts.blamed.contains(gpu.index)) continue;
    const auto access = access_to(machine, gpu);
    if (access.use != GpuUse::unusable) continue;
    Match match = about(gpu);
    match.explanation = fmt::format("No cause is known. {}", what_was_not_seen(machine));
    match.evidence.push_back(
        evidence(access.source, fmt::format("{}: {}", name_of(gpu), access.reason)));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> count_missed(const Facts& facts) {
  const auto& machine = facts.machine;
  const int expected = facts.options.expected_gpus.value_or(0);
  int found = 0;
  Match match;
  for (const auto& gpu : machine.gpus) {
    const auto access = access_to(machine, gpu);
    const bool blamed = facts.blamed.contains(gpu.index);
    if (access.use == GpuUse::usable && !blamed) {
      ++found;
      continue;
    }
    match.evidence.push_back(evidence(
        name_of(gpu), fmt::format("{}: {}", gpu.name.empty() ? "GPU of unknown name" : gpu.name,
                                  access.reason.empty() ? "an error was found" : access.reason)));
    match.gpus.push_back(gpu.index);
    if (gpu.pci) match.pci.push_back(*gpu.pci);
  }
  if (found >= expected) return {};
  match.title =
      fmt::format("{} GPU{} required, {} usable", expected, expected == 1 ? " is" : "s are", found);
  if (match.evidence.empty())
    match.evidence.push_back(
        evidence("--require-gpu", fmt::format("{} required, {} usable", expected, found)));
  return {match};
}

}  // namespace

std::vector<Cause> symptom_causes() {
  return {
      {.id = "xid",
       .severity = Severity::warning,
       .title = "An Xid",
       .explanation = "NVIDIA's driver reported an error event.",
       .action = Action::check_again,
       .explains = {"nvml-start-failed", "cuda-start-failed", "gpu-not-listed", "gpu-call-failed",
                    "expected-gpu-count"},
       .match = xid_events,
       .finding_ids = {"xid-N"}},
      {.id = "nvml-start-failed",
       .title = "NVML does not start",
       .explanation = "NVIDIA's management library answered its start with an error.",
       .cure = "Look at the kernel log for what the driver says; reinstall the driver if it says "
               "nothing.",
       .command = "dmesg | grep -iE 'nvrm|nvidia|nvgpu|xid'",
       .action = Action::check_again,
       .explains = {"cuda-start-failed", "gpu-not-listed", "expected-gpu-count"},
       .match = nvml_failed},
      {.id = "gpu-not-listed",
       .title = "The driver does not list a GPU that is on the bus",
       .explanation =
           "The GPU is bound to NVIDIA's driver, and NVML does not know it: it failed to "
           "start or was lost.",
       .cure = "Look at the kernel log for this address. Take the machine out of service, cut the "
               "power and start again; if it comes again, check the GPU's seat and power, or "
               "replace it. Until then programs can be kept to the others (CUDA_VISIBLE_DEVICES).",
       .command = "dmesg | grep -iE 'nvrm|xid'",
       .action = Action::check_again,
       .explains = {"cuda-start-failed", "gpu-call-failed", "expected-gpu-count"},
       .match = not_listed},
      {.id = "cuda-start-failed",
       .title = "The CUDA driver does not start",
       .explanation = "cuInit answered with an error, so no program can use CUDA here.",
       .cure = "Look at the kernel log for what the driver says. If it says nothing, reload "
               "nvidia_uvm, then reboot; reinstall the driver if that does not help.",
       .command = "dmesg | grep -iE 'nvrm|nvidia|xid'",
       .action = Action::check_again,
       .explains = {"expected-gpu-count"},
       .match = cuda_failed},
      {.id = "gpu-call-failed",
       .title = "Calls about this GPU fail",
       .explanation = "The driver answers for this GPU with errors.",
       .cure =
           "Stop what uses the GPU and reset it, or reboot; lines with NVRM or Xid in the kernel "
           "log may say why its calls fail. If they fail again, cut the power and start again, "
           "and then have the GPU replaced. Until then programs can be kept to other GPUs "
           "(CUDA_VISIBLE_DEVICES).",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .explains = {"expected-gpu-count"},
       .match = call_failed},
      {.id = "gpu-unusable",
       .title = "The GPU cannot be used, and no cause was found",
       .explanation = "No cause is known.",
       .cure = "Run it again as root on the host, where the kernel log can be read; restart the "
               "machine if it still names no cause.",
       .command = "sudo gpuready doctor",
       .action = Action::check_again,
       .own_cure = true,
       .explains = {"expected-gpu-count"},
       .match = unexplained},
      {.id = "expected-gpu-count",
       .title = "Fewer GPUs are usable than required",
       .explanation = "Fewer GPUs can be used than --require-gpu asks for.",
       .cure = "Look for what is missing: on the bus, at its power, or in this container's GPUs.",
       .action = Action::check_again,
       .own_cure = true,
       .match = count_missed},
  };
}

}  // namespace gpuready::doctor
