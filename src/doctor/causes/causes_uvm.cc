// NVIDIA's module for unified memory, which CUDA needs and NVML does not.
#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/known_faults.h"
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
  if (!in_container(machine)) return {match};
  cure_in_container(match, machine, Ask::nvidia_gpus);
  if (machine.nvidia.uvm_loaded) {
    match.title = "The container was not given the node of nvidia-uvm";
    *match.cure +=
        " Where nodes are handed in one by one, name /dev/nvidia-uvm and /dev/nvidia-uvm-tools "
        "beside the others. If the host lacks them, too, run nvidia-modprobe -u -c0 on it before.";
    return {match};
  }
  match.cure =
      "Run nvidia-modprobe -u -c0 on the host, then recreate the container with its GPUs, so that "
      "it gets the new node, too. Name nvidia-uvm in the host's /etc/modules-load.d, so that it is "
      "there at every start.";
  if (machine.container.runtime == "lxc")
    match.cure =
        "Run nvidia-modprobe -u -c0 on the host, and start the container again (Proxmox VE: pct "
        "reboot ID). Name nvidia and nvidia-uvm in the host's /etc/modules-load.d, so that they "
        "are there before containers start. The container's configuration must hand in "
        "/dev/nvidia-uvm and /dev/nvidia-uvm-tools (Proxmox VE: dev2: and dev3:).";
  match.command = "";
  match.action = Action::ask_host;
  return {match};
}

std::optional<LogHit> met_fatal_error(const Machine& machine) {
  const auto fatal = log_hits(machine, {"NVRM: ...uvm encountered global fatal error"});
  if (fatal.empty() || fatal.back().line < load_line(machine)) return std::nullopt;
  return fatal.back();
}

// At its start the open flavour's nvidia-uvm sets up a mirror of the machine's memory (HMM), for
// which kernels with randomised addresses may have no room left. It says so only with
// uvm_debug_prints, and then as here (CUDA 13.2, release notes, "Known Issues"); else it shows in
// that everything is in place and cuInit gives 3.
std::vector<Match> mirror_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  if (!cuda_unknown(machine) || !node_platform(machine) || !nvidia.uvm_loaded ||
      hmm_is_off(machine))
    return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*nvidia.cuda_start));
  if (const auto& params = nvidia.params; params.contains("uvm_disable_hmm"))
    match.evidence.push_back(evidence("/sys/module/nvidia_uvm/parameters",
                                      "uvm_disable_hmm: " + params.at("uvm_disable_hmm")));
  const auto known = match.evidence.size();
  for (const auto& hit : log_hits(machine, {"nvidia-uvm: ...request_free_mem_region() err"}))
    if (hit.line >= load_line(machine) && match.evidence.size() == known)
      match.evidence.push_back(evidence("kernel log", hit.text));
  if (match.evidence.size() > known) return {match};
  constexpr int kFirstBranch = 530;  // with HMM
  // nvidia-uvm mirrors memory from Linux 6.1 on; a fatal error of its own is another fault.
  if (!is_in(machine.system.kernel_release, "6.1..") || met_fatal_error(machine)) return {};
  const auto* uvm = node(machine, "/dev/nvidia-uvm");
  const auto version = parse_version(nvidia.module_version.value_or(""));
  const bool all_in_place = uvm && uvm->openable.value_or(false) && resumes(machine).empty() &&
                            !in_container(machine) && machine.system.architecture == "x86_64";
  if (nvidia.cuda_start->code != 3 || nvidia.module_flavour != "open" || !all_in_place ||
      !version || version->major() < kFirstBranch)
    return {};
  match.explanation =
      "The driver answers, and its unified memory module is loaded and may be opened. With the "
      "open kernel modules this code then mostly means that the module could not mirror the "
      "machine's memory.";
  match.evidence.push_back(evidence("/sys/module/nvidia_uvm", "loaded, of the open modules"));
  return {match};
}

std::vector<Match> uvm_stale(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!cuda_unknown(machine)) return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*machine.nvidia.cuda_start));
  if (const auto fatal = met_fatal_error(machine)) {
    match.title = "nvidia-uvm has met a fatal error";
    match.explanation =
        "The unified memory module lost a GPU or its page tables, and refuses all further work.";
    match.cure = "Reboot; if it comes again, look for the Xid before it and have the GPU checked.";
    match.command = "reboot";
    match.action = Action::reboot;
    match.evidence.push_back(evidence("kernel log", fatal->text));
    return {match};
  }
  const auto resumed = resumes(machine);
  const bool one_lost = std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    return gpu.vendor == Vendor::nvidia && gpu.pci && !answers(machine, *gpu.pci);
  });
  if (resumed.empty() || one_lost) return {};
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
       .cure =
           "Load nvidia-uvm and create its nodes; name it in /etc/modules-load.d, so that every "
           "boot loads it.",
       .command = "nvidia-modprobe -u -c0 && echo nvidia-uvm > "
                  "/etc/modules-load.d/nvidia-uvm.conf",
       .action = Action::reload_driver,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_missing},
      {.id = "uvm-mirror-failed",
       .title = "nvidia-uvm could not mirror the machine's memory (HMM)",
       .explanation =
           "The kernel has no range of addresses left for the GPU's memory, so nvidia-uvm "
           "does not start a GPU, and CUDA does not start.",
       .cure = "Turn HMM off in nvidia-uvm and load it again, with nothing on the GPUs. To keep "
               "HMM, boot with nokaslr, or install a newer kernel or driver, which may have room "
               "for it.",
       .command = "echo options nvidia_uvm uvm_disable_hmm=1 >> /etc/modprobe.d/nvidia-uvm.conf && "
                  "rmmod nvidia_uvm && modprobe nvidia_uvm",
       .action = Action::configure,
       .terms = kByReload,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = mirror_failed},
      {.id = "uvm-stale",
       .title = "CUDA is stale since the machine slept",
       .explanation = "After a suspend, nvidia-uvm can be left in a state in which CUDA no longer "
                      "starts.",
       .cure = "Close what uses CUDA and reload the module; reboot if it stays in use. So that it "
               "does not come again, have the driver keep the GPU's memory: "
               "NVreg_PreserveVideoMemoryAllocations=1 for nvidia in /etc/modprobe.d, and its "
               "services nvidia-suspend and nvidia-resume enabled.",
       .command = "rmmod nvidia_uvm && modprobe nvidia_uvm",
       .action = Action::reload_driver,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = uvm_stale},
  };
}

}  // namespace gpuready::doctor
