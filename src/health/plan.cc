#include "health/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "health/bandwidth_plan.h"
#include "health/choose_executor.h"
#include "health/peer_plan.h"

namespace gpuready {
namespace {

// Memory in use that no visible process explains (another container's, say) makes a GPU busy. What
// an idle driver holds for itself is far below this; the smallest CUDA context is above it.
constexpr std::uint64_t kUnexplainedBytes = 64 * MiB;
constexpr std::uint64_t kLeastLeftToOthers = 2 * GiB;
constexpr double kWslLaunchMs = 400;  // Windows resets a GPU whose launch takes seconds
constexpr std::uint64_t kHostMemoryBytes = 256 * MiB;

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
  if (!options.busy)
    if (const auto why = why_busy(gpu)) return Refusal{not_tested, *why};
  return std::nullopt;
}

// A device that may be tested: a GPU, a MIG instance, or the host itself.
struct Target {
  std::string subject;
  DeviceChoice device;
  std::optional<std::string> pci_address;
  TestOptions options;
};

Verdict not_run(const HealthTest& test, const Gpu& gpu, const Refusal& why) {
  Verdict verdict;
  verdict.test = test.name;
  verdict.subject = fmt::format("GPU {}", gpu.index);
  verdict.uuid = gpu.uuid;
  if (gpu.pci) verdict.pci_address = gpu.pci->text();
  verdict.status = why.status;
  verdict.reason = why.reason;
  return verdict;
}

// How far a test of this GPU may go.
TestOptions limited(const Machine& machine, const Gpu& gpu, const PlanOptions& options) {
  TestOptions test = options.test;
  const auto limit = [&](std::uint64_t bytes) {
    test.max_bytes = std::min(bytes, test.max_bytes.value_or(bytes));
  };
  if (gpu.integrated) limit(machine.system.memory_available_bytes.value_or(GiB) / 4);
  if (machine.system.wsl2) {
    test.max_launch_ms = kWslLaunchMs;
    if (const auto free = gpu.memory.free_bytes) limit(*free / 10 * 9);
  }
  if (options.busy && why_busy(gpu))
    test.reserve_free_bytes = std::max(kLeastLeftToOthers, gpu.memory.total_bytes.value_or(0) / 10);
  return test;
}

std::vector<Target> targets_of(const Machine& machine, const Gpu& gpu, const DeviceChoice& device,
                               const PlanOptions& options) {
  Target whole{fmt::format("GPU {}", gpu.index), device,
               gpu.pci ? std::optional(gpu.pci->text()) : std::nullopt,
               limited(machine, gpu, options)};
  if (!gpu.mig_enabled.value_or(false)) return {whole};
  std::vector<Target> instances;
  for (const auto& instance : gpu.mig) {
    if (!instance.uuid) continue;
    Target target = whole;
    target.device.id = *instance.uuid;
    target.subject = fmt::format("GPU {} MIG {}", gpu.index, instance.name.value_or("instance"));
    instances.push_back(std::move(target));
  }
  return instances;
}

Target host_target(const PlanOptions& options) {
  Target target{"host memory", {"cpu"}, std::nullopt, options.test};
  target.options.max_bytes = options.test.max_bytes.value_or(kHostMemoryBytes);
  target.options.copy_traffic_bytes = 2 * *target.options.max_bytes;
  return target;
}

std::vector<const HealthTest*> asked_tests(const PlanOptions& options) {
  const auto names = options.tests.empty() ? tests_of(options.test.level) : options.tests;
  std::vector<const HealthTest*> tests;
  for (const HealthTest& test : health_tests())
    if (std::find(names.begin(), names.end(), test.name) != names.end()) tests.push_back(&test);
  return tests;
}

bool runs_on(const HealthTest& test, const DeviceChoice& device) {
  return std::find(test.executors.begin(), test.executors.end(), device.executor) !=
         test.executors.end();
}

bool host_is_tested(const Machine& machine, const PlanOptions& options) {
  const bool hardware = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                    [](const Gpu& gpu) { return !gpu.faked; });
  const bool named =
      std::find(options.devices.begin(), options.devices.end(), "cpu") != options.devices.end();
  return machine.source == "live" && machine.fakes.empty() &&
         (named || (!hardware && options.devices.empty()));
}

// The wave of a test of single devices.
std::vector<TestJob> single_jobs(const HealthTest& test, const std::vector<Target>& targets) {
  std::vector<TestJob> jobs;
  for (const Target& target : targets)
    if (runs_on(test, target.device))
      jobs.push_back({&test, target.subject, {target.device}, target.pci_address, target.options});
  return jobs;
}

}  // namespace

bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu) {
  if (std::all_of(devices.begin(), devices.end(),
                  [](const std::string& name) { return is_executor_name(name) && name != "cpu"; }))
    return !devices.empty();
  return std::any_of(devices.begin(), devices.end(), [&](const std::string& name) {
    if (parse_int(name) == gpu.index) return true;
    if (gpu.pci && parse_pci_address(name) == gpu.pci) return true;
    return name.size() >= 5 && gpu.uuid && gpu.uuid->starts_with(name);
  });
}

TestPlan plan_tests(const Machine& machine, const PlanOptions& options) {
  TestPlan plan;
  const auto tests = asked_tests(options);
  std::vector<Target> targets;
  std::vector<UntestedGpu> untested;
  for (const auto& gpu : machine.gpus) {
    if (!options.devices.empty() && !names_gpu(options.devices, gpu)) continue;
    auto why = refusal(machine, gpu, options);
    Result<DeviceChoice> device = DeviceChoice{};
    if (!why) {
      device = choose_executor(machine, gpu, forced_executor(options.devices));
      if (!device)
        why = Refusal{device.error().kind == ErrorKind::unsupported ? VerdictStatus::not_supported
                                                                    : VerdictStatus::not_tested,
                      device.error().message};
    }
    for (const HealthTest* test : tests) {
      if (test->devices > 1) continue;
      if (why)
        plan.not_run.push_back(not_run(*test, gpu, *why));
      else if (!runs_on(*test, *device))
        plan.not_run.push_back(not_run(
            *test, gpu,
            {VerdictStatus::not_supported,
             fmt::format("the {} test does not run through {}", test->name, device->executor)}));
    }
    if (why) untested.push_back({&gpu, why->reason});
    if (!why)
      for (Target& target : targets_of(machine, gpu, *device, options))
        targets.push_back(std::move(target));
  }
  if (host_is_tested(machine, options)) targets.push_back(host_target(options));
  for (const HealthTest* test : tests) {
    auto jobs = single_jobs(*test, targets);
    std::vector<std::vector<TestJob>> waves;
    if (test->devices > 1) {
      const bool named = !options.tests.empty();
      auto pairs = plan_pairs(machine, *test, jobs, untested, named);
      waves = std::move(pairs.waves);
      plan.not_run.insert(plan.not_run.end(), pairs.not_run.begin(), pairs.not_run.end());
    } else if (test->name == "bandwidth") {
      waves = bandwidth_waves(machine, std::move(jobs));
    } else if (!jobs.empty()) {
      waves.push_back(std::move(jobs));
    }
    for (auto& wave : waves) plan.waves.push_back(std::move(wave));
  }
  return plan;
}

}  // namespace gpuready
