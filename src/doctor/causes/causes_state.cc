// States that someone set, or that something must still complete: MIG, compute mode, NVSwitch
// fabric, confidential computing, vGPU licence.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "doctor/facts.h"
#include "doctor/kernel_signs.h"
#include "doctor/platforms.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

std::vector<Match> mig_empty(const Facts& facts) {
  return each_gpu(facts, [](const Gpu& gpu, Match& match) {
    if (!gpu.mig_enabled.value_or(false) || !gpu.mig.empty()) return;
    match.evidence = {evidence("nvmlDeviceGetMigMode", "MIG is enabled"),
                      evidence("nvmlDeviceGetMigDeviceHandleByIndex", "no instance was found")};
  });
}

// Without its licence a vGPU may refuse contexts with the code of a GPU that others hold.
bool is_unlicensed(const Gpu& gpu) {
  const auto licence = gpu.virtualization == "vgpu" ? gpu.vgpu_license : std::nullopt;
  return licence && *licence != "licensed" && *licence != "unknown" && *licence != "not_applicable";
}

std::vector<Match> mode(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus) {
    Match match = about(gpu);
    if (gpu.compute_mode == "prohibited") {
      match.title = "The GPU's compute mode forbids all work";
      match.evidence.push_back(evidence("nvmlDeviceGetComputeMode", "prohibited"));
    } else if (gpu.compute_mode && gpu.compute_mode->starts_with("exclusive")) {
      const auto holder =
          std::find_if(gpu.processes.begin(), gpu.processes.end(), [](const GpuProcess& p) {
            // MPS shares one process's hold among many; NVIDIA
            // advises this mode for it.
            return p.kind == "compute" && !contains(p.name.value_or(""), "nvidia-cuda-mps");
          });
      if (holder == gpu.processes.end() && !failed_call(gpu, "cu", 46)) continue;
      match.severity = Severity::warning;
      match.evidence.push_back(evidence("nvmlDeviceGetComputeMode", *gpu.compute_mode));
      if (holder != gpu.processes.end())
        match.evidence.push_back(evidence(
            "nvmlDeviceGetComputeRunningProcesses",
            fmt::format("process {} {}", holder->pid, holder->name.value_or("(name unknown)"))));
    }
    if (const auto* busy = failed_call(gpu, "cu", cuda_code::kDeviceUnavailable);
        busy && !is_unlicensed(gpu)) {
      match.severity = Severity::error;
      match.evidence.push_back(evidence(*busy));
    }
    if (!match.evidence.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

// CUresult 805 to 809: programs are clients of NVIDIA's Multi-Process Service where its pipes are.
std::vector<Match> mps(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto* full = failed_start(machine.nvidia.cuda_start, {808, 809});
  const auto* status = full ? full : failed_start(machine.nvidia.cuda_start, {805, 806, 807});
  if (!status) return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.evidence.push_back(evidence(*status));
  if (!full && in_container(machine)) {
    match.cure =
        "Start the container with the pipes of a running MPS daemon (CUDA_MPS_PIPE_DIRECTORY) and "
        "its shared memory (--ipc=host); in Kubernetes, restart the node's MPS daemon. Without "
        "MPS, unset the variable.";
    match.command = "";
    match.terms = kAtLaunch;
  }
  if (!full) return {match};
  match.title = "MPS serves as many programs as it can";
  match.explanation = "CUDA starts here through MPS, which takes no further client.";
  match.cure = "Wait until others have ended, or start this program without MPS.";
  match.command = "";
  match.action = Action::check_again;
  return {match};
}

// Fabric Manager User Guide: from HGX B200 on, NVLSM sets the switches up for it.
bool has_nvlink5(const Machine& machine) {
  return std::ranges::any_of(machine.gpus, [](const Gpu& gpu) {
    return gpu.compute_capability.value_or("").starts_with("10.");
  });
}

// The links go on as the Fabric Manager left them, and no new multicast group or reset GPU gets in:
// NCCL fails there with CUDA error 401. Only where the switches are this machine's own.
std::optional<Match> fabric_without_manager(const Machine& machine) {
  if (nvswitches(machine) == 0 || machine.nvidia.fabric_manager != "not_running")
    return std::nullopt;
  Match match;
  for (const auto& gpu : machine.gpus)
    if (gpu.fabric.state == "completed" && !gpu.mig_enabled.value_or(false) && gpu.pci) {
      match.gpus.push_back(gpu.index);
      match.pci.push_back(*gpu.pci);
    }
  if (match.gpus.empty()) return std::nullopt;
  match.title = "The Fabric Manager does not run";
  match.explanation =
      "The NVLinks go on as it left them, but NCCL gets no multicast memory (NVLS, CUDA error "
      "401), and a GPU that is reset does not come back into the fabric.";
  match.cure =
      "Start the Fabric Manager of exactly the driver's version, and have it start at every boot; "
      "until then NCCL_NVLS_ENABLE=0.";
  match.command = "systemctl enable --now nvidia-fabricmanager";
  match.evidence.push_back(evidence("nvidia-fabricmanager", "not running"));
  return match;
}

std::vector<Match> fabric(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    const auto& state = gpu.fabric.state;
    if (!state || *state == "not_supported") continue;
    const bool completed = *state == "completed";
    if (completed && gpu.fabric.status.value_or(0) == 0) continue;
    Match match = about(gpu);
    match.evidence.push_back(
        evidence("nvmlDeviceGetGpuFabricInfoV",
                 completed ? fmt::format("completed with status {}", *gpu.fabric.status)
                           : "state " + *state));
    matches.push_back(std::move(match));
  }
  if (const auto unkept = fabric_without_manager(machine); unkept && matches.empty())
    return {*unkept};
  // The same code is confidential computing's, which tells its own state.
  const bool confidential =
      std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& gpu) {
        return gpu.confidential_compute.value_or(false) &&
               !gpu.confidential_compute_ready.value_or(true);
      });
  const auto* status = confidential ? nullptr : failed_start(machine.nvidia.cuda_start, {802});
  if (status && matches.empty()) matches.push_back(about_all(machine, Vendor::nvidia));
  for (auto& match : matches) {
    if (status) match.evidence.push_back(evidence(*status));
    if (machine.nvidia.fabric_manager == "not_running")
      match.evidence.push_back(evidence("nvidia-fabricmanager", "not running"));
    if (has_nvlink5(machine) && machine.system.architecture == "aarch64") {
      match.title = "The rack's NVLink fabric has not taken this GPU in";
      match.explanation =
          "The switches of a GB200 or GB300 rack are in trays of their own. Until they take the "
          "GPU "
          "in, NVLink to other trays does not work, and CUDA may not start.";
      match.cure =
          "Ask the rack's operator to look at the fabric manager on the switch trays and at this "
          "tray's partition.";
      match.command = "";
      match.action = Action::ask_host;
    } else if (machine.system.hypervisor && nvswitches(machine) == 0) {
      match.explanation =
          "The switches are the host's, whose Fabric Manager has to make a partition of the GPUs "
          "that this virtual machine was given. CUDA starts only then.";
      const bool one = std::ranges::count(machine.gpus, Vendor::nvidia, &Gpu::vendor) == 1;
      match.cure =
          outside(machine) == CurePlace::provider
              ? "Stop this machine and start it again. If it stays, have the host's operator "
                "activate the GPUs' partition in the Fabric Manager"
              : "On the host, install the Fabric Manager of the driver's version there, set "
                "FABRIC_MODE=1 in fabricmanager.cfg (shared NVSwitches) and start it. Activate the "
                "partition that holds exactly this machine's GPUs (fmpm -a ID), and then stop this "
                "machine and start it again: nothing inside it can do that";
      *match.cure += one ? ", or turn NVLink off for a single GPU." : ".";
      match.command = "";
      match.action = Action::ask_host;
    } else if (has_nvlink5(machine) && machine.nvidia.fabric_manager == "running") {
      match.explanation =
          "The Fabric Manager runs, and has not registered the GPU. With NVLink 5, NVLSM sets the "
          "switches up for it: NVLSM does not run, or took a port that is not the switches'.";
      match.cure = is_talos(machine)
                       ? "Read why NVLSM fails in the extension's log (talosctl logs "
                         "ext-nvidia-fabricmanager). Then upgrade (talosctl upgrade) to an image "
                         "with a newer nvidia-fabricmanager extension, which picks the right "
                         "port. Fabric in nvidia-smi -q must say Completed afterwards."
                       : "Read why NVLSM fails in the logs (journalctl -u nvidia-fabricmanager; "
                         "/var/log/nvlsm.log). Install NVLSM (the package nvlsm) of the Fabric "
                         "Manager's version, load ib_umad, and start the Fabric Manager again. "
                         "Fabric in nvidia-smi -q must say Completed afterwards.";
      if (is_talos(machine)) match.command = "";
      match.evidence.push_back(evidence("nvidia-fabricmanager", "running"));
    } else if (has_nvlink5(machine)) {
      match.cure =
          "Install NVLSM (the package nvlsm) and the kernel module ib_umad beside the Fabric "
          "Manager "
          "of exactly the driver's version, and start it: NVLink 5 needs them.";
    }
  }
  return matches;
}

