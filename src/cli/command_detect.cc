#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

struct DetectOptions {
  Globals globals;
  bool full = false, no_libraries = false;
  std::optional<int> require_gpu;
  PolicyOptions policy;
};

Result<int> run_detect(const DetectOptions& options) {
  const auto start = Clock::now();
  const auto policy = TRY(policy_for(options.policy, options.globals));
  auto host = TRY(open_host(options.globals));
  auto machine = TRY(inspect_as_asked(*host, options.globals,
                                      {.libraries = !options.no_libraries, .full = options.full}));
  Report report = begin_report("detect", std::move(machine));
  report.duration_ms = elapsed_ms(start);
  conclude(report, {.required_gpus = options.require_gpu, .policy = policy});
  return deliver(report, options.globals);
}

}  // namespace

void declare_detect(CommandSpec& command) {
  auto options = std::make_shared<DetectOptions>();
  command.run = [options] { return run_detect(*options); };
  add_globals(command, options->globals, true);
  add_require_gpu(command, options->require_gpu);
  add_policy(command, options->policy);
  command.add({{.name = "--full",
                .value = &options->full,
                .help = "Also query the CUDA driver, Vulkan and ROCm"},
               {.name = "--no-libraries",
                .value = &options->no_libraries,
                .help = "Read only files: load no library, start no driver",
                .excludes = "--full"}});
}

}  // namespace gpuready::cli
