// The validation suite: every CPU tier and every device against answers that plain 64-bit sums
// give. Pure of printing; the command line renders what it returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named.h"
#include "ternary/device/backend.h"
#include "ternary/device/choose.h"
#include "ternary/gguf/gguf_identify.h"

namespace gpuready::ternary {

enum class CheckStatus {
  passed,
  failed,         // something differs, or the device returned an error
  not_tested,     // it is not here, or could not be opened
  not_supported,  // this backend does not offer the operation
  timed_out,
};
// The reason of what an interrupt left untested, or tested in part.
inline constexpr std::string_view kInterrupted = "it was interrupted";

// What is verified: one tier of the CPU, or one device.
struct Subject {
  std::string name;    // "cpu/avx2", "cuda:GPU-6fc1..."
  OpenBackend open;    // empty where it cannot be tried
  std::string reason;  // why it cannot
  bool asked = false;  // by name: that it is not tested must be reported by the exit code
};
// Every tier, also those that this CPU has not. `threads` as EngineOptions has it.
std::vector<Subject> cpu_subjects(unsigned threads = 0);
// Every GPU that the drivers of these targets show to this process, by CUDA and by Vulkan if none
// is given; loads the drivers. Software devices are tried only where Vulkan is named. What a target
// names and is not here is a subject too, with the reason.
std::vector<Subject> gpu_subjects(std::span<const Target> targets = {});

// The checks of a subject, in this order. Each compares bits unless it says otherwise.
//   packing    every weight by itself, through products with unit rows; the packed form unpacked
//   int32, f32, bf16   outputs of given int8 activations
//   epilogue   f32, f16 and bf16 outputs to which a bias and a residual are added
//   values     the same outputs of activations that the device quantises, from f32, f16 and bf16
//   quantise   weights into every ternary format: bytes
//   accuracy   normalised mean square error against de-quantised fp32 (a bound, not bits)
//   refusals   NaN, infinity, wrong sizes: the right error, and no output
//   cpu        larger products against the CPU's best tier; only devices
inline constexpr std::string_view kChecks[] = {"packing",  "int32",  "f32",      "bf16",
                                               "epilogue", "values", "quantise", "accuracy",
                                               "refusals", "cpu"};
inline constexpr std::string_view kFileCheck = "file";  // the one of verify_file()
inline constexpr double kMostNmse = 5e-4;

struct CheckResult {
  std::string subject, check;
  CheckStatus status = CheckStatus::not_tested;
  std::string reason;          // of the first difference, or why it was not tested
  std::uint64_t cases = 0;     // that were compared
  std::uint64_t wrong = 0;     // of these
  std::uint64_t elements = 0;  // that were compared
  std::optional<double> nmse;  // the greatest
  double duration_ms = 0;
};

struct SubjectResult {
  std::string name;
  std::string device;                            // "NVIDIA H200"; empty when it was not opened
  std::vector<std::string> kernels;              // that ran, as the backend names them
  CheckStatus status = CheckStatus::not_tested;  // the worst of its checks
  std::string reason;
  bool asked = false;
};

// Of a file; verify_file.h.
struct TensorResult {
  std::string name;
  std::string format;  // empty where that is not known
  Shape shape;
  CheckStatus status = CheckStatus::not_tested;
  std::string reason;
};

struct VerifyOptions {
  bool thorough = false;
  std::uint64_t seed = 1;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  const std::atomic<bool>* stop = nullptr;  // ends early; what was not done is not_tested
};

struct VerifyReport {
  std::vector<SubjectResult> subjects;
  std::vector<CheckResult> checks;
  std::vector<TensorResult> tensors;
  std::string file;                                 // that they are from
  std::vector<gguf::LikelyLayout> assumed_layouts;  // of tensors whose layout was not named
  // What is wrong with the file beside its tensors' contents, as `inspect` finds it.
  std::vector<std::string> file_problems;
  std::uint64_t seed = 0;
  bool thorough = false;
  std::uint64_t problems = 0;
  double duration_ms = 0;
};
VerifyReport verify(std::span<const Subject> subjects, const VerifyOptions& options);

// Sets each subject's status from its checks.
void judge(VerifyReport& report);

}  // namespace gpuready::ternary

namespace gpuready {
NAMES_OF(ternary::CheckStatus, "passed", "failed", "not_tested", "not_supported", "timed_out");
}  // namespace gpuready
