#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "ternary/cli/ternary_commands.h"
#include "ternary/cli/ternary_file.h"
#include "ternary/report/exit_rules.h"
#include "ternary/report/inspect_report.h"

namespace gpuready::cli {
namespace {

namespace gguf = ternary::gguf;

struct TernaryInspectOptions {
  Globals globals;  // only those of the output
  std::string file;
  std::vector<std::string> layouts;
};

Result<int> run_ternary_inspect(const TernaryInspectOptions& options) {
  const auto start = Clock::now();
  const auto layouts = TRY(layouts_of(options.layouts));
  const auto opened = TRY(open_ternary_file(options.file));
  const InspectReport report{options.file, &opened.file, gguf::inspect(opened.file, layouts)};
  Envelope envelope = begin_envelope("ternary inspect");
  envelope.exit = exit_of(report.found);
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_ternary_inspect(CommandSpec& command) {
  auto options = std::make_shared<TernaryInspectOptions>();
  command.run = [options] { return run_ternary_inspect(*options); };
  command.add({
      {.name = "FILE",
       .value = &options->file,
       .help = "A GGUF file, version 2 or 3, or a safetensors file",
       .required = true,
       .files = Files::read},
      layout_option(options->layouts),
  });
  add_output(command, options->globals);
  command.footer =
      "Counts codes and scales in one pass over the file. `verify FILE` also encodes each tensor "
      "again "
      "and multiplies\nby it.\nExit codes: 0 nothing is wrong; 1 the file or a tensor is; 2 not "
      "such a file.";
}

}  // namespace gpuready::cli
