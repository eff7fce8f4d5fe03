// `gpuready bench loop`: runs base and candidate by turns until bench promote's rule decides.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/adapters.h"
#include "bench/order.h"
#include "bench/promote.h"
#include "cli/bench_commands.h"
#include "cli/bench_options.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/helper.h"
#include "report/bench/promote_report.h"
#include "report/exit_rules.h"

namespace gpuready::cli {
namespace {

constexpr auto kLongestRun = std::chrono::hours(2);  // bench run has its own limits

struct BenchLoopOptions {
  Globals globals;
  std::string folder{bench::kResultsFolder}, base, candidate, command = "gpuready bench run";
  std::optional<std::string> candidate_command, idea, gate;
  std::uint64_t most_runs = 12;
  std::optional<double> budget_s;
  std::optional<std::uint64_t> seed;
  RuleOptions rule_options;
  bench::PromoteOptions rule;
};

Result<Job> job_of(const std::string& command) {
  auto words = TRY(bench::shell_words(command));
  if (words.empty()) return fail(ErrorKind::bad_input, "a command is empty");
  Job job;
  job.program = words[0] == "gpuready" ? helper_job({}).program : words[0];
  job.args.assign(words.begin() + 1, words.end());
  job.limits.time = kLongestRun;
  return job;
}

std::string last_words(const JobOutcome& outcome) {
  const auto all = lines(trim(outcome.err.empty() ? outcome.out : outcome.err));
  return all.empty() ? "it said nothing" : printable(all.back());
}

// What fails it, and nothing where it passed.
Result<void> pass_gate(const std::string& gate) {
  const auto outcome = TRY(run_job(TRY(job_of(gate)), {.cancel = &interrupted()}));
  if (outcome.end == JobEnd::exited && outcome.exit_code == 0) return {};
  return fail(ErrorKind::unsupported,
              fmt::format("the gate did not pass, so nothing was timed: {} ({}, exit code {}): {}",
                          gate, to_string(outcome.end), outcome.exit_code, last_words(outcome)));
}

class Loop {
 public:
  Loop(BenchLoopOptions& options, Host& host) : options_(options), host_(host) {
    bench::PromoteOptions& rule = options_.rule;
    options_.rule_options.set(rule);
    if (options_.idea) {
      const auto equals = options_.idea->find('=');
      rule.idea = options_.idea->substr(0, equals);
      if (equals != std::string::npos) value_ = options_.idea->substr(equals + 1);
    }
  }

  Result<bench::Promotion> decided() {
    TRY(bench::check_tag(options_.base));
    TRY(bench::check_tag(options_.candidate));
    for (const auto& tag : {options_.base, options_.candidate})
      if (bench::find_runs(host_, options_.folder, tag))
        return fail(
            ErrorKind::bad_input,
            fmt::format("the tag {} has runs already; a loop's runs are its own, since what "
                        "was seen before is not in its error budget",
                        tag));
    const auto first =
        bench::candidate_first(options_.most_runs, options_.seed.value_or(random_u64()));
    const auto start = Clock::now();
    std::size_t pairs = 0;
    std::optional<bench::Promotion> last;
    for (const auto& look : bench::looks_until(options_.most_runs)) {
      for (; pairs < look.runs; ++pairs) {
        if (options_.budget_s && pairs > 0 && elapsed_ms(start) > *options_.budget_s * 1000)
          return without_decision(std::move(last), "the budget of time ended");
        for (const bool second : {false, true}) TRY(run_one(first[pairs] != second, pairs));
      }
      last = TRY(judged(look.share));
      if (last->refused() || last->decision != bench::Decision::need_more_runs) return *last;
    }
    return *last;
  }

 private:
  // What a look that was not due would find is not told: it has no share of the error.
  Result<bench::Promotion> without_decision(std::optional<bench::Promotion> last, std::string why) {
    if (!last) last = TRY(judged(bench::looks_until(options_.most_runs).front().share));
    if (last->decision == bench::Decision::promote)
      last->decision = bench::Decision::need_more_runs;
    last->reasons.push_back(std::move(why));
    return *last;
  }

