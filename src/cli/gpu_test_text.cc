#include "cli/gpu_test_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gpuready {
namespace {

// One line of the driver's or our own words, without the words that the caller takes for a failure
// when the line tells none.
std::string neutral(std::string_view text) {
  std::string line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  for (const std::string_view word : {"failed", "error", "cannot", "unable"}) {
    for (auto at = to_lower(line).find(word); at != std::string::npos;
         at = to_lower(line).find(word))
      line.replace(at, word.size(), std::string(word.size(), '-'));
  }
  return line;
}

std::string as_one_line(std::string_view text) {
  std::string line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

std::string gpu_test_text(const GpuTestResult& result) {
  std::string out = fmt::format("Linux Kernel Version: {}\n", neutral(result.kernel_release));
  if (result.cuda_version)
    out += fmt::format("CUDA Driver Version: {}.{}\n", *result.cuda_version / 1000,
                       (*result.cuda_version % 1000) / 10);
  else
    out += fmt::format("Failed to get CUDA driver version. Error code: {} ({})\n",
                       result.cuda_failure.code, as_one_line(result.cuda_failure.text));
  if (result.nvml_failure)
    return out + fmt::format("Failed to initialize NVML: {}\n", as_one_line(*result.nvml_failure));
  if (result.count_failure)
    return out + fmt::format("Failed to get GPU count: {}\n", as_one_line(*result.count_failure));
  if (!result.named_libraries.empty())
    out += fmt::format("Not the system's driver: {}\n", neutral(result.named_libraries));
  out += fmt::format("Found {} GPUs:\n", result.gpus.size());
  for (std::size_t i = 0; i < result.gpus.size(); ++i) {
    const GpuTestGpu& gpu = result.gpus[i];
    if (gpu.handle_failure) {
      out += fmt::format("Failed to get handle for GPU {}: {} (Error code: {})\n", i,
                         as_one_line(gpu.handle_failure->text), gpu.handle_failure->code);
      continue;
    }
    out += fmt::format("GPU {}: {} (UUID: {})\n", i, neutral(gpu.name), neutral(gpu.uuid));
    for (const std::string& note : gpu.notes)
      out += fmt::format("GPU {} note: {}\n", i, neutral(note));
    if (gpu.failure)
      out += fmt::format("GPU {} memory allocation test failed. Error code: {} ({})\n", i,
                         gpu.failure->code, as_one_line(gpu.failure->text));
    else
      out += fmt::format("GPU {} memory allocation test passed.\n", i);
  }
  return out;
}

bool gpu_test_passed(const GpuTestResult& result) {
  return !result.nvml_failure && !result.count_failure && result.cuda_version &&
         !result.gpus.empty() &&
         std::none_of(result.gpus.begin(), result.gpus.end(),
                      [](const GpuTestGpu& gpu) { return gpu.handle_failure || gpu.failure; });
}

}  // namespace gpuready
