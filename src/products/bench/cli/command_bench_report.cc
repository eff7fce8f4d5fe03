#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/compare/ranking.h"
#include "bench/history/history.h"
#include "bench/report/bench_report.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

struct BenchReportOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder}, runs{"latest"};
};

Result<BenchReport> made(const BenchReportOptions& options) {
  BenchReport report;
  const auto host = make_live_host();
  report.runs = TRY(bench::find_runs(*host, options.folder, options.runs));
  bench::HistoryFilter filter;
  for (const auto& run : report.runs)
    for (const auto& stack : run.stacks) filter.stacks.push_back(stack.id);
  filter.kpis = {bench::Kpi::p50, bench::Kpi::throughput, bench::Kpi::memory, bench::Kpi::energy};
  if (host->exists(options.folder))
    report.history = TRY(bench::read_history(*host, options.folder, filter));
  report.runs = bench::one_per_tag(report.runs);
  return report;
}

Result<int> run_bench_report(BenchReportOptions& options) {
  const auto start = Clock::now();
  auto report = TRY(made(options));
  static_cast<Envelope&>(report) = begin_envelope("bench report");
  report.conclusion = conclusion_of(report);
  report.duration_ms = elapsed_ms(start);
  return deliver(
      Delivery{
          .envelope = report,
          .json = {},
          .terminal = [&](const TerminalStyle& style) { return render_terminal(report, style); },
          .html = [&] { return render_html(report); },
          .markdown = [&] { return render_markdown(report); }},
      options.globals);
}

}  // namespace

void declare_bench_report(CommandSpec& command) {
  auto options = std::make_shared<BenchReportOptions>();
  command.run = [options] { return run_bench_report(*options); };
  command.add({reported_runs_option(options->runs),
               results_option(options->folder, "runs and history.json"),
               html_option(options->globals.html), markdown_option(options->globals.markdown)});
  add_style(command, options->globals);
}

}  // namespace gpuready::cli