  Result<bench::Promotion> judged(double share) {
    bench::PromoteOptions rule = options_.rule;
    rule.compare.error *= share;
    const auto sides = TRY(find_sides(host_, options_.folder, options_.base, options_.candidate));
    return bench::promote(sides.base, sides.candidate, rule);
  }

  Result<void> run_one(bool is_candidate, std::size_t pair) {
    const std::string& tag = is_candidate ? options_.candidate : options_.base;
    progress_.show(fmt::format("run {} of at most {}: {}", pair + 1, options_.most_runs, tag));
    Job job = TRY(job_of(is_candidate ? options_.candidate_command.value_or(options_.command)
                                      : options_.command));
    for (const std::string& word : {std::string("--tag"), tag, std::string("--add"),
                                    std::string("--results"), options_.folder})
      job.args.push_back(word);
    if (options_.rule.idea) {
      job.args.insert(job.args.end(), {"--idea", *options_.rule.idea});
      if (value_)
        job.env.emplace_back(*options_.rule.idea,
                             is_candidate ? value_ : std::optional<std::string>());
    }
    const auto before = bench::find_runs(host_, options_.folder, tag);
    const auto outcome = TRY(run_job(job, {.cancel = &interrupted()}));
    if (interrupted()) return fail(ErrorKind::cancelled, "interrupted");
    const auto after = bench::find_runs(host_, options_.folder, tag);
    if (after && after->size() == (before ? before->size() : 0) + 1) return {};
    return fail(ErrorKind::unsupported,
                fmt::format("{} wrote no new run of {} ({}, exit code {}): {}", job.program, tag,
                            to_string(outcome.end), outcome.exit_code, last_words(outcome)));
  }

  BenchLoopOptions& options_;
  Host& host_;
  std::optional<std::string> value_;  // of the variable in the candidate's runs
  ProgressLine progress_{options_.globals.quiet};
};

int run_bench_loop(BenchLoopOptions& options) {
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  catch_interrupts();
  const auto start = Clock::now();
  if (options.gate)
    if (const auto passed = pass_gate(*options.gate); !passed)
      return complain(passed.error(), Exit::unhealthy);
  const auto host = make_live_host();
  const auto promotion = Loop(options, *host).decided();
  if (!promotion)
    return complain(promotion.error(),
                    unless_interrupted(exit_of_error(promotion.error()), interrupted()));
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
        .value = &options->base,
        .help = "Tag of the base's runs",
        .required = true},
       {.name = "CANDIDATE",
        .value = &options->candidate,
        .help = "Tag of the candidate's runs",
        .required = true},
       {.name = "--command",
        .value = &options->command,
        .help =
            "What makes one run; --tag, --add, --results and --idea are added. \"gpuready bench "
            "run\" if not given",
        .type = "CMD"},
       {.name = "--candidate-command",
        .value = &options->candidate_command,
        .help = "The same for the candidate, where it is another",
        .type = "CMD"},
       {.name = "--idea",
        .value = &options->idea,
        .help = "The one thing that the candidate changes: NAME=VALUE sets a variable in its runs "
                "alone; or flags, or commit",
        .type = "NAME"},
       {.name = "--gate",
        .value = &options->gate,
        .help = "Run this first; nothing is timed when it fails",
        .type = "CMD"},
       {.name = "--max-runs",
        .value = &options->most_runs,
        .help = "Runs a side at most; 12 if not given",
        .type = "N",
        .range = Range{3, 1000}},
       {.name = "--budget",
        .value = &options->budget_s,
        .help = "No pair of runs begins after this time",
        .range = Range{1, 1e7},
        .seconds = true},
       {.name = "--seed",
        .value = &options->seed,
        .help = "Of the order of the sides; random if not given",
        .type = "N"},
       results_option(options->folder),
       markdown_option(options->globals.markdown, "the evidence as Markdown"),
       {.name = "--stack",
        .value = &options->rule.compare.stacks,
        .help = "The stack that decides, where runs have several",
        .type = "NAME"}});
  options->rule_options.declare(command);
  command.footer =
      "Exit codes: 0 promote; 1 reject, or the gate failed; 2 wrong usage or bad input; 4 not\n"
      "decided within the budget, or a run failed.";
}

}  // namespace gpuready::cli
