#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "http/url_stream.h"
#include "machine/gpu_choice.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_machine.h"
#include "pack/cli/pack_options.h"
#include "pack/report/exit_rules.h"
#include "pack/report/explain_report.h"

namespace gpuready::cli {
namespace {

struct PackExplainOptions {
  Globals globals;  // of them the output's and --replay
  std::string path;
  std::vector<std::string> gpus;
  std::optional<std::string> driver, cuda;
};

Result<int> run_pack_explain(const PackExplainOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  if (!is_url(options.path)) TRY(host->status(options.path));
  const auto machine = TRY(machine_for({.gpus = options.gpus, .replay = options.globals.replay}));
  auto gpus = kinds_of(machine);
  if (!gpus) return complain(gpus.error(), Exit::required_absent);
  const auto driver = TRY(version_option("--driver", options.driver));
  const auto cuda = TRY(version_option("--cuda", options.cuda));
  const auto inspection = TRY(inspect_shown(*host, options.path, options.globals.quiet));
  const Explanation explanation =
      explain_all(inspection, std::move(*gpus), driver_named(machine.driver, driver, cuda));
  Envelope envelope = begin_envelope("pack explain");
  envelope.exit = exit_of(explanation);
  return deliver_report(envelope, explanation, start, options.globals);
}

}  // namespace

void declare_pack_explain(CommandSpec& command) {
  auto options = std::make_shared<PackExplainOptions>();
  command.run = [options] { return run_pack_explain(*options); };
  command.add({
      code_path_option(options->path),
      {.name = "--gpu",
       .value = &options->gpus,
       .help = fmt::format("Answer for these GPUs instead of this machine's: {}", kGpuWords),
       .type = "GPU",
       .commas = true},
      {.name = "--driver",
       .value = &options->driver,
       .help = "Answer for this version of NVIDIA's driver: 550 or 535.104.05",
       .type = "VERSION"},
      {.name = "--cuda",
       .value = &options->cuda,
       .help = "The CUDA version that the driver reports, if its version does not determine it",
       .type = "VERSION"},
      replay_option(options->globals.replay, "Answer for a recorded machine", "--gpu"),
  });
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 each library loads at least in part on each GPU; 1 one does not, or could "
      "not\nbe read; 2 no such file; 3 no GPU is present and none was named.";
}

}  // namespace gpuready::cli
