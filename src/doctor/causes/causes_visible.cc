// Variables that hide GPUs, or make ROCm take one GPU for another.
// CUDA_VISIBLE_DEVICES: machine/nvidia/cuda_visibility.h. ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES
// and HSA_OVERRIDE_GFX_VERSION: ROCm documentation, "GPU isolation techniques" and "Environment
// variables"; HIP reads CUDA_VISIBLE_DEVICES too.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "machine/nvidia/cuda_visibility.h"

namespace gpuready::doctor {
namespace {

std::vector<Match> cuda_hidden(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  const auto& variable = machine.visibility.cuda_visible_devices;
  if (!variable || !any_gpu(machine, Vendor::nvidia)) return {};
  const auto seen = cuda_visibility(machine);
  const bool none = failed_start(nvidia.cuda_start, {100}) ||
                    (nvidia.cuda_start && nvidia.cuda_start->ok() && nvidia.cuda_device_count == 0);
  const bool fewer = nvidia.cuda_device_count && nvidia.nvml_device_count &&
                     *nvidia.cuda_device_count < *nvidia.nvml_device_count;
  // CUDA shows a process one instance of MIG at most, whatever the variable names.
  if (!none && !seen.visible_instances.empty()) return {};
  // CUDA that sees nothing although the variable names a GPU has another reason.
  if (none ? !seen.visible.empty() || !seen.visible_instances.empty() : !fewer) return {};
  Match match;
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia || not_given(machine, gpu)) continue;
    if (!none && gpu.visible_to_cuda.value_or(true)) continue;
    match.gpus.push_back(gpu.index);
    if (gpu.pci) match.pci.push_back(*gpu.pci);
  }
  match.evidence.push_back(evidence("environment", "CUDA_VISIBLE_DEVICES=" + *variable));
  if (seen.stopped_at)
    match.evidence.push_back(
        evidence("CUDA_VISIBLE_DEVICES", "\"" + *seen.stopped_at + "\": " + seen.reason));
  if (none) {
    if (nvidia.cuda_start) match.evidence.push_back(evidence(*nvidia.cuda_start));
    // Slurm's word to a job without GPUs (src/interfaces/gres.c), which must not take others' GPUs.
    if (*variable == "NoDevFiles") {
      match.title = "Slurm gave this job no GPU";
      match.explanation = "Slurm hides all GPUs from a job that did not ask for any.";
      match.cure = "Ask Slurm for GPUs when the job is started.";
      match.command = "srun --gpus=1 PROGRAM";
    }
    return {match};
  }
  match.evidence.push_back(evidence(
      "cuDeviceGetCount()", fmt::format("{} of the {} GPUs that NVML lists",
                                        *nvidia.cuda_device_count, *nvidia.nvml_device_count)));
  match.title = fmt::format("CUDA_VISIBLE_DEVICES shows {} of {} GPUs", *nvidia.cuda_device_count,
                            *nvidia.nvml_device_count);
  if (seen.stopped_at) {
    match.severity = Severity::warning;
    match.explanation =
        "The variable names a GPU that does not exist, which hides it and every one named after "
        "it.";
    match.cure =
        fmt::format("Take \"{}\" out of the variable where it is set, or name a GPU that exists.",
                    quote(*seen.stopped_at));
  } else {
    match.severity = Severity::info;
    match.standing = Standing::chosen;
  }
  return {match};
}

struct AmdVariable {
  const char* name;
  std::optional<std::string> Visibility::* field;
};
constexpr AmdVariable kAmdVariables[] = {
    {"ROCR_VISIBLE_DEVICES", &Visibility::rocr_visible_devices},
    {"HIP_VISIBLE_DEVICES", &Visibility::hip_visible_devices},
    {"CUDA_VISIBLE_DEVICES", &Visibility::cuda_visible_devices},
    {"GPU_DEVICE_ORDINAL", &Visibility::gpu_device_ordinal},
};

// How many GPUs a list of numbers and "GPU-<unique id>" shows, and the entry that ends it. ROCm
// ends at an entry that it does not know.
struct Shown {
  std::size_t count = 0;
  std::optional<std::string> stopped_at;
};
Shown shown_by(std::string_view list, const std::vector<const Gpu*>& gpus) {
  Shown shown;
  for (const auto entry : split(list, ",")) {
    const auto word = trim(entry);
    const auto number = parse_uint(word);
    const auto id = after_prefix(word, "GPU-");
    const bool known =
        number ? *number < gpus.size()
               : id && std::any_of(
                           gpus.begin(), gpus.end(),
                           [&](const Gpu* gpu) { return contains(gpu->uuid.value_or(""), *id); });
    if (!known) {
      shown.stopped_at = std::string(word);
      return shown;
    }
    ++shown.count;
  }
  return shown;
}

