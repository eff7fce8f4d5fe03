#include "bench/run/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/cpu/cpus.h"
#include "base/paths.h"
#include "base/text.h"
#include "jobs/variables.h"
#include "machine/gpu_choice.h"

namespace gpuready::bench {
namespace {

// What runs no program that a repository, a file of configuration or a variable names: file system
// monitors, hooks, and what would fetch missing objects. Filters are named by their own function.
const std::vector<std::string> kHardened = {"-c", "core.fsmonitor=false",
                                            "-c", "core.hooksPath=/dev/null",
                                            "-c", "safe.bareRepository=explicit"};
const std::vector<std::pair<std::string, std::optional<std::string>>> kVariables = {
    {"GIT_CONFIG_NOSYSTEM", "1"},   {"GIT_CONFIG_GLOBAL", "/dev/null"},
    {"GIT_ALLOW_PROTOCOL", "none"}, {"GIT_NO_LAZY_FETCH", "1"},
    {"GIT_OPTIONAL_LOCKS", "0"},    {"GIT_TERMINAL_PROMPT", "0"}};

// Of the clocks of these CPUs, each once: "performance, powersave".
std::string governors_of(std::span<const unsigned> cpus, Host& host) {
  std::set<std::string> names;
  for (const unsigned cpu : cpus)
    if (const auto text = host.read_file(
            fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu)))
      names.emplace(trim(*text));
  return fmt::format("{}", fmt::join(names, ", "));
}

// `but`: an exit code that is an answer, too.
std::optional<std::string> git(Host& host, std::vector<std::string> args, int but = 0) {
  Job job;
  job.program = "git";
  job.args = kHardened;
  job.args.insert(job.args.end(), args.begin(), args.end());
  job.keeps = is_basic_variable;  // none of git's own, nor sudo's, whose user git would trust
  job.env = kVariables;
  job.limits.time = std::chrono::seconds(10);
  const auto outcome = host.run(job);
  if (!outcome || outcome->end != JobEnd::exited) return std::nullopt;
  if (outcome->exit_code != 0 && outcome->exit_code != but) return std::nullopt;
  return std::string(trim(outcome->out));
}

// Options by which the repository's own filters (git-config(1), filter.<driver>.clean) do nothing:
// `git status` would run them on files whose times changed.
std::optional<std::vector<std::string>> without_filters(Host& host) {
  constexpr int kNone = 1;
  const auto keys =
      git(host, {"config", "--null", "--name-only", "--get-regexp", "^filter\\."}, kNone);
  if (!keys) return std::nullopt;
  std::vector<std::string> options;
  for (const auto key : split(*keys, std::string_view("\0", 1))) {
    const auto driver = std::string(key.substr(0, key.rfind('.')));
    if (driver.contains('=')) return std::nullopt;  // no option could name it
    for (const char* end : {".clean=", ".process=", ".required=false"})
      options.insert(options.end(), {"-c", driver + end});
  }
  return options;
}

// The folder that holds .git, from `.` up; nothing where that is another user's: he chose what git
// finds in there.
bool is_our_repository(Host& host) {
  const auto identity = host.identity();
  auto folder = host.real_path(".");
  while (identity && folder) {
    const auto git_folder = host.status(*folder + "/.git");
    if (git_folder) {
      const auto work_tree = host.status(*folder);
      return work_tree && git_folder->uid == identity->effective_uid &&
             work_tree->uid == identity->effective_uid;
    }
    if (*folder == "/") return false;
    folder = folder_of(*folder);
  }
  return false;
}

}  // namespace

Result<const Gpu*> gpu_of_stacks(const Machine& machine, const std::string& name) {
  const auto is_for_cuda = [](const Gpu& gpu) { return gpu.uuid && gpu.uuid->starts_with("GPU-"); };
  if (name.empty()) {
    const auto first = std::ranges::find_if(machine.gpus, is_for_cuda);
    return first == machine.gpus.end() ? nullptr : &*first;
  }
  const Gpu* gpu = TRY(gpu_named(machine, "--gpu", name));
  if (is_for_cuda(*gpu)) return gpu;
  return fail(ErrorKind::bad_input, fmt::format("--gpu {}: {} is not a GPU that CUDA uses",
                                                printable(name), printable(gpu->name)));
}

Environment environment_of(const Machine& machine, const Gpu* gpu, Host& host) {
  Environment environment;
  const auto cpus = cpus_of_affinity();
  environment.cpu_cores = cpus.size();
  environment.cpu_affinity = cpu_list(cpus);
  environment.cpu_governor = governors_of(cpus, host);
  environment.cpu_limit = machine.container.cpu_limit;
  environment.kernel_release = machine.system.kernel_release;
  environment.os_name = machine.system.os_name.value_or("");
  environment.cpu_model = machine.system.cpu_model.value_or("");
  if (gpu != nullptr) {
    BenchedGpu& used = environment.gpus.emplace_back(BenchedGpu{gpu->name, gpu->uuid.value_or("")});
    if (gpu->memory.total_bytes)
      used.memory_total = fmt::format("{} MiB", *gpu->memory.total_bytes >> 20);
    used.compute_capability = gpu->compute_capability.value_or("");
    environment.driver_version = machine.nvidia.driver_version.value_or("");
    environment.cuda_version = machine.nvidia.cuda_version.value_or("");
  }
  return environment;
}

void add_git_state(RunRecord& run, Host& host) {
  if (!is_our_repository(host)) return;
  const auto commit = git(host, {"rev-parse", "HEAD"});
  if (!commit) return;
  run.git_commit = printable(*commit);
  auto status = without_filters(host);
  if (!status) return;
  // Not into submodules, whose configuration is their own.
  for (const char* word :
       {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"})
    status->emplace_back(word);
  if (const auto changes = git(host, *status)) run.git_dirty = !changes->empty();
}

}  // namespace gpuready::bench
