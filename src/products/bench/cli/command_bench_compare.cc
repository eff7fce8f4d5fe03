#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/compare/compare.h"
#include "bench/report/compare_report.h"
#include "bench/report/exit_rules.h"
#include "cli/deliver_report.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

struct BenchCompareOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder};
  std::string base, candidate;
  double margin_percent = 1;
  bool alone = false;
  bench::CompareOptions compare;
};

Result<bench::Comparison> compared(BenchCompareOptions& options) {
  const auto host = make_live_host();
  const auto sides = TRY(find_sides(*host, options.folder, options.base, options.candidate));
  options.compare.learn = !options.alone;
  TRY(bench::learn_from_history(options.compare, *host, options.folder));
  return bench::compare(sides.base, sides.candidate, options.compare);
}

Result<int> run_bench_compare(BenchCompareOptions& options) {
  const auto start = Clock::now();
  options.compare.margin = options.margin_percent / 100;
  const auto comparison = TRY(compared(options));
  Envelope envelope = begin_envelope("bench compare");
  envelope.conclusion = conclusion_of(comparison);
  envelope.exit = exit_of(comparison);
  return deliver_report(envelope, comparison, start, options.globals);
}

}  // namespace

void declare_bench_compare(CommandSpec& command) {
  auto options = std::make_shared<BenchCompareOptions>();
  command.run = [options] { return run_bench_compare(*options); };
  add_output(command, options->globals);
  command.add(
      {runs_option(
           "BASE", options->base,
           "The base: a tag, the id of a run, a file or a folder; or a comma-separated list"),
       runs_option("CANDIDATE", options->candidate, "What to compare"),
       results_option(options->folder, "the runs that tags and ids name"),
       markdown_option(options->globals.markdown),
       {.name = "--margin",
        .value = &options->margin_percent,
        .help = "Differences up to this many percent count as equal (default: 1)",
        .type = "PERCENT",
        .range = Range{0.001, 50}},
       stack_option(options->compare.stacks,
                    "Only these stacks (comma-separated); A=B compares stack A of the base with B "
                    "of the candidate"),
       {.name = "--allow",
        .value = &options->compare.allowed,
        .help = "Compare even if these differ",
        .type = "LIST",
        .one_of = {"gpu", "cpu", "driver", "workload", "dtype", "device", "protocol", "load"},
        .commas = true},
       learn_option(options->alone),
       {.name = "--normalise",
        .value = &options->compare.normalise,
        .help = "Compare fractions of each machine's measured roofline, so that GPUs may differ"}});
  command.footer =
      "Exit codes: 0 no stack is slower; 1 a stack is slower, or no run of the candidate has a "
      "result\nof it; 2 wrong usage, bad input, or runs that cannot be compared; 4 undecided.";
}

}  // namespace gpuready::cli
