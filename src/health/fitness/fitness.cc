#include "health/fitness/fitness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "machine/system/container.h"

namespace gpuready {
namespace {

struct NumberVariable {
  const char* name;
  double FitnessLimits::* field;
  double least, most;
};
constexpr NumberVariable kVariables[] = {
    {"RUNPOD_MIN_MEMORY_GB", &FitnessLimits::min_memory_gib, 0, 1e6},
    {"RUNPOD_MIN_DISK_PERCENT", &FitnessLimits::min_disk_percent, 0, 100},
    {"RUNPOD_NETWORK_CHECK_TIMEOUT", &FitnessLimits::network_timeout_s, 0.001, 3600},
    {"RUNPOD_GPU_BENCHMARK_TIMEOUT", &FitnessLimits::benchmark_limit_s, 0.001, 3600},
};

Verdict begin(std::string test) {
  Verdict verdict;
  verdict.test = std::move(test);
  verdict.subject = "host";
  verdict.executor = "host";
  return verdict;
}

void judge(Verdict& verdict, Metric metric, std::string passed, std::string failed) {
  const bool good = metric.value >= *metric.threshold;
  verdict.status = good ? VerdictStatus::passed : VerdictStatus::failed;
  verdict.reason = good ? std::move(passed) : std::move(failed);
  verdict.metrics.push_back(std::move(metric));
}

}  // namespace

Result<FitnessLimits> fitness_limits(Host& host) {
  FitnessLimits limits;
  for (const auto& variable : kVariables) {
    const auto text = host.environment(variable.name);
    if (!text || trim(*text).empty()) continue;
    const auto value = parse_double(*text);
    if (!value || *value < variable.least || *value > variable.most)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}={}: give a number from {} to {}", variable.name, printable(*text),
                              variable.least, variable.most));
    limits.*variable.field = *value;
  }
  if (const auto text = host.environment("RUNPOD_MIN_CUDA_VERSION"); text && !trim(*text).empty()) {
    if (!parse_version(*text))
      return fail(
          ErrorKind::bad_input,
          fmt::format("RUNPOD_MIN_CUDA_VERSION={}: give a version such as 12.4", printable(*text)));
    limits.min_cuda_version = trim(*text);
  }
  const auto is_true = [&](const char* name) {
    return equals_ignore_case(trim(host.environment(name).value_or("")), "true");
  };
  limits.skip_gpus = is_true("RUNPOD_SKIP_GPU_CHECK");
  limits.skip_system = is_true("RUNPOD_SKIP_AUTO_SYSTEM_CHECKS");
  return limits;
}

Verdict memory_fitness(const Machine& machine, const FitnessLimits& limits) {
  Verdict verdict = begin("host-memory");
  const auto available = available_memory_bytes(machine);
  std::string within = "of the machine";
  if (available != machine.system.memory_available_bytes)
    within = "within the cgroup's limit of " + format_bytes(*machine.container.memory_limit_bytes);
  if (!available) {
    verdict.status = VerdictStatus::inconclusive;
    verdict.reason = "neither /proc/meminfo nor the cgroup says how much memory is available";
    return verdict;
  }
  const auto said = fmt::format("{} available {}", format_bytes(*available), within);
  judge(verdict,
        {"available_memory", static_cast<double>(*available), "B",
         limits.min_memory_gib * static_cast<double>(GiB), "RUNPOD_MIN_MEMORY_GB"},
        said, fmt::format("{}, at least {} GiB is required", said, limits.min_memory_gib));
  return verdict;
}

Verdict disk_fitness(const Result<FileSystemSpace>& root, const FitnessLimits& limits) {
  Verdict verdict = begin("disk");
  if (!root || root->total_bytes == 0) {
    verdict.status = VerdictStatus::inconclusive;
    verdict.reason = root ? "the file system of / reports no size" : root.error().message;
    return verdict;
  }
  const double percent =
      100.0 * static_cast<double>(root->available_bytes) / static_cast<double>(root->total_bytes);
  const auto said = fmt::format("{} of {} free on / ({:.1f}%)", format_bytes(root->available_bytes),
                                format_bytes(root->total_bytes), percent);
  judge(verdict, {"free_disk", percent, "%", limits.min_disk_percent, "RUNPOD_MIN_DISK_PERCENT"},
        said, fmt::format("{}, at least {}% is required", said, limits.min_disk_percent));
  return verdict;
}

Verdict network_fitness(const std::string& target, const Result<double>& connected_ms,
                        const FitnessLimits& limits) {
  Verdict verdict = begin("network");
  verdict.status = connected_ms ? VerdictStatus::passed : VerdictStatus::failed;
  if (connected_ms) {
    verdict.reason =
        fmt::format("connected to {} in {}", target, format_duration_ms(*connected_ms));
    verdict.metrics.push_back({"connect_time", *connected_ms, "ms", std::nullopt, std::nullopt});
  } else {
    verdict.reason =
        fmt::format("{} (limit {} s)", connected_ms.error().message, limits.network_timeout_s);
  }
  return verdict;
}

Verdict cuda_version_fitness(const Machine& machine, const FitnessLimits& limits) {
  Verdict verdict = begin("cuda-version");
  const bool hardware = std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& gpu) {
    return gpu.vendor == Vendor::nvidia && !gpu.faked;
  });
  if (!hardware) {
    verdict.status = VerdictStatus::not_supported;
    verdict.reason = "no NVIDIA GPU here";
    return verdict;
  }
  const auto& found = machine.nvidia.cuda_version;
  const auto version = found ? parse_version(*found) : std::nullopt;
  if (!version) {
    verdict.status = VerdictStatus::failed;  // hardware without a driver that answers is not a pass
    verdict.reason = "an NVIDIA GPU is here, but its driver reported no CUDA version";
    return verdict;
  }
  const bool good = *version >= *parse_version(limits.min_cuda_version);
  verdict.status = good ? VerdictStatus::passed : VerdictStatus::failed;
  verdict.reason = fmt::format(
      "the driver supports CUDA {}, at least {} is required "
      "(RUNPOD_MIN_CUDA_VERSION)",
      *found, limits.min_cuda_version);
  return verdict;
}

}  // namespace gpuready
