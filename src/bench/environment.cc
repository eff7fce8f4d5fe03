#include "bench/environment.h"

#include "base/text.h"

namespace gpuready::bench {
namespace {

// Variables that change what stacks do.
constexpr const char* kVariables[] = {
    "BENCH_PYTHON",
    "BENCH_TORCH_COMPILE_MODE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "JAX_ENABLE_X64",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "XLA_FLAGS",
};

std::optional<std::string> git(Host& host, std::vector<std::string> args) {
  Job job;
  job.program = "git";
  job.args = std::move(args);
  job.limits.time = std::chrono::seconds(10);
  const auto outcome = host.run(job);
  if (!outcome || outcome->end != JobEnd::exited || outcome->exit_code != 0) return std::nullopt;
  return std::string(trim(outcome->out));
}

}  // namespace

Environment environment_of(const Machine& machine, const Gpu* gpu, Host& host) {
  Environment environment;
  environment.kernel_release = machine.system.kernel_release;
  environment.os_name = machine.system.os_name.value_or("");
  environment.cpu_model = machine.system.cpu_model.value_or("");
  if (gpu != nullptr) {
    environment.gpus.push_back({gpu->name, gpu->uuid.value_or("")});
    environment.driver_version = machine.nvidia.driver_version.value_or("");
    environment.cuda_version = machine.nvidia.cuda_version.value_or("");
  }
  for (const char* name : kVariables)
    if (const auto value = host.environment(name)) environment.variables[name] = printable(*value);
  return environment;
}

void add_git_state(RunRecord& run, Host& host) {
  const auto commit = git(host, {"rev-parse", "HEAD"});
  if (!commit) return;
  run.git_commit = printable(*commit);
  if (const auto changes = git(host, {"status", "--porcelain", "--untracked-files=no"}))
    run.git_dirty = !changes->empty();
}

}  // namespace gpuready::bench
