// Device nodes and containers.
// Nodes: nvidia-modprobe's and the driver README's names; cgroup device rules answer EPERM where
// file permissions answer EACCES.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/refusal.h"

namespace gpuready::doctor {
namespace {

Match all_nvidia(const Facts& facts) { return about_all(facts.machine, Vendor::nvidia); }

bool node_platform(const Machine& machine) {
  return !machine.system.wsl2 && !machine.system.jetson_release;
}

Evidence absent(std::string_view path) { return evidence(path, "no such device node"); }

bool there(const Machine& machine, std::string_view path) {
  const auto* found = node(machine, path);
  return found && found->exists;
}

std::vector<Match> nodes_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!machine.nvidia.module_loaded || !node_platform(machine)) return {};
  if (!any_gpu(machine, Vendor::nvidia) || machine.nodes.empty()) return {};
  const auto gpus = gpu_nodes(machine);
  const bool any_node =
      std::any_of(gpus.begin(), gpus.end(), [](const DeviceNode* node) { return node->exists; });
  const bool control = there(machine, "/dev/nvidiactl");
  std::vector<Match> matches;
  if (!any_node || !control) {
    Match match = all_nvidia(facts);
    if (!control) match.evidence.push_back(absent("/dev/nvidiactl"));
    if (!any_node) match.evidence.push_back(absent("/dev/nvidia0"));
    match.evidence.push_back(evidence("/proc/driver/nvidia/version",
                                      machine.nvidia.module_version.value_or("module loaded")));
    matches.push_back(std::move(match));
  } else {
    for (const auto& gpu : machine.gpus) {
      if (gpu.vendor != Vendor::nvidia || !gpu.minor_number || gpu.suspended) continue;
      if (in_container(machine) || not_given(machine, gpu)) continue;
      const auto path = fmt::format("/dev/nvidia{}", *gpu.minor_number);
      if (!node(machine, path) || there(machine, path)) continue;
      Match match = about(gpu);
      match.evidence.push_back(absent(path));
      matches.push_back(std::move(match));
    }
  }
  if (in_container(machine))
    for (auto& match : matches) {
      match.title = "The container was given no GPU";
      match.explanation =
          "The host's driver is loaded, and the container has none of its device nodes.";
      cure_in_container(match, machine, Ask::nvidia_gpus);
    }
  return matches;
}

// The nodes that CUDA opens: others (nvidia-caps, nvswitch, modeset) are for administrators.
bool is_for_compute(const DeviceNode& entry) {
  if (entry.path == "/dev/nvidiactl" || entry.path == "/dev/nvidia-uvm") return true;
  if (entry.path == "/dev/nvmap" || entry.path.starts_with("/dev/nvhost")) return true;  // Tegra's
  const auto minor = after_prefix(entry.path, "/dev/nvidia");
  return minor && parse_uint(*minor);
}

std::vector<Match> node_permission(const Facts& facts) {
  Match match = all_nvidia(facts);
  for (const auto& entry : facts.machine.nodes) {
    if (!is_for_compute(entry) || entry.open_error != "EACCES") continue;
    if (match.evidence.empty()) explain_refusal(facts.machine, entry, match);
    match.evidence.push_back(evidence(
        entry.path, fmt::format("may not be opened: EACCES (mode {:04o}, user {})",
                                entry.mode.value_or(0), facts.machine.system.effective_uid)));
  }
  if (match.evidence.empty()) return {};
  return {match};
}

// A device control group that refuses some GPUs leaves the others: those were not given. One that
// refuses all of them, or what all share, leaves nothing.
bool refuses_all(const Machine& machine) {
  bool all = true, any = false;
  for (const auto& entry : machine.nodes) {
    if (!is_for_compute(entry) || !entry.exists) continue;
    const bool refused = entry.open_error == "EPERM";
    const bool one_gpu = entry.path != "/dev/nvidiactl" && entry.path != "/dev/nvidia-uvm";
    if (refused && !one_gpu) return true;
    if (!one_gpu) continue;
    any = true;
    all &= refused;
  }
  return any && all;
}

std::vector<Match> cgroup_revoked(const Facts& facts) {
  const auto& machine = facts.machine;
  Match match = all_nvidia(facts);
  const bool denied = refuses_all(machine);
  for (const auto& entry : machine.nodes)
    if (denied && is_for_compute(entry) && entry.open_error == "EPERM" && match.evidence.size() < 3)
      match.evidence.push_back(evidence(entry.path, "may not be opened: EPERM"));
  const auto* nvml = failed_start(machine.nvidia.nvml_start, {17, 999});
  // NVML 999 in a container with its nodes in place is this cause's usual face.
  if (!denied && !(nvml && in_container(machine) && there(machine, "/dev/nvidiactl"))) return {};
  if (nvml) match.evidence.push_back(evidence(*nvml));
  if (machine.container.cgroup_path)
    match.evidence.push_back(evidence("/proc/self/cgroup", *machine.container.cgroup_path));
  cure_in_container(match, machine, Ask::nvidia_again);
  if (in_slurm_job(machine)) {
    match.title = "The Slurm job has no GPU";
    match.explanation =
        "Slurm lets a job use the GPUs that it asked for, and the device control group of this job "
        "refuses them all.";
  }
  return {match};
}

