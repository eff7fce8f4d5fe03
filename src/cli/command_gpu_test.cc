#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/gpu_test_text.h"
#include "cli/health_tests.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

// Enough to touch every memory channel of any GPU, and little enough to end within a second.
constexpr std::uint64_t kBytesPerGpu = 1 * GiB;

struct Options {
  Globals globals;
  bool busy = false;
};

// A verdict as the contract's "Error code: %d (%s)". The code is ours when no driver gave one.
std::optional<GpuTestFailure> failure_of(const Machine& machine, const Gpu& gpu,
                                         const std::vector<Verdict>& verdicts) {
  bool tested = false;
  for (const auto& verdict : verdicts) {
    const bool same = verdict.uuid == gpu.uuid ||
                      (verdict.pci_address && gpu.pci && *verdict.pci_address == gpu.pci->text());
    if (!same) continue;
    if (verdict.status != VerdictStatus::passed)
      return GpuTestFailure{static_cast<int>(verdict.status), verdict.reason};
    tested = true;
  }
  if (tested) return std::nullopt;
  const auto& start = machine.nvidia.cuda_start;
  if (start && !start->ok()) return GpuTestFailure{start->code, start->name};
  return GpuTestFailure{static_cast<int>(VerdictStatus::not_tested), "not tested"};
}

std::optional<int> cuda_version_number(const Machine& machine) {
  const auto version =
      machine.nvidia.cuda_version ? parse_version(*machine.nvidia.cuda_version) : std::nullopt;
  if (!version || version->parts.size() < 2) return std::nullopt;
  return version->parts[0] * 1000 + version->parts[1] * 10;
}

GpuTestFailure cuda_failure(const Machine& machine) {
  const auto& nvidia = machine.nvidia;
  if (nvidia.cuda_start && !nvidia.cuda_start->ok())
    return {nvidia.cuda_start->code, nvidia.cuda_start->name};
  return {static_cast<int>(Exit::unknown),
          "the CUDA driver was not reached: " + nvidia.cuda_outcome.value_or("no driver here")};
}

std::optional<std::string> nvml_failure(const Machine& machine) {
  const auto& nvidia = machine.nvidia;
  if (nvidia.nvml_start)
    return nvidia.nvml_start->ok() ? std::nullopt : std::optional(nvidia.nvml_start->name);
  return "NVML was not reached: " + nvidia.nvml_outcome.value_or("no NVIDIA driver here");
}

// The GPUs as NVML counts them: by its own index. One whose handle NVML refuses has no UUID.
std::vector<const Gpu*> by_nvml_index(const Machine& machine) {
  std::vector<const Gpu*> gpus;
  for (const auto& gpu : machine.gpus)
    if (gpu.vendor == Vendor::nvidia && !gpu.faked) gpus.push_back(&gpu);
  std::sort(gpus.begin(), gpus.end(), [](const Gpu* a, const Gpu* b) {
    const auto order = [](const Gpu& gpu) {
      return std::pair(gpu.nvml_index.value_or(INT32_MAX), gpu.index);
    };
    return order(*a) < order(*b);
  });
  return gpus;
}

GpuTestGpu describe(const Machine& machine, const Gpu& gpu, const std::vector<Verdict>& verdicts) {
  GpuTestGpu told;
  told.name = gpu.name;
  told.uuid = gpu.uuid.value_or("unknown");
  if (!gpu.nvml_index) {
    told.handle_failure =
        gpu.errors.empty()
            ? GpuTestFailure{static_cast<int>(Exit::unknown), "NVML does not list it"}
            : GpuTestFailure{gpu.errors.front().code, gpu.errors.front().name};
    return told;
  }
  told.failure = failure_of(machine, gpu, verdicts);
  return told;
}

int run(const Options& options) {
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  const auto machine = inspect_as_asked(**host, options.globals, {.full = true});
  if (!machine) return complain(machine.error());
  PlanOptions tests;
  tests.tests = {"memory"};
  tests.survey.busy = options.busy;
  tests.survey.test.max_bytes = kBytesPerGpu;
  std::vector<Verdict> verdicts;
  if (!machine->gpus.empty()) verdicts = run_health_tests(*machine, tests, true);

  GpuTestResult result;
  result.kernel_release = machine->system.kernel_release;
  result.cuda_version = cuda_version_number(*machine);
  result.cuda_failure = cuda_failure(*machine);
  result.nvml_failure = nvml_failure(*machine);
  for (const Gpu* gpu : by_nvml_index(*machine))
    result.gpus.push_back(describe(*machine, *gpu, verdicts));
  const std::string text = gpu_test_text(result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return static_cast<int>(gpu_test_passed(result) ? Exit::ok : Exit::unhealthy);
}

}  // namespace

void declare_gpu_test(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  command.add({
      {.name = "--replay",
       .value = &options->globals.replay,
       .help = "Read a recording instead of this machine (nothing is tested)",
       .type = "FILE"},
      {.name = "--fake",
       .value = &options->globals.fake,
       .help = "Claim backends for tests",
       .type = "SPEC"},
      timeout_option(options->globals),
      {.name = "--busy", .value = &options->busy, .help = "Test GPUs that others use, too"},
  });
}

}  // namespace gpuready::cli
