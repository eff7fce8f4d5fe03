#include "cli/gpu_test_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/cuda_errors.h"
#include "base/text.h"
#include "machine/gpu_use.h"
#include "machine/sources.h"
#include "machine/system/named_libraries.h"
#include "report/conclude.h"
#include "report/obligations.h"
#include "value/about.h"

namespace gpuready::cli {
namespace {

constexpr int kCudaUnknown = 999;  // CUDA_ERROR_UNKNOWN
constexpr int kNvmlUnknown = 999;  // NVML_ERROR_UNKNOWN
constexpr int kMostGpus = 1024;

GpuTestFailure cuda_failure(int code, std::string_view more = {}) {
  std::string text = cuda_error_name(code);
  if (const CudaErrorInfo* known = find_cuda_error(code))
    text += fmt::format(": {}", known->meaning);
  if (!more.empty()) text += fmt::format("; {}", more);
  return {code, text};
}

std::string nvml_text(int code) {
  return fmt::format("{}: {}", nvml_error_name(code), nvml_error_text(code));
}
GpuTestFailure nvml_failure(int code) { return {code, nvml_text(code)}; }

// Why the CUDA driver gives no version.
GpuTestFailure cuda_start_failure(const NvidiaDriver& nvidia) {
  if (nvidia.cuda_start && !nvidia.cuda_start->ok()) return cuda_failure(nvidia.cuda_start->code);
  const std::string outcome = nvidia.cuda_outcome.value_or("no driver is here");
  return {kCudaUnknown, nvidia.cuda_stopped_in
                            ? fmt::format("{} in {}", outcome, *nvidia.cuda_stopped_in)
                            : "the CUDA driver gave no answer: " + outcome};
}

std::optional<std::string> nvml_start_failure(const NvidiaDriver& nvidia) {
  if (nvidia.nvml_start && nvidia.nvml_start->ok()) return std::nullopt;
  if (nvidia.nvml_start) return nvml_text(nvidia.nvml_start->code);
  const std::string outcome = nvidia.nvml_outcome.value_or("no NVIDIA driver is here");
  return nvidia.nvml_stopped_in ? fmt::format("{} in {}", outcome, *nvidia.nvml_stopped_in)
                                : "NVML gave no answer: " + outcome;
}

std::optional<GpuTestFailure> test_failure(const Machine& machine, const Gpu& gpu,
                                           const std::vector<Verdict>& verdicts) {
  bool tested = false;
  for (const Verdict& verdict : verdicts) {
    if (!is_about(verdict, gpu)) continue;
    if (verdict.status != VerdictStatus::passed)
      return verdict.error_code ? cuda_failure(*verdict.error_code, verdict.reason)
                                : GpuTestFailure{kCudaUnknown, verdict.reason};
    tested = true;
  }
  if (tested) return std::nullopt;
  if (const auto& start = machine.nvidia.cuda_start; start && !start->ok())
    return cuda_failure(start->code);
  return GpuTestFailure{kCudaUnknown, "not tested"};
}

// What a GPU that passed its tests lacks. What could have been judged and was not fails, too.
std::optional<GpuTestFailure> lack(const GpuAccess& access, std::span<const Obligation> owed) {
  for (const Obligation& each : owed)
    if (each.status != ObligationStatus::degraded && effect_of(each) > Effect::told)
      return GpuTestFailure{kCudaUnknown, said_of(each)};
  if (access.use == GpuUse::unusable)
    return GpuTestFailure{kCudaUnknown, fmt::format("{}: {}", access.source, access.reason)};
  if (owed.empty()) return GpuTestFailure{kCudaUnknown, "nothing was judged"};
  return std::nullopt;
}

// The GPUs that NVML knows of and gives no handle for, in the order in which the driver counts.
std::vector<const Gpu*> lost_gpus(const Machine& machine) {
  std::vector<const Gpu*> lost;
  for (const Gpu& gpu : machine.gpus)
    if (gpu.vendor == Vendor::nvidia && !gpu.faked && !gpu.nvml_index && gpu.excluded != true &&
        std::any_of(gpu.errors.begin(), gpu.errors.end(),
                    [](const ApiStatus& error) { return error.call.starts_with("nvml"); }))
      lost.push_back(&gpu);
  std::sort(lost.begin(), lost.end(), [](const Gpu* a, const Gpu* b) { return a->pci < b->pci; });
  return lost;
}

GpuTestFailure handle_failure(const Gpu& gpu) {
  for (const ApiStatus& error : gpu.errors)
    if (error.call.starts_with("nvml")) return nvml_failure(error.code);
  return nvml_failure(kNvmlUnknown);
}

std::vector<GpuTestGpu> describe_gpus(const Report& report) {
  const Machine& machine = report.machine;
  std::map<int, const Gpu*> by_index;
  for (const Gpu& gpu : machine.gpus)
    if (gpu.vendor == Vendor::nvidia && !gpu.faked && gpu.nvml_index)
      by_index[*gpu.nvml_index] = &gpu;
  const auto lost = lost_gpus(machine);
  int count = machine.nvidia.nvml_device_count.value_or(0);
  if (!by_index.empty()) count = std::max(count, by_index.rbegin()->first + 1);
  count = std::clamp(count, 0, kMostGpus);
  const auto access = usability(report);
  std::vector<GpuTestGpu> gpus;
  std::size_t next_lost = 0;
  for (int index = 0; index < count; ++index) {
    const auto found = by_index.find(index);
    if (found != by_index.end() && access_to(machine, *found->second).use == GpuUse::hidden)
      continue;
    GpuTestGpu& entry = gpus.emplace_back();
    if (found != by_index.end()) {
      entry.name = found->second->name;
      entry.uuid = found->second->uuid.value_or("unknown");
      entry.failure = test_failure(machine, *found->second, *report.verdicts);
      const auto place = static_cast<std::size_t>(found->second - machine.gpus.data());
      std::vector<Obligation> owed;  // none of a faked machine
      if (place < report.obligations.size()) owed = report.obligations[place];
      if (!entry.failure) entry.failure = lack(access[place], owed);
      for (const Obligation& each : owed)
        if (each.status == ObligationStatus::degraded) entry.notes.push_back(said_of(each));
    } else if (next_lost < lost.size()) {
      entry.handle_failure = handle_failure(*lost[next_lost++]);
    } else {
      entry.handle_failure = nvml_failure(kNvmlUnknown);
    }
  }
  return gpus;
}

// As cuDriverGetVersion gives it.
std::optional<int> cuda_version_number(const NvidiaDriver& nvidia) {
  const auto version = nvidia.cuda_version ? parse_version(*nvidia.cuda_version) : std::nullopt;
  if (!version || version->parts.size() < 2) return std::nullopt;
  return version->parts[0] * 1000 + version->parts[1] * 10;
}

}  // namespace

GpuTestResult gpu_test_result(const Report& report, bool trust_named_libraries) {
  const Machine& machine = report.machine;
  GpuTestResult result;
  result.named_libraries = named_libraries_text(machine.named_libraries);
  result.kernel_release = machine.system.kernel_release;
  result.cuda_version = cuda_version_number(machine.nvidia);
  result.cuda_failure = cuda_start_failure(machine.nvidia);
  result.nvml_failure = nvml_start_failure(machine.nvidia);
  if (!result.nvml_failure) result.gpus = describe_gpus(report);
  if (!result.named_libraries.empty() && !trust_named_libraries)
    for (GpuTestGpu& gpu : result.gpus)
      if (!gpu.failure && !gpu.handle_failure)
        gpu.failure = {kCudaUnknown, fmt::format("it passed through {}, not the system's driver",
                                                 result.named_libraries)};
  return result;
}

GpuTestResult gpu_test_without_answer(std::string kernel_release, std::string why) {
  GpuTestResult result;
  result.kernel_release = std::move(kernel_release);
  result.cuda_failure = {kCudaUnknown, why};
  result.nvml_failure = std::move(why);
  return result;
}

}  // namespace gpuready::cli
