// `gpuready bench loop`: runs base and candidate by turns until bench promote's rule decides.
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/report/exit_rules.h"
#include "bench/report/promote_report.h"
#include "bench/run/adapter_child.h"
#include "bench/run/loop.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/helper.h"

namespace gpuready::cli {
namespace {

struct BenchLoopOptions {
  Globals globals;
  bench::LoopOptions loop;
  std::optional<std::uint64_t> seed;
  RuleOptions rule_options;
};

// To its end, and to that of all that it has started.
Result<JobOutcome> run_whole(const Job& job) {
  auto outcome =
      TRY(run_job(bench::supervised(job, helper_job({}).program), {.cancel = &interrupted()}));
  const auto end = bench::take_adapter_end(outcome.err);
  if (!end.cannot_start.empty()) return fail(ErrorKind::not_found, end.cannot_start);
  if (interrupted()) return fail(ErrorKind::cancelled, "interrupted");
  return outcome;
}

Result<int> run_bench_loop(BenchLoopOptions& options) {
  catch_interrupts();
  const auto start = Clock::now();
  const auto host = make_live_host();
  bench::LoopOptions& given = options.loop;
  given.order_seed = options.seed.value_or(random_u64());
  TRY(options.rule_options.set(given.rule));
  ProgressLine progress(options.globals.quiet);
  const bench::LoopHooks hooks{.program = helper_job({}).program,
                               .run = run_whole,
                               .elapsed_s = [&] { return elapsed_ms(start) / 1000; },
                               .progress = [&](const std::string& text) { progress.show(text); },
                               .tell =
                                   [&](const std::string& text) {
                                     if (options.globals.quiet) return;
                                     progress.clear();
                                     std::fputs((text + "\n").c_str(), stderr);
                                   }};
  bench::PromotionLoop loop(given, *host, hooks);
  TRY(loop.check());
  TRY(bench::learn_from_history(given.rule.compare, *host, given.folder));
  if (const auto passed = loop.pass_gate(); !passed)
    return interrupted() ? complain(passed.error()) : complain(passed.error(), Exit::unhealthy);
  const auto promotion = loop.decided();
  if (!promotion) return complain(promotion.error(), exit_of_error(promotion.error()));
  Envelope envelope = begin_envelope("bench loop");
  envelope.conclusion = conclusion_of(*promotion);
  envelope.exit = exit_of(*promotion);
  return deliver_report(envelope, *promotion, start, options.globals);
}

}  // namespace

void declare_bench_loop(CommandSpec& command) {
  auto options = std::make_shared<BenchLoopOptions>();
  command.run = [options] { return run_bench_loop(*options); };
  add_output(command, options->globals);
  command.add(
      {{.name = "BASE",
        .value = &options->loop.base,
        .help = "Tag of the base's runs",
        .required = true},
       {.name = "CANDIDATE",
        .value = &options->loop.candidate,
        .help = "Tag of the candidate's runs",
        .required = true},
       {.name = "--command",
        .value = &options->loop.command,
        .help = "The command of one run; the loop adds --tag, --add, --results and --idea. "
                "\"gpuready bench run\" if not given",
        .type = "CMD"},
       {.name = "--candidate-command",
        .value = &options->loop.candidate_command,
        .help = "The command of the candidate, if it differs",
        .type = "CMD"},
       {.name = "--idea",
        .value = &options->loop.idea,
        .help = "The one thing that the candidate changes: NAME=VALUE sets a variable only in its "
                "runs; or flags, or commit",
        .type = "NAME",
        .such_as = {"commit", "flags"}},
       {.name = "--gate",
        .value = &options->loop.gate,
        .help = "Run this first; if it fails, nothing is timed. Its time counts towards the budget",
        .type = "CMD"},
       {.name = "--max-runs",
        .value = &options->loop.most_runs,
        .help = "Maximum runs of each side (default: 12)",
        .type = "N",
        .range = Range{3, 1000}},
       {.name = "--budget",
        .value = &options->loop.budget_s,
        .help = "Start no pair of runs after this time",
        .range = Range{1, 1e7},
        .seconds = true},
       {.name = "--seed",
        .value = &options->seed,
        .help = "Seed of the order of the sides (default: random)",
        .type = "N"},
       results_option(options->loop.folder),
       markdown_option(options->globals.markdown, "the evidence as Markdown"),
       stack_option(options->loop.rule.compare.stacks,
                    "The stack that decides, if runs have several", false)});
  options->rule_options.declare(command);
  command.footer =
      "Exit codes: 0 promote; 1 reject, or the gate failed; 2 wrong usage or bad input, also if "
      "the\nfirst two runs show that further runs are useless (several stacks without --stack, an "
      "idea\nthat changes nothing); 4 undecided within the budget, or a run failed; 130 "
      "interrupted.";
}

}  // namespace gpuready::cli
