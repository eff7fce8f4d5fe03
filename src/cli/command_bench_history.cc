#include <memory>

#include "base/clock.h"
#include "bench/history.h"
#include "bench/result_files.h"
#include "cli/bench_commands.h"
#include "cli/options.h"
#include "report/bench/history_report.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  std::string folder{bench::kResultsFolder};
  std::vector<std::string> kpis;
  bench::HistoryFilter filter;
};

int run(Options& options) {
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  const auto start = Clock::now();
  for (const auto& name : options.kpis)
    for (const auto kpi : bench::kKpis)
      if (name == bench::to_string(kpi)) options.filter.kpis.push_back(kpi);
  const auto host = make_live_host();
  const auto history = bench::read_history(*host, options.folder, options.filter);
  if (!history) return complain(history.error());
  Envelope envelope = begin_envelope("bench history");
  envelope.conclusion = conclusion_of(*history);
  envelope.duration_ms = elapsed_ms(start);
  return deliver(
      Delivery{
          .envelope = envelope,
          .json = [&] { return to_json(*history, envelope); },
          .terminal = [&](const TerminalStyle& style) { return render_terminal(*history, style); },
          .markdown = [&] { return render_markdown(*history); }},
      options.globals);
}

}  // namespace

void declare_bench_history(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  add_output(command, options->globals);
  command.add({{.name = "--results",
                .value = &options->folder,
                .help = "Folder of the runs and of history.sqlite; bench-results if not given",
                .type = "FOLDER"},
               {.name = "--md",
                .value = &options->globals.markdown,
                .help = "Write Markdown",
                .type = "FILE"},
               {.name = "--stack",
                .value = &options->filter.stacks,
                .help = "These stacks alone",
                .type = "LIST",
                .commas = true},
               {.name = "--tag",
                .value = &options->filter.tags,
                .help = "Runs of these tags alone",
                .type = "LIST",
                .commas = true},
               {.name = "--kpi",
                .value = &options->kpis,
                .help = "These figures alone",
                .type = "LIST",
                .one_of = {"p50", "p95", "throughput", "energy", "memory"},
                .commas = true}});
}

}  // namespace gpuready::cli
