// `gpuready bench import`: a result of another program as a run of ours, by a tag.
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/report/run_report.h"
#include "cli/options.h"
#include "report/text_layout.h"

namespace gpuready::cli {
namespace {

struct BenchImportOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder}, file, tag;
};

Result<void> check_figures(const bench::RunRecord& run, const std::string& file) {
  if (run.is_timed()) return {};
  std::string why = "it holds none";
  if (!run.stacks.empty()) {
    const bench::StackResult& first = run.stacks.front();
    why = first.id + ": " + (first.reason.empty() ? "it has no time" : first.reason);
  }
  return fail(ErrorKind::bad_input,
              printable(fmt::format("no result of {} has a measurement: {}", file, why)));
}

Result<bench::RunRecord> imported(const BenchImportOptions& options, Host& host) {
  auto run = TRY(bench::read_run_file(host, options.file));
  TRY(check_figures(run, options.file));
  if (!options.tag.empty()) run.tag = options.tag;
  TRY(bench::check_tag(run.tag));
  if (run.started_utc.empty()) {  // nvbench
    run.started_utc = format_utc(std::time(nullptr));
    run.notes.emplace_back("The file holds no time; it was imported at the one given.");
  }
  TRY(bench::check_same_work(host, options.folder, run.tag, run.workload));
  for (const auto& [id, path] : bench::run_files_of(host, options.folder)
                                    .value_or(std::vector<std::pair<std::string, std::string>>()))
    if (id == run.id)
      return fail(ErrorKind::bad_input,
                  fmt::format("{} was imported already: {}", printable(options.file), path));
  return run;
}

Result<int> run_bench_import(BenchImportOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto run = TRY(imported(options, *host));
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
