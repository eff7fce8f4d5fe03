#include <memory>

#include "base/clock.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/history/history.h"
#include "bench/report/history_report.h"
#include "cli/deliver_report.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

struct BenchHistoryOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder};
  std::vector<std::string> kpis;
  bench::HistoryFilter filter;
};

Result<int> run_bench_history(BenchHistoryOptions& options) {
  const auto start = Clock::now();
  options.filter.kpis = kpis_of(options.kpis);
  const auto host = make_live_host();
  const auto history = TRY(bench::read_history(*host, options.folder, options.filter));
  Envelope envelope = begin_envelope("bench history");
  envelope.conclusion = conclusion_of(history);
  if (history.series.empty() && !(options.filter.tags.empty() && options.filter.stacks.empty() &&
                                  options.filter.workloads.empty()))
    envelope.exit = Exit::required_absent;
  return deliver_report(envelope, history, start, options.globals);
}

}  // namespace

void declare_bench_history(CommandSpec& command) {
  auto options = std::make_shared<BenchHistoryOptions>();
  command.run = [options] { return run_bench_history(*options); };
  add_output(command, options->globals);
  command.add({results_option(options->folder, "runs and history.json"),
               html_option(options->globals.html),
               markdown_option(options->globals.markdown),
               {.name = "--workload",
                .value = &options->filter.workloads,
                .help = "Only these workloads, as shown (mlp or \"mlp batch=64 hidden=2048\")",
                .type = "LIST",
                .such_as = bench_tasks(),
                .commas = true},
               stack_option(options->filter.stacks, "Only these stacks"),
               {.name = "--tag",
                .value = &options->filter.tags,
                .help = "Only runs with these tags",
                .type = "LIST",
                .commas = true},
               kpi_option(options->kpis, "Only these KPIs")});
  command.footer =
      "Exit codes: 0 done; 2 wrong usage or bad input; 3 no run has the named tag, stack or "
      "workload.";
}

}  // namespace gpuready::cli
