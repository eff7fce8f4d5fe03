// AMD: atomics, supported targets, versions; and Vulkan of any vendor.
// Log line: drivers/gpu/drm/amd/amdkfd of Linux ("skipped device ..., PCI rejects atomics").
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/gpu_use.h"

namespace gpuready::doctor {
namespace {

// amdgpu-dkms by the ROCm release that it came with, from AMD's release notes and repository.
struct Release {
  std::string_view module, rocm;
};
constexpr Release kReleases[] = {
    {"5.18.13", "5.4"}, {"6.0.5", "5.5"},   {"6.1.5", "5.6"},  {"6.2.4", "5.7"},
    {"6.3.6", "6.0"},   {"6.7.0", "6.1"},   {"6.8.5", "6.2"},  {"6.10.5", "6.3"},
    {"6.12.12", "6.4"}, {"6.14.14", "7.0"}, {"6.16.6", "7.1"},
};

// The ROCm release that a module's version belongs to: the newest that is not newer.
std::optional<std::string> release_of(const std::string& module) {
  const auto version = parse_version(module);
  if (!version) return std::nullopt;
  std::optional<std::string> found;
  for (const auto& release : kReleases)
    if (*parse_version(release.module) <= *version) found = std::string(release.rocm);
  return found;
}

bool in_topology(const Machine& machine, const PciDevice& device) {
  const auto* gpu = machine.find_gpu(device.address);
  return gpu != nullptr && has_source(*gpu, "kfd");
}

std::vector<Match> atomics(const Facts& facts) {
  const auto devices = gpus_on_bus(facts.machine, Vendor::amd);
  std::vector<Match> matches;
  for (const auto& hit : log_hits(facts.machine, {"amdgpu: ...PCI rejects atomics"})) {
    Match match;
    bool equal_listed = false;
    // The line gives vendor and device, not the address: KFD lists the equal GPUs that it took.
    for (const auto* device : devices)
      if (contains(hit.text, fmt::format("{:04x}:{:04x}", device->vendor_id, device->device_id))) {
        if (in_topology(facts.machine, *device)) {
          equal_listed = true;
          continue;
        }
        Match found = about(facts.machine, device->address);
        match.gpus.insert(match.gpus.end(), found.gpus.begin(), found.gpus.end());
        match.pci.insert(match.pci.end(), found.pci.begin(), found.pci.end());
      }
    if (equal_listed && match.pci.empty()) continue;
    match.evidence.push_back(evidence("kernel log", hit.text));
    if (equal_listed)
      match.cure =
          "Move this GPU to a slot that the processor itself provides, as that of the equal GPU "
          "which ROCm uses: some boards share that slot's lanes out to two (x8/x8). Else use "
          "another board, or a GPU that does without atomics (gfx9, which is Vega, or newer). "
          "Until then, compute on the GPUs that ROCm lists.";
    // "494<509": the version of its firmware, and the first that does without; 0 where none does.
    const auto needed =
        parse_uint(trim(std::string_view(hit.text).substr(hit.text.rfind('<') + 1)));
    if (needed.value_or(0) > 0) {
      match.title = "The AMD GPU's firmware is too old for a slot without PCI Express atomics";
      match.cure = fmt::format(
          "Install newer firmware files of the GPU (linux-firmware; amdgpu-dkms-firmware beside "
          "amdgpu-dkms), rebuild the initramfs and reboot: from version {} of the MEC on the GPU "
          "does without atomics. Or move the GPU to a slot that the processor itself provides.",
          *needed);
      match.command = "{do:install-firmware} && {do:rebuild-initramfs}";
      match.action = Action::configure;
      match.terms = kByReboot;
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

// amdgpu drives it, and the kernel's list of GPUs for ROCm lacks it (kgd2kfd_probe() of Linux).
// Without ROCm it is not missed; beside a GPU that is listed it may be for displays.
std::vector<Match> left_out_by_kfd(const Facts& facts) {
  const auto& machine = facts.machine;
  const bool hidden = std::ranges::any_of(
      machine.unseen, [](const Unseen& unseen) { return unseen.what.starts_with("KFD "); });
  std::vector<Match> matches;
  const auto* kfd = node(machine, "/dev/kfd");
  if (!machine.amd.rocm_version || !machine.amd.kfd_present || in_container(machine) || hidden ||
      (kfd && !kfd->exists))  // device-nodes-missing
    return matches;
  const bool others = std::ranges::any_of(machine.gpus, [](const Gpu& gpu) {
    return gpu.vendor == Vendor::amd && has_source(gpu, "kfd");
  });
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::amd || gpu.faked || gpu.driver != "amdgpu" || has_source(gpu, "kfd"))
      continue;
    Match match = about(gpu);
    if (others || gpu.integrated) match.severity = Severity::info;
    match.title = "The kernel's driver for ROCm (KFD) does not know this GPU";
    match.explanation =
        "amdgpu drives the GPU for displays, Vulkan and OpenCL; ROCm sees only GPUs that KFD "
        "lists, and this one is not among them.";
    match.cure =
        "Use a GPU that ROCm supports; for one that is newer than this kernel, install a newer "
        "kernel or amdgpu-dkms.";
    match.evidence.push_back(evidence("/sys/class/kfd/kfd/topology/nodes", "no node of this GPU"));
    for (const auto& hit : log_hits(machine, {"amdgpu: ...not supported in kfd"}))
      if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", hit.text));
    matches.push_back(std::move(match));
  }
  return matches;
}

// Whose code runs on their relatives, as people found out; AMD does not support that.
struct StandIn {
  std::string_view family, target, version;
};
constexpr StandIn kStandIns[] = {{"gfx103", "gfx1030", "10.3.0"},
                                 {"gfx110", "gfx1100", "11.0.0"},
                                 {"gfx90c", "gfx900", "9.0.0"}};

std::vector<Match> unsupported_target(const Facts& facts) {
  const auto& targets = facts.machine.amd.rocblas_targets;
  std::vector<Match> matches = left_out_by_kfd(facts);
  if (targets.empty()) return matches;
  for (const auto& gpu : facts.machine.gpus) {
    if (gpu.vendor != Vendor::amd || !gpu.gfx_target) continue;
    const std::string target = gpu.gfx_target->substr(0, gpu.gfx_target->find(':'));
    if (std::find(targets.begin(), targets.end(), target) != targets.end()) continue;
    Match match = about(gpu);
    match.title = fmt::format("The installed ROCm has no code for {}", quote(target));
    match.evidence.push_back(evidence("KFD topology", target));
    match.evidence.push_back(evidence("rocBLAS library", "built for " + join(targets, ", ")));
    const auto stand_in = override_target(facts.machine);
    if (stand_in && std::ranges::count(targets, *stand_in) > 0) continue;  // told as gfx-override
    for (const auto& row : kStandIns)
      if (target.starts_with(row.family) && std::ranges::count(targets, row.target) > 0)
        match.cure = fmt::format(
            "Set HSA_OVERRIDE_GFX_VERSION={} in the environment of the programs: the code of {} "
            "runs on this GPU, without AMD's support. Else install a ROCm release, or a build of "
            "the program, that has code for {}.",
            row.version, row.target, quote(target));
    if (gpu.integrated)
      match.severity = Severity::info;  // beside a discrete GPU that does the work
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> rocm_too_new(const Facts& facts) {
  const auto& amd = facts.machine.amd;
  if (!amd.rocm_version || !any_gpu(facts.machine, Vendor::amd)) return {};
  const bool stuck = amd.outcome == "hung" || amd.outcome == "timed_out";
  // A start that may not open the node tells nothing of versions.
  const auto* kfd = node(facts.machine, "/dev/kfd");
  const bool closed = kfd && kfd->openable == false;
  const bool refused = amd.start && !amd.start->ok() && !closed;
  if (!stuck && !refused) return {};
  const auto rocm = parse_version(*amd.rocm_version);
  const auto belongs = amd.module_version ? release_of(*amd.module_version) : std::nullopt;
  const auto driver = belongs ? parse_version(*belongs) : std::nullopt;
  // Without the module's version (the kernel's own amdgpu) a start that hangs is the sign.
  // AMD supports a driver of up to two releases before ROCm's ("User and kernel-space support
  // matrix"); 6.4 was the last before 7.0.
  const auto place = [](const Version& version) {
    return 5 * version.major() + (version.parts.size() > 1 ? version.parts[1] : 0);
  };
  const bool newer = rocm && driver && place(*rocm) > place(*driver) + 2;
  if (!(newer || (stuck && !driver))) return {};
  Match match = about_all(facts.machine, Vendor::amd);
  match.evidence.push_back(evidence("ROCm", *amd.rocm_version));
  match.evidence.push_back(evidence(
      "/sys/module/amdgpu/version",
      amd.module_version
          ? *amd.module_version + (belongs ? fmt::format(" (that of ROCm {})", *belongs) : "")
          : "none: the kernel's own driver, Linux " + facts.machine.system.kernel_release));
  if (stuck)
    match.evidence.push_back(evidence(amd.stopped_in.value_or("ROCm"), *amd.outcome));
  else
    match.evidence.push_back(evidence(*amd.start));
  return {match};
}

std::vector<Match> rocm_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& amd = machine.amd;
  if (!amd.start || amd.start->ok()) return {};
  const auto* dxg = node(machine, "/dev/dxg");
  // Windows shows its GPUs on no bus: there, who installed ROCm means one.
  const bool in_wsl = machine.system.wsl2 && dxg && dxg->exists && !nvml_started(machine);
  if (!any_gpu(machine, Vendor::amd) && !in_wsl) return {};
  Match match = about_all(machine, Vendor::amd);
  match.evidence.push_back(evidence(*amd.start));
  if (in_wsl) {
    match.cure =
        "Install AMD's newest driver in Windows, and the ROCm release for WSL that names this "
        "GPU (with librocdxg); then wsl --shutdown.";
    match.action = Action::configure;
  }
  return {match};
}

std::vector<Match> software_vulkan(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& devices = machine.vulkan.devices;
  if (machine.vulkan.outcome != "completed" || devices.empty()) return {};
  if (!std::all_of(devices.begin(), devices.end(), [](const auto& d) { return d.software(); }))
    return {};
  Match match;
  bool computes = false;
  for (const auto& gpu : machine.gpus) {
    if (gpu.faked || gpu.suspended) continue;
    match.gpus.push_back(gpu.index);
    if (gpu.pci) match.pci.push_back(*gpu.pci);
    computes |= gpu.vendor == Vendor::nvidia && machine.nvidia.cuda_start &&
                machine.nvidia.cuda_start->ok();
    computes |= gpu.vendor == Vendor::amd && machine.amd.start && machine.amd.start->ok();
  }
  if (match.gpus.empty()) return {};
  if (computes) match.severity = Severity::info;  // CUDA or ROCm is the way to this GPU, and works
  for (const auto& device : devices)
    match.evidence.push_back(evidence("vkEnumeratePhysicalDevices", device.name + " (CPU)"));
  if (const auto& capabilities = machine.visibility.nvidia_driver_capabilities)
    match.evidence.push_back(
        evidence("environment", "NVIDIA_DRIVER_CAPABILITIES=" + *capabilities));
  return {match};
}

}  // namespace

std::vector<Cause> amd_causes() {
  return {
      {.id = "amd-no-atomics",
       .title = "The slot of the AMD GPU lacks PCI Express atomics",
       .explanation = "ROCm leaves out a GPU whose path to the processor does not route atomic "
                      "operations.",
       .cure =
           "Move the GPU to a slot that the processor itself provides, not one of the chipset, a "
           "riser or Thunderbolt. In a virtual machine, put it behind a root port of its own "
           "(pcie-root-port, machine q35, QEMU from 8.1 on). Processors before Haswell and Ryzen "
           "have no slot with atomics: use another machine, or a GPU that does without (gfx9, "
           "which is Vega, or newer).",
       .action = Action::replace,
       .own_cure = true,
       .explains = {"gpu-not-listed", "rocm-start-failed", "device-nodes-missing",
                    "amd-target-unsupported", "expected-gpu-count"},
       .match = atomics},
      {.id = "rocm-newer-than-driver",
       .title = "ROCm is newer than the kernel driver",
       .explanation = "ROCm's user space speaks to a kernel driver that is older than what it "
                      "supports, and does not start.",
       .cure =
           "Install the amdgpu driver of this ROCm release and reboot, or install an older ROCm.",
       .command = "{do:install-amdgpu-dkms}",
       .action = Action::configure,
       .terms = kByReboot,
       .in_container = {"Use an image with the ROCm of the host's driver or an older one, or have "
                        "the host's driver updated (amdgpu-dkms of this ROCm release)."},
       .explains = {"driver-hung", "probe-timed-out", "rocm-start-failed", "expected-gpu-count"},
       .match = rocm_too_new},
      {.id = "amd-target-unsupported",
       .title = "The installed ROCm has no code for this GPU",
       .explanation = "ROCm's libraries carry kernels for certain GPUs only, and this one is not "
                      "among them.",
       .cure = "Install a ROCm release that supports this GPU, or use another GPU.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"gpu-not-listed", "rocm-start-failed"},
       .match = unsupported_target},
      {.id = "rocm-start-failed",
       .title = "ROCm does not start",
       .explanation = "ROCm's runtime answered its start with an error.",
       .cure = "Reinstall ROCm in a release that supports this kernel driver.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"expected-gpu-count"},
       .match = rocm_failed},
      {.id = "vulkan-software-only",
       .severity = Severity::warning,
       .title = "Vulkan sees no GPU, only software",
       .explanation = "A GPU is here, and Vulkan lists only a renderer that runs on the CPU: the "
                      "GPU's Vulkan driver or its manifest (ICD) is missing.",
       .cure = "Install the GPU's Vulkan driver: Mesa's for AMD and Intel (mesa-vulkan-drivers; "
               "vulkan-radeon or vulkan-intel on Arch), for NVIDIA the libraries of the loaded "
               "version (libnvidia-gl). In a container of NVIDIA's toolkit, add graphics to "
               "NVIDIA_DRIVER_CAPABILITIES.",
       .action = Action::configure,
       .terms = kAsRoot,
       .match = software_vulkan},
  };
}

}  // namespace gpuready::doctor