std::vector<Match> confidential(const Facts& facts) {
  return each_gpu(facts, [](const Gpu& gpu, Match& match) {
    if (gpu.confidential_compute.value_or(false) && !gpu.confidential_compute_ready.value_or(true))
      match.evidence = {
          evidence("nvmlSystemGetConfComputeGpusReadyState", "not accepting client requests")};
  });
}

std::vector<Match> unlicensed(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (!is_unlicensed(gpu)) return;
    match.evidence = {evidence("nvmlDeviceGetGridLicensableFeatures", *gpu.vgpu_license)};
    if (cloud_of(facts.machine) == "Azure") {
      match.cure =
          "See whether the licence service runs, on the host of a container (systemctl status "
          "nvidia-gridd), and restart it; its log says why it gets no licence (journalctl -u "
          "nvidia-gridd). Azure's price includes the licence, so no token is needed. If the image "
          "has no such service, use an image with the GRID driver that Azure supports, and create "
          "the machine or node pool again.";
    } else if (facts.machine.container.runtime == "kubernetes") {
      match.cure =
          "Give the cluster's driver containers a licence: put gridd.conf (FeatureType=1 with a "
          "client configuration token) and client_configuration_token.tok into a ConfigMap of the "
          "GPU Operator's namespace. Name it in driver.licensingConfig.configMapName, set "
          "nlsEnabled=true there, and start the driver's pods again. If the licence stays away, "
          "nvidia-smi -q and the log of nvidia-gridd in the driver container say why: mostly the "
          "clock, no way to the server's port 443, or no licence left. A driver that is installed "
          "on the node itself has these files in /etc/nvidia.";
      match.command = "";
      match.terms = kAtLaunch;
    }
  });
}

