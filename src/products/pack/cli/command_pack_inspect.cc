#include <memory>

#include "base/clock.h"
#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/report/exit_rules.h"
#include "pack/report/inspect_report.h"

namespace gpuready::cli {
namespace {

struct PackInspectOptions {
  Globals globals;  // only those of the output
  std::string path;
  bool details = false;
};

Result<int> run_pack_inspect(const PackInspectOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto inspection = TRY(inspect_shown(*host, options.path, options.globals.quiet));
  Envelope envelope = begin_envelope("pack inspect");
  envelope.exit = exit_of(inspection);
  envelope.duration_ms = elapsed_ms(start);
  return deliver(Delivery{.envelope = envelope,
                          .json = [&] { return to_json(inspection, envelope); },
                          .terminal =
                              [&](const TerminalStyle& style) {
                                return render_terminal(inspection, style, options.details);
                              }},
                 options.globals);
}

}  // namespace

void declare_pack_inspect(CommandSpec& command) {
  auto options = std::make_shared<PackInspectOptions>();
  command.run = [options] { return run_pack_inspect(*options); };
  command.add({
      code_path_option(options->path),
      {.name = "--details",
       .value = &options->details,
       .help = "For a folder: every file in full instead of one line each"},
  });
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 everything was read; 1 a file could not be read, or code in it is damaged; 2 "
      "no\nsuch file.";
}

}  // namespace gpuready::cli
