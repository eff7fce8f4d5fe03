#include "bench/environment.h"

#include "base/text.h"

namespace gpuready::bench {
namespace {

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

Environment environment_of(const Machine& machine, const Gpu* gpu) {
  Environment environment;
  environment.kernel_release = machine.system.kernel_release;
  environment.os_name = machine.system.os_name.value_or("");
  environment.cpu_model = machine.system.cpu_model.value_or("");
  if (gpu != nullptr) {
    environment.gpus.push_back({gpu->name, gpu->uuid.value_or("")});
    environment.driver_version = machine.nvidia.driver_version.value_or("");
    environment.cuda_version = machine.nvidia.cuda_version.value_or("");
  }
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