// Lines of NVIDIA's vGPU manager for KVM (nvidia-vgpu-vfio.c of its kernel module): the message
// begins with the UUID or the function of the virtual GPU.
std::vector<Match> vgpu_not_started(const Facts& facts) {
  const Ids started = {"nvidia-vgpu-vfio: *: vGPU migration "};
  const Ids failed = {"nvidia-vgpu-vfio: *: start failed. status: ",
                      "nvidia-vgpu-vfio: vGPU creation failed on device "};
  const auto name_in = [](const LogHit& hit) {
    return std::optional(hit.text.substr(0, hit.text.find(": ")));
  };
  Match match;
  for (const auto& [name, hits] : standing_hits(facts.machine, failed, started, name_in))
    if (match.evidence.size() < 2)
      match.evidence.push_back(evidence("kernel log", hits.back().text));
  if (match.evidence.empty()) return {};
  return {match};
}

}  // namespace

std::vector<Cause> state_causes() {
  return {
      {.id = "fabric-not-ready",
       .title = "The NVSwitch fabric is not ready",
       .explanation = "On machines with NVSwitches, CUDA starts only after Fabric Manager has "
                      "registered every GPU.",
       .cure = "Install the Fabric Manager of exactly the driver's version, start it, and have it "
               "start at every boot. If it stops, its log says why (/var/log/fabricmanager.log).",
       .command = "systemctl restart nvidia-fabricmanager",
       .action = Action::configure,
       .terms = kByService,
       .explains = {"cuda-start-failed", "expected-gpu-count", "nvlink-down"},
       .match = fabric},
      {.id = "confidential-compute-not-ready",
       .title = "Confidential computing is not ready",
       .explanation = "The GPU is in confidential computing mode and has not been set ready, so it "
                      "takes no work.",
       .cure = "Attest the GPU with NVIDIA's verifier (nvtrust), then set it ready. Each start of "
               "the machine needs both.",
       .command = "nvidia-smi conf-compute -srs 1",
       .action = Action::configure,
       .terms = kByReload,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = confidential},
      {.id = "mig-without-instances",
       .title = "MIG is on and no instance exists",
       .explanation = "In MIG mode, work runs only on instances, and none was created.",
       .cure =
           "Create instances: profile 0 is the whole GPU, and nvidia-smi mig -lgip lists the "
           "others; then restart Kubernetes' device plugin, if there is one. Each start of the "
           "machine ends them, so have nvidia-mig-parted, or the MIG manager of the GPU operator, "
           "create them. Without MIG, turn it off (nvidia-smi -mig 0).",
       .command = "nvidia-smi mig -i {pci} -cgi 0 -C",
       .action = Action::configure,
       .terms = kByReload,
       .explains = {"cuda-start-failed", "expected-gpu-count", "hidden-by-variable"},
       .match = mig_empty},
      {.id = "compute-mode",
       .title = "The GPU's compute mode keeps others out",
       .explanation = "The compute mode allows one process at a time, or none.",
       .cure = "Set the default mode, or wait for the process that holds the GPU. Where a start "
               "script or the batch system sets the mode, change it there, too.",
       .command = "nvidia-smi -i {pci} -c DEFAULT",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"gpu-call-failed", "cuda-start-failed", "expected-gpu-count"},
       .match = mode},
      {.id = "mps-unreachable",
       .title = "CUDA cannot reach the MPS server",
       .explanation = "Pipes of NVIDIA's Multi-Process Service are here, so CUDA starts through "
                      "them, and no server answers.",
       .cure = "Start the MPS daemon as the user of the programs, with the folder that "
               "CUDA_MPS_PIPE_DIRECTORY names (else /tmp/nvidia-mps). Without MPS, unset the "
               "variable and remove that folder.",
       .command = "nvidia-cuda-mps-control -d",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"cuda-start-failed", "gpu-call-failed", "compute-mode", "expected-gpu-count"},
       .match = mps},
      {.id = "vgpu-unlicensed",
       .severity = Severity::warning,
       .title = "The virtual GPU has no licence",
       .explanation = "Without a licence a vGPU loses speed, and after a while CUDA.",
       .cure = "Read in the licence service's log why it has none: mostly the clock, no way to the "
               "server's port 443, or no licence left. /etc/nvidia/ClientConfigToken must hold the "
               "licence server's current client configuration token and no older one, and "
               "/etc/nvidia/gridd.conf the FeatureType of this vGPU (4 for a C profile). Then "
               "restart the service. A virtual machine that was cloned needs a UUID and an address "
               "(MAC) of its own.",
       .command = "journalctl -b -u nvidia-gridd; systemctl restart nvidia-gridd",
       .action = Action::configure,
       .terms = kByService,
       .explains = {"cuda-start-failed", "gpu-call-failed", "expected-gpu-count"},
       .match = unlicensed},
      {.id = "vgpu-not-started",
       .severity = Severity::warning,
       .title = "A virtual GPU did not start for its virtual machine",
       .explanation = "The host's vGPU manager refused it or did not answer. The host's own use of "
                      "the GPU is not affected.",
       .cure = "Read why in the vGPU manager's log: often a type that does not fit beside the "
               "others on this GPU, or a service that has stopped; then start the virtual "
               "machine again.",
       .command = "journalctl -b -u nvidia-vgpu-mgr",
       .action = Action::configure,
       .terms = kByReload,
       .match = vgpu_not_started},
  };
}

}  // namespace gpuready::doctor
