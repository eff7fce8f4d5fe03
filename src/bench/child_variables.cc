#include "bench/child_variables.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "bench/request.h"

namespace gpuready::bench {
namespace {

// A name is recorded that begins so. docs/bench-run.md, "What a run records", has the same table.
constexpr std::string_view kPatterns[] = {
    // GPUs and their libraries
    "CUDA_", "NVIDIA_", "CUBLAS", "CUDNN_", "CUTLASS_", "NCCL_", "NVTE_", "HIP_", "HSA_", "ROCR_",
    "VK_", "MESA_", "LP_NUM_THREADS",
    // compilers and frameworks
    "TORCH", "PYTORCH_", "TRITON_", "XLA_", "JAX_", "TF_", "TVM_", "ORT_", "ONNX", "TENSORRT_",
    "TRT_", "GLOW_", "PYC_",
    // the CPU's threads, products and memory
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "MALLOC_",
    "GLIBC_TUNABLES", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHON",
    // this program
    "BENCH_", "GPUREADY_LIBCUBLASLT"};
// Commands of stacks are recorded with the stack.
constexpr std::string_view kCommand = "_BENCH_CMD";
constexpr std::string_view kSecrets[] = {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"};

bool of_the_contract(std::string_view name) {
  static const auto all = variables_of(Request{});
  return std::ranges::any_of(all, [&](const auto& each) { return each.first == name; });
}

}  // namespace

bool is_recorded(std::string_view name) {
  return std::ranges::any_of(kPatterns, [&](auto begin) { return name.starts_with(begin); }) &&
         !name.ends_with(kCommand) && !of_the_contract(name) &&
         std::ranges::none_of(kSecrets, [&](auto secret) { return name.contains(secret); });
}

std::map<std::string, std::string> recorded_variables(const char* const* environment,
                                                      VariableChanges changes) {
  std::map<std::string, std::string> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const auto equals = text.find('=');
    if (equals != text.npos && is_recorded(text.substr(0, equals)))
      found[std::string(text.substr(0, equals))] = printable(text.substr(equals + 1));
  }
  for (const auto& [name, value] : changes) {
    if (!is_recorded(name)) continue;
    if (value)
      found[name] = printable(*value);
    else
      found.erase(name);
  }
  return found;
}

}  // namespace gpuready::bench
