#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/compare/promote.h"
#include "bench/report/exit_rules.h"
#include "bench/report/promote_report.h"
#include "cli/deliver_report.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

struct BenchPromoteOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder};
  std::string base, candidate;
  RuleOptions rule_options;
  std::vector<std::string> kpis;
  bench::PromoteOptions rule;
};

Result<bench::Promotion> decided(BenchPromoteOptions& options) {
  TRY(options.rule_options.set(options.rule));
  options.rule.kpis = kpis_of(options.kpis);
  const auto host = make_live_host();
  const auto sides = TRY(find_sides(*host, options.folder, options.base, options.candidate));
  TRY(bench::learn_from_history(options.rule.compare, *host, options.folder));
  return bench::promote(sides.base, sides.candidate, options.rule);
}

Result<int> run_bench_promote(BenchPromoteOptions& options) {
  const auto start = Clock::now();
  const auto promotion = TRY(decided(options));
  Envelope envelope = begin_envelope("bench promote");
  envelope.conclusion = conclusion_of(promotion);
  envelope.exit = exit_of(promotion);
  return deliver_report(envelope, promotion, start, options.globals);
}

}  // namespace

void declare_bench_promote(CommandSpec& command) {
  auto options = std::make_shared<BenchPromoteOptions>();
  command.run = [options] { return run_bench_promote(*options); };
  add_output(command, options->globals);
  command.add(
      {runs_option(
           "BASE", options->base,
           "The current version: a tag, ids of runs, files or a folder, as in bench compare"),
       runs_option("CANDIDATE", options->candidate, "The version that may replace it"),
       {.name = "--idea",
        .value = &options->rule.idea,
        .help = "The one thing that the candidate changes: commit, flags, or the name of an "
                "environment variable; any other difference is refused",
        .type = "NAME",
        .such_as = {"commit", "flags"}},
       results_option(options->folder, "the runs that tags and ids name"),
       markdown_option(options->globals.markdown, "the evidence as Markdown"),
       kpi_option(options->kpis, "One of these must gain (default: any)"),
       stack_option(options->rule.compare.stacks,
                    "The stack to judge; A=B compares stack A of the base with B of the candidate",
                    false)});
  options->rule_options.declare(command);
  command.footer =
      "Exit codes: 0 promote; 1 reject; 2 wrong usage, bad input, or runs that also differ "
      "in\nother things; 4 more runs are needed.";
}

}  // namespace gpuready::cli
