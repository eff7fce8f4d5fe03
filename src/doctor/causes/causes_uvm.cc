// NVIDIA's module for unified memory, which CUDA needs and NVML does not.
#include "doctor/facts.h"
#include "machine/gpu_use.h"

namespace gpuready::doctor {
namespace {

bool node_platform(const Machine& machine) {
  return !machine.system.wsl2 && !machine.system.jetson_release;
}

// What libcuda answers where it cannot use /dev/nvidia-uvm, by driver branch.
bool cuda_unknown(const Machine& machine) {
  return failed_start(machine.nvidia.cuda_start, {3, 304, 999}) && nvml_started(machine);
}

std::vector<Match> uvm_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!cuda_unknown(machine) || !node_platform(machine)) return {};
  const auto* uvm = node(machine, "/dev/nvidia-uvm");
  const bool node_missing = !uvm || !uvm->exists;
  if (machine.nvidia.uvm_loaded && !node_missing) return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
  if (!machine.nvidia.uvm_loaded)
    match.evidence.push_back(evidence("/sys/module/nvidia_uvm", "not loaded"));
  if (node_missing) match.evidence.push_back(evidence("/dev/nvidia-uvm", "no such device node"));
  return {match};
}

std::vector<Match> uvm_stale(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!cuda_unknown(machine)) return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
  const auto fatal = log_hits(machine, {"NVRM: ...uvm encountered global fatal error"});
  if (!fatal.empty() && fatal.back().line >= load_line(machine)) {
    match.title = "nvidia-uvm has met a fatal error";
    match.explanation =
        "The unified memory module lost a GPU or its page tables, and refuses all further work.";
    match.cure = "Reboot; if it comes again, look for the Xid before it and have the GPU checked.";
    match.command = "reboot";
    match.action = Action::reboot;
    match.evidence.push_back(evidence("kernel log", fatal.back().text));
    return {match};
  }
  const auto resumed = resumes(machine);
  if (resumed.empty()) return {};
  match.evidence.push_back(evidence("kernel log", resumed.back().text));
  return {match};
}

}  // namespace

std::vector<Cause> uvm_causes() {
  return {
      {.id = "uvm-missing",
       .title = "The nvidia-uvm module or its node is missing",
       .explanation =
           "CUDA needs the unified memory module as well as the main one; NVML does not, so "
           "tools look well while CUDA fails.",
       .cure = "Load nvidia-uvm and create its nodes.",
       .command = "nvidia-modprobe -u -c0",
       .action = Action::reload_driver,
       .in_container = {"Run nvidia-modprobe -u -c0 on the host, then recreate the container.",
                        Action::ask_host},
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_missing},
      {.id = "uvm-stale",
       .title = "CUDA is stale since the machine slept",
       .explanation = "After a suspend, nvidia-uvm can be left in a state in which CUDA no longer "
                      "starts.",
       .cure = "Close what uses CUDA and reload the module.",
       .command = "rmmod nvidia_uvm && modprobe nvidia_uvm",
       .action = Action::reload_driver,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_stale},
  };
}

}  // namespace gpuready::doctor
