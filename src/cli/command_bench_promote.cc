#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "bench/promote.h"
#include "bench/result_files.h"
#include "cli/bench_commands.h"
#include "cli/options.h"
#include "report/bench/promote_report.h"
#include "report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  std::string folder{bench::kResultsFolder};
  std::string base, candidate;
  double least_gain_percent = 1, most_spread_percent = 3;
  std::vector<std::string> kpis;
  bench::PromoteOptions rule;
};

Result<bench::Promotion> decided(Options& options) {
  options.rule.least_gain = options.least_gain_percent / 100;
  options.rule.most_spread = options.most_spread_percent / 100;
  for (const auto& name : options.kpis)
    for (const auto kpi : bench::kKpis)
      if (name == bench::to_string(kpi)) options.rule.kpis.push_back(kpi);
  const auto host = make_live_host();
  const bench::Side base{options.base, TRY(bench::find_runs(*host, options.folder, options.base))};
  const bench::Side candidate{options.candidate,
                              TRY(bench::find_runs(*host, options.folder, options.candidate))};
  return bench::promote(base, candidate, options.rule);
}

int run(Options& options) {
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  const auto start = Clock::now();
  const auto promotion = decided(options);
  if (!promotion) return complain(promotion.error());
  Envelope envelope = begin_envelope("bench promote");
  envelope.conclusion = conclusion_of(*promotion);
  envelope.exit = exit_of(*promotion);
  envelope.duration_ms = elapsed_ms(start);
  return deliver(Delivery{.envelope = envelope,
                          .json = [&] { return to_json(*promotion, envelope); },
                          .terminal =
                              [&](const TerminalStyle& style) {
                                return render_terminal(*promotion, envelope, style);
                              },
                          .markdown = [&] { return render_markdown(*promotion, envelope); }},
                 options.globals);
}

}  // namespace

void declare_bench_promote(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  add_output(command, options->globals);
  command.add(
      {{.name = "BASE",
        .value = &options->base,
        .help = "What stands: a tag, ids of runs, files or a folder, as of bench compare",
        .required = true},
       {.name = "CANDIDATE",
        .value = &options->candidate,
        .help = "What may replace it",
        .required = true},
       {.name = "--idea",
        .value = &options->rule.idea,
        .help = "The one thing that the candidate changes: commit, flags, or the name of an "
                "environment variable; more than that is refused",
        .type = "NAME"},
       {.name = "--results",
        .value = &options->folder,
        .help = "Folder of the runs that tags and ids name; bench-results if not given",
        .type = "FOLDER"},
       {.name = "--md",
        .value = &options->globals.markdown,
        .help = "Write the evidence as Markdown",
        .type = "FILE"},
       {.name = "--kpi",
        .value = &options->kpis,
        .help = "Of these one must gain; any if not given",
        .type = "LIST",
        .one_of = {"p50", "p95", "throughput", "energy", "memory"},
        .commas = true},
       {.name = "--min-gain",
        .value = &options->least_gain_percent,
        .help = "Percent that the whole interval of the gain must be above; 1 if not given",
        .type = "PERCENT",
        .range = Range{0, 1000}},
       {.name = "--max-spread",
        .value = &options->most_spread_percent,
        .help = "Percent of standard deviation from run to run that is borne; 3 if not given",
        .type = "PERCENT",
        .range = Range{0, 1000}},
       {.name = "--stack",
        .value = &options->rule.compare.stacks,
        .help = "This stack; A=B holds stack A of the base against B of the candidate",
        .type = "NAME"}});
  command.footer =
      "Exit codes: 0 promote; 1 reject; 2 wrong usage, bad input, or runs that differ in more "
      "than\n"
      "what is to be judged; 4 more runs are needed.";
}

}  // namespace gpuready::cli
