// `gpuready bench import`: a result of another program as a run of ours, by a tag.
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "base/clock.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/exchange/import.h"
#include "bench/report/run_report.h"
#include "cli/options.h"
#include "report/text_layout.h"

namespace gpuready::cli {
namespace {

struct BenchImportOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder}, file, tag;
};

Result<int> run_bench_import(BenchImportOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto run =
      TRY(bench::import_file(*host, options.file, options.folder, options.tag, std::time(nullptr)));
  Envelope envelope = begin_envelope("bench import");
  envelope.conclusion = fmt::format("Imported a result of {} as a run with {}.",
                                    run.protocol.origin, counted(run.stacks.size(), "stack"));
  envelope.duration_ms = elapsed_ms(start);
  const Json doc = to_json(run, envelope);
  TRY(bench::save_run(options.folder, run, dump(doc)));
  return deliver(Delivery{.envelope = envelope,
                          .json = [&] { return doc; },
                          .terminal =
                              [&](const TerminalStyle& style) {
                                return render_terminal(run, envelope,
                                                       bench::run_path(options.folder, run), style);
                              }},
                 options.globals);
}

}  // namespace

void declare_bench_import(CommandSpec& command) {
  auto options = std::make_shared<BenchImportOptions>();
  command.run = [options] { return run_bench_import(*options); };
  add_output(command, options->globals);
  command.add(
      {{.name = "FILE",
        .value = &options->file,
        .help =
            "JSON of google/benchmark, nvbench, llama-bench, hyperfine, asv or PyC's GPU suite, or "
            "a run of gpuready",
        .required = true,
        .files = Files::read},
       {.name = "--tag",
        .value = &options->tag,
        .help = "Tag of the run (default: the file's name)",
        .type = "NAME"},
       results_option(options->folder)});
  command.footer =
      "Exit codes: 0 imported; 2 wrong usage, bad input, no result with a measurement, "
      "or\nimported already.";
}

}  // namespace gpuready::cli
