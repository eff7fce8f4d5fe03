#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  bool full = false, no_libraries = false;
  std::optional<int> require_gpu;
};

int run(const Options& options) {
  const auto start = Clock::now();
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  auto machine = inspect_as_asked(**host, options.globals,
                                  {.libraries = !options.no_libraries, .full = options.full});
  if (!machine) return complain(machine.error());
  Report report = begin_report("detect", std::move(*machine));
  report.duration_ms = elapsed_ms(start);
  conclude(report, {.required_gpus = options.require_gpu});
  return deliver(report, options.globals);
}

}  // namespace

void add_detect(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  add_globals(app, options->globals, true);
  add_require_gpu(app, options->require_gpu);
  auto* full = app.add_flag("--full", options->full, "Also ask the CUDA driver, Vulkan and ROCm");
  app.add_flag("--no-libraries", options->no_libraries, "Files only: load and start nothing")
      ->excludes(full);
  app.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace gpuready::cli
