#include "health/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

// Memory in use that no visible process explains (another container's, say) makes a GPU busy. What
// an idle driver holds for itself is far below this; the smallest CUDA context is above it.
constexpr std::uint64_t kUnexplainedBytes = 64 * MiB;
constexpr std::uint64_t kLeastLeftToOthers = 2 * GiB;
constexpr double kWslLaunchMs = 400;  // Windows resets a GPU whose launch takes seconds

struct Refusal {
  VerdictStatus status;
  std::string reason;
};

std::optional<std::string> why_busy(const Gpu& gpu) {
  if (!gpu.processes.empty()) {
    const auto& process = gpu.processes.front();
    return fmt::format("busy: {} {} use{} it (first: pid {}{}); --busy tests what they leave free",
                       gpu.processes.size(), gpu.processes.size() == 1 ? "process" : "processes",
                       gpu.processes.size() == 1 ? "s" : "", process.pid,
                       process.name ? " " + *process.name : "");
  }
  if (gpu.memory.used_bytes.value_or(0) > kUnexplainedBytes)
    return fmt::format(
        "busy: {} of its memory is in use by processes that cannot be seen from here; "
        "--busy tests what they leave free",
        format_bytes(*gpu.memory.used_bytes));
  return std::nullopt;
}

// Why this GPU is not to be tested at all, if so.
std::optional<Refusal> refusal(const Machine& machine, const Gpu& gpu, const PlanOptions& options) {
  using enum VerdictStatus;
  if (gpu.faked) return Refusal{not_tested, "faked: it exists nowhere and cannot execute"};
  if (machine.source != "live")
    return Refusal{not_tested, "a " + machine.source + " machine: nothing can be run on it"};
  if (gpu.suspended && options.devices.empty())
    return Refusal{not_tested, "suspended: nothing wakes it that was not asked to; --device " +
                                   (gpu.pci ? gpu.pci->text() : std::to_string(gpu.index)) +
                                   " does"};
  if (gpu.vendor != Vendor::nvidia)
    return Refusal{not_supported,
                   fmt::format("{} GPUs are not tested yet: the memory test runs through "
                               "the CUDA driver",
                               to_string(gpu.vendor))};
  if (gpu.excluded.value_or(false))
    return Refusal{not_tested, "excluded by the driver's configuration (NVreg_ExcludedGpus)"};
  if (gpu.compute_mode == "prohibited")
    return Refusal{not_tested, "its compute mode is prohibited"};
  if (const auto& start = machine.nvidia.cuda_start; start && !start->ok() && start->code != 100)
    return Refusal{not_tested, fmt::format("the CUDA driver does not start: {} ({})", start->name,
                                           start->code)};
  if (const auto& outcome = machine.nvidia.cuda_outcome;
      !machine.nvidia.cuda_start && outcome && *outcome != "completed" && *outcome != "not_asked")
    return Refusal{not_tested, *outcome == "no_library"
                                   ? "libcuda.so.1 was not found"
                                   : "asking the CUDA driver ended as " + *outcome};
  if (gpu.mig_enabled.value_or(false) && gpu.mig.empty())
    return Refusal{not_tested, "MIG is on and has no instances to run on"};
  if (!gpu.uuid)
    return Refusal{not_tested, "no UUID is known for it, so no child can be given it alone"};
  if (!options.busy)
    if (const auto why = why_busy(gpu)) return Refusal{not_tested, *why};
  return std::nullopt;
}

Verdict not_run(const Gpu& gpu, Refusal why) {
  Verdict verdict;
  verdict.test = "memory";
  verdict.subject = fmt::format("GPU {}", gpu.index);
  verdict.uuid = gpu.uuid;
  if (gpu.pci) verdict.pci_address = gpu.pci->text();
  verdict.status = why.status;
  verdict.reason = std::move(why.reason);
  return verdict;
}

PlannedTest planned(const Machine& machine, const Gpu& gpu, const PlanOptions& options) {
  PlannedTest test;
  test.gpu = gpu.index;
  test.subject = fmt::format("GPU {}", gpu.index);
  test.uuid = *gpu.uuid;
  test.max_bytes = options.max_bytes;
  const auto limit = [&](std::uint64_t bytes) {
    test.max_bytes = std::min(bytes, test.max_bytes.value_or(bytes));
  };
  if (gpu.integrated) limit(machine.system.memory_available_bytes.value_or(GiB) / 4);
  if (machine.system.wsl2) {
    test.max_launch_ms = kWslLaunchMs;
    if (const auto free = gpu.memory.free_bytes) limit(*free / 10 * 9);
  }
  if (options.busy && why_busy(gpu))
    test.keep_free_bytes = std::max(kLeastLeftToOthers, gpu.memory.total_bytes.value_or(0) / 10);
  return test;
}

void add_tests(const Machine& machine, const Gpu& gpu, const PlanOptions& options, TestPlan& plan) {
  const PlannedTest whole = planned(machine, gpu, options);
  if (!gpu.mig_enabled.value_or(false)) {
    plan.run.push_back(whole);
    return;
  }
  for (const auto& instance : gpu.mig) {
    if (!instance.uuid) continue;
    PlannedTest test = whole;
    test.uuid = *instance.uuid;
    test.subject = fmt::format("GPU {} MIG {}", gpu.index, instance.name.value_or("instance"));
    plan.run.push_back(std::move(test));
  }
}

}  // namespace

bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu) {
  return std::any_of(devices.begin(), devices.end(), [&](const std::string& name) {
    if (parse_int(name) == gpu.index) return true;
    if (gpu.pci && parse_pci_address(name) == gpu.pci) return true;
    return name.size() >= 5 && gpu.uuid && gpu.uuid->starts_with(name);
  });
}

TestPlan plan_memory_tests(const Machine& machine, const PlanOptions& options) {
  TestPlan plan;
  const bool hardware = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                    [](const Gpu& gpu) { return !gpu.faked; });
  const bool cpu_named =
      std::find(options.devices.begin(), options.devices.end(), "cpu") != options.devices.end();
  plan.host_memory = machine.source == "live" && machine.fakes.empty() &&
                     (cpu_named || (!hardware && options.devices.empty()));
  for (const auto& gpu : machine.gpus) {
    if (!options.devices.empty() && !names_gpu(options.devices, gpu)) continue;
    if (auto why = refusal(machine, gpu, options))
      plan.not_run.push_back(not_run(gpu, std::move(*why)));
    else
      add_tests(machine, gpu, options, plan);
  }
  return plan;
}

}  // namespace gpuready