// What libcuda answers where it cannot use /dev/nvidia-uvm, by driver branch.
bool cuda_unknown(const Machine& machine) {
  return failed_start(machine.nvidia.cuda_start, {3, 304, 999}) && machine.nvidia.nvml_start &&
         machine.nvidia.nvml_start->ok();
}

std::vector<Match> uvm_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!cuda_unknown(machine) || !node_platform(machine)) return {};
  const bool node_missing = !there(machine, "/dev/nvidia-uvm");
  if (machine.nvidia.uvm_loaded && !node_missing) return {};
  Match match = all_nvidia(facts);
  match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
  if (!machine.nvidia.uvm_loaded)
    match.evidence.push_back(evidence("/sys/module/nvidia_uvm", "not loaded"));
  if (node_missing) match.evidence.push_back(absent("/dev/nvidia-uvm"));
  if (in_container(machine)) {
    match.cure = "Run nvidia-modprobe -u -c0 on the host, then recreate the container.";
    match.command = "";
  }
  return {match};
}

std::vector<Match> uvm_stale(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!cuda_unknown(machine)) return {};
  const auto fatal = log_hits(machine, {"NVRM: ...uvm encountered global fatal error"});
  if (!fatal.empty() && fatal.back().line >= load_line(machine)) {
    Match match = all_nvidia(facts);
    match.title = "nvidia-uvm has met a fatal error";
    match.explanation =
        "The unified memory module lost a GPU or its page tables, and refuses all further work.";
    match.cure = "Reboot; if it comes again, look for the Xid before it and have the GPU checked.";
    match.command = "reboot";
    match.remedy = Remedy::reboot;
    match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
    match.evidence.push_back(evidence("kernel log", fatal.back().text));
    return {match};
  }
  const auto resumed = log_hits(machine, {"PM: suspend exit", "PM: hibernation exit",
                                          "ACPI: PM: Waking up", "PM: resume of devices complete"});
  if (resumed.empty()) return {};
  Match match = all_nvidia(facts);
  match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
  match.evidence.push_back(evidence("kernel log", resumed.back().text));
  return {match};
}

}  // namespace

std::vector<Cause> access_causes() {
  const std::vector<std::string_view> kClosed = {
      "nvml-start-failed",  "cuda-start-failed", "gpu-not-listed",       "nvml-library-missing",
      "expected-gpu-count", "uvm-missing",       "cuda-library-missing", "hidden-by-variable"};
  return {
      {.id = "device-nodes-missing",
       .severity = Severity::error,
       .title = "The GPU's device nodes are missing",
       .explanation = "The kernel module is loaded, and there is no /dev/nvidia* through which "
                      "programs could reach it.",
       .cure = "Create the nodes; nvidia-modprobe does it, and needs to be setuid root for users.",
       .command = "nvidia-modprobe -c0 -u",
       .explains = kClosed,
       .match = nodes_missing},
      {.id = "device-node-permission",
       .severity = Severity::error,
       .title = "This user may not open the GPU's device nodes",
       .explanation = "The nodes exist, and their file permissions refuse this user.",
       .cure = "Add the user to the nodes' group (often video or render), or set the module's "
               "NVreg_DeviceFileMode back to 0666.",
       .command = "usermod -aG video,render \"$USER\"",
       .explains = kClosed,
       .match = node_permission},
      {.id = "cgroup-revoked",
       .severity = Severity::error,
       .title = "The container has lost its access to the GPU",
       .explanation =
           "The nodes are there, and the device cgroup refuses them: a reload of systemd "
           "drops what a runtime added behind its back.",
       .cure = "Recreate the container; to keep it from recurring, use CDI devices or the "
               "cgroupfs driver.",
       .command = {},
       .explains = kClosed,
       .match = cgroup_revoked},
      {.id = "uvm-missing",
       .severity = Severity::error,
       .title = "The nvidia-uvm module or its node is missing",
       .explanation =
           "CUDA needs the unified memory module as well as the main one; NVML does not, so "
           "tools look well while CUDA fails.",
       .cure = "Load nvidia-uvm and create its nodes.",
       .command = "nvidia-modprobe -u -c0",
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_missing},
      {.id = "uvm-stale",
       .severity = Severity::error,
       .title = "CUDA is stale since the machine slept",
       .explanation = "After a suspend, nvidia-uvm can be left in a state in which CUDA no longer "
                      "starts.",
       .cure = "Close what uses CUDA and reload the module.",
       .command = "rmmod nvidia_uvm && modprobe nvidia_uvm",
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_stale},
  };
}

}  // namespace gpuready::doctor