std::vector<Match> rocm_hidden(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<const Gpu*> gpus;
  for (const auto& gpu : machine.gpus)
    if (gpu.vendor == Vendor::amd && !gpu.faked && gpu.driver == "amdgpu") gpus.push_back(&gpu);
  std::vector<Match> matches;
  for (const auto& variable : kAmdVariables) {
    const auto& value = machine.visibility.*variable.field;
    if (!value || gpus.empty()) continue;
    const auto shown = shown_by(*value, gpus);
    if (shown.count >= gpus.size()) continue;
    Match match = about_all(machine, Vendor::amd);
    match.evidence.push_back(evidence("environment", fmt::format("{}={}", variable.name, *value)));
    if (const auto& start = machine.amd.start; start && !start->ok())
      match.evidence.push_back(evidence(*start));
    match.values.emplace_back("variable", variable.name);
    match.command = "unset {variable}";
    if (shown.count == 0) {
      match.title = fmt::format("{} hides every AMD GPU", variable.name);
    } else {
      match.title =
          fmt::format("{} shows {} of {} AMD GPUs", variable.name, shown.count, gpus.size());
      match.severity = shown.stopped_at ? Severity::warning : Severity::info;
      match.standing = shown.stopped_at ? Standing::present : Standing::chosen;
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> hidden(const Facts& facts) {
  auto matches = cuda_hidden(facts);
  for (auto& match : rocm_hidden(facts)) matches.push_back(std::move(match));
  return matches;
}

std::vector<Match> overridden(const Facts& facts) {
  const auto target = override_target(facts.machine);
  if (!target) return {};
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus) {
    if (gpu.vendor != Vendor::amd || !gpu.gfx_target) continue;
    const auto own = gpu.gfx_target->substr(0, gpu.gfx_target->find(':'));
    if (own == *target) continue;
    Match match = about(gpu);
    match.evidence.push_back(
        evidence("environment",
                 "HSA_OVERRIDE_GFX_VERSION=" + *facts.machine.visibility.hsa_override_gfx_version));
    match.evidence.push_back(evidence("KFD topology", own));
    match.title = fmt::format("ROCm is made to take {} for {}", quote(own), quote(*target));
    // The last two digits are minor version and stepping; the rest is the generation.
    if (own.substr(0, own.size() - 2) == target->substr(0, target->size() - 2))
      match.severity = Severity::info;
    const auto& targets = facts.machine.amd.rocblas_targets;
    if (match.severity == Severity::info && std::ranges::count(targets, *target) > 0 &&
        std::ranges::count(targets, own) == 0) {
      match.explanation = fmt::format(
          "The installed ROCm has no code for {}, and that of {} runs on it, without AMD's "
          "support.",
          quote(own), quote(*target));
      match.cure =
          "Leave it so while it works; a release of ROCm with code for the GPU needs no "
          "such setting.";
      match.command = "";
      match.action = Action::none;
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<Cause> visible_causes() {
  return {
      {.id = "hidden-by-variable",
       .title = "CUDA_VISIBLE_DEVICES hides every GPU",
       .explanation = "The variable selects which GPUs programs see. Empty hides all; an unknown "
                      "entry hides itself and all after it.",
       .cure =
           "Unset the variable, or name GPUs that exist; then change it where it is set, too (a "
           "profile, a service, a container's or a job's start), and start the program again.",
       .command = "unset CUDA_VISIBLE_DEVICES",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"cuda-start-failed", "rocm-start-failed", "expected-gpu-count"},
       .match = hidden},
      {.id = "gfx-override",
       .severity = Severity::warning,
       .title = "ROCm is made to take the GPU for another",
       .explanation = "HSA_OVERRIDE_GFX_VERSION makes ROCm run another GPU's code. Within one "
                      "generation this mostly works, and AMD does not support it; across "
                      "generations programs crash or compute wrongly.",
       .cure = "Unset the variable, or name a target of the GPU's own generation.",
       .command = "unset HSA_OVERRIDE_GFX_VERSION",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"rocm-start-failed"},
       .match = overridden},
  };
}

}  // namespace gpuready::doctor
