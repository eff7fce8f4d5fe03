// `gpuready bench loop`: runs base and candidate by turns until bench promote's rule decides.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/compare/promote.h"
#include "bench/record/result_files.h"
#include "bench/report/exit_rules.h"
#include "bench/report/promote_report.h"
#include "bench/run/adapter_child.h"
#include "bench/run/adapters.h"
#include "bench/run/order.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/helper.h"

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

// What a loop says to each run itself.
constexpr std::string_view kOwnOptions[] = {"--tag", "--results", "--replace", "--idea"};
constexpr std::string_view kHint = "--help for more information";
constexpr int kWrongUsage = static_cast<int>(Exit::usage);

Result<Job> job_of(const std::string& option, const std::string& command) {
  const auto words = bench::shell_words(command);
  if (!words)
    return fail(ErrorKind::bad_input,
                fmt::format("{} {}: {}", option, printable(command), words.error().message));
  if (words->empty()) return fail(ErrorKind::bad_input, option + " is empty");
  Job job;
  job.program = words->front() == "gpuready" ? helper_job({}).program : words->front();
  job.args.assign(words->begin() + 1, words->end());
  job.limits.time = kLongestRun;
  return job;
}

// To its end, and to that of all that it has started.
Result<JobOutcome> run_whole(const Job& job) {
  auto outcome =
      TRY(run_job(bench::supervised(job, helper_job({}).program), {.cancel = &interrupted()}));
  const auto end = bench::take_adapter_end(outcome.err);
  if (!end.cannot_start.empty()) return fail(ErrorKind::not_found, end.cannot_start);
  if (interrupted()) return fail(ErrorKind::cancelled, "interrupted");
  return outcome;
}

std::string last_words(const JobOutcome& outcome) {
  auto all = lines(trim(outcome.err.empty() ? outcome.out : outcome.err));
  while (all.size() > 1 && (contains(all.back(), kHint) || trim(all.back()).empty()))
    all.pop_back();
  return all.empty() ? "it said nothing" : printable(all.back());
}

// What fails it, and nothing where it passed.
Result<void> pass_gate(const std::string& gate) {
  const auto outcome = TRY(run_whole(TRY(job_of("--gate", gate))));
  if (outcome.end == JobEnd::exited && outcome.exit_code == 0) return {};
  return fail(ErrorKind::unsupported,
              fmt::format("the gate did not pass, so nothing was timed: {} ({}, exit code {}): {}",
                          gate, to_string(outcome.end), outcome.exit_code, last_words(outcome)));
}

class Loop {
 public:
  Loop(BenchLoopOptions& options, Host& host) : options_(options), host_(host) {
    bench::PromoteOptions& rule = options_.rule;
    if (options_.idea) {
      const auto equals = options_.idea->find('=');
      rule.idea = options_.idea->substr(0, equals);
      if (equals != std::string::npos) value_ = options_.idea->substr(equals + 1);
    }
  }

  // What can be known to go wrong before anything is run.
  Result<void> check() {
    for (const auto& tag : {options_.base, options_.candidate}) TRY(bench::check_tag(tag));
    if (options_.base == options_.candidate)
      return fail(ErrorKind::bad_input,
                  fmt::format("base and candidate are both {}: each needs a tag of its own",
                              options_.base));
    if (options_.rule.idea && options_.rule.idea->empty())
      return fail(ErrorKind::bad_input,
                  "--idea names nothing: give NAME=VALUE, flags, commit or another name");
    TRY(options_.rule_options.set(options_.rule));
    options_.rule.compare.reach.runs = options_.most_runs;
    if (options_.rule.compare.stacks.size() > 1)
      return fail(ErrorKind::bad_input, "--stack: one stack decides; name one");
    if (options_.gate) TRY(job_of("--gate", *options_.gate));
    TRY(check_command("--command", options_.command));
    if (options_.candidate_command)
      TRY(check_command("--candidate-command", *options_.candidate_command));
    for (const auto& tag : {options_.base, options_.candidate})
      if (!TRY(runs_of(tag)).empty())
        return fail(
            ErrorKind::bad_input,
            fmt::format("the tag {} has runs already; a loop's runs are its own, since what "
                        "was seen before is not in its error budget",
                        tag));
    if (options_.rule.compare.learn)
      options_.rule.compare.earlier = TRY(earlier_runs(host_, options_.folder));
    return {};
  }

  // `start`: when the budget of time began.
  Result<bench::Promotion> decided(Clock::time_point start) {
    const auto first =
        bench::candidate_first(options_.most_runs, options_.seed.value_or(random_u64()));
    std::size_t pairs = 0;
    std::optional<bench::Promotion> last;
    for (const auto& look : bench::looks_until(options_.most_runs)) {
      for (; pairs < look.runs; ++pairs) {
        if (options_.budget_s && elapsed_ms(start) > *options_.budget_s * 1000) {
          if (pairs == 0)
            return fail(ErrorKind::timed_out, "the budget of time ended before the first run");
          return without_decision(std::move(last), "the budget of time ended");
        }
        for (const bool second : {false, true}) TRY(run_one(first[pairs] != second, pairs));
        if (auto useless = TRY(refusal())) return std::move(*useless);
      }
      last = TRY(judged(look.share));
      if (last->comparison.refused_for_good()) return *last;
      if (last->refused()) continue;  // the machine's load, which may even out
      if (last->decision != bench::Decision::need_more_runs) return *last;
      tell_noise(*last);
    }
    return *last;
  }

 private:
  // Early, since it may take a longer run or another allowance.
  void tell_noise(const bench::Promotion& so_far) {
    if (options_.globals.quiet) return;
    progress_.clear();
    for (const auto* guards : {&so_far.unguarded, &so_far.too_noisy})
      for (const auto& guard : *guards)
        if (told_.insert(guard.kpi).second)
          std::fputs(printable(fmt::format("{} {}: {}\n", name_of(guard.kpi),
                                           guards == &so_far.too_noisy ? "is too noisy to guard"
                                                                       : "is not guarded",
                                           guard.reason))
                         .c_str(),
                     stderr);
  }

  // What a look that was not due would find is not told: it has no share of the error.
  Result<bench::Promotion> without_decision(std::optional<bench::Promotion> last, std::string why) {
    if (!last) last = TRY(judged(bench::looks_until(options_.most_runs).front().share));
    if (last->decision == bench::Decision::promote)
      last->decision = bench::Decision::need_more_runs;
    last->reasons.push_back(std::move(why));
    return *last;
  }

  Result<void> check_command(const std::string& option, const std::string& command) {
    const auto words = TRY(bench::shell_words(command));
    const Job job = TRY(job_of(option, command));
    for (const std::string& word : job.args)
      for (const auto own : kOwnOptions)
        if (words[0] == "gpuready" && word.substr(0, word.find('=')) == own &&
            (own != "--idea" || options_.rule.idea))
          return fail(ErrorKind::bad_input,
                      fmt::format("{} {}: leave {} out, the loop says it to each run itself",
                                  option, printable(command), own));
    return {};
  }

  Result<std::vector<bench::RunRecord>> runs_of(const std::string& tag) {
    return bench::runs_of_tag(host_, options_.folder, tag);
  }

  Result<bench::Promotion> judged(double share) {
    bench::PromoteOptions rule = options_.rule;
    rule.share = share;
    return bench::promote({options_.base, TRY(runs_of(options_.base))},
                          {options_.candidate, TRY(runs_of(options_.candidate))}, rule);
  }

  // Of --stack, A or A=B, or all.
  bool is_wanted(const bench::StackResult& stack) const {
    const auto& wanted = options_.rule.compare.stacks;
    return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& names) {
             const auto equals = names.find('=');
             return names.substr(0, equals) == stack.id || names.substr(equals + 1) == stack.id;
           });
  }
  // Whether the next run may have what this one lacks, since what is wanted is there and failed.
  bool may_yet_succeed(const bench::RunRecord& run) const {
    bool there = false, ok = false;
    for (const auto& stack : run.stacks) {
      there |= is_wanted(stack) && stack.status != bench::StackStatus::unavailable;
      ok |= is_wanted(stack) && stack.status == bench::StackStatus::ok;
    }
    return there && !ok;
  }

  // More runs cannot fix it, so it is reported after the first: runs that must not be compared, a
  // missing stack. Nothing is decided by it, and no error is spent.
  Result<std::optional<bench::Promotion>> refusal() {
    auto found = judged(bench::looks_until(options_.most_runs).front().share);
    if (found) {
      if (!found->comparison.refused_for_good()) return std::optional<bench::Promotion>();
      return std::optional(std::move(*found));
    }
    for (const auto& tag : {options_.base, options_.candidate})
      for (const auto& run : TRY(runs_of(tag)))
        if (may_yet_succeed(run)) return std::optional<bench::Promotion>();
    return std::unexpected(found.error());
  }

  Result<void> run_one(bool is_candidate, std::size_t pair) {
    const std::string& tag = is_candidate ? options_.candidate : options_.base;
    progress_.show(fmt::format("run {} of at most {}: {}", pair + 1, options_.most_runs, tag));
    Job job =
        TRY(job_of("--command", is_candidate ? options_.candidate_command.value_or(options_.command)
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
    const auto before = TRY(runs_of(tag)).size();
    const auto outcome = TRY(run_whole(job));
    if (TRY(runs_of(tag)).size() == before + 1) return {};
    const bool usage = outcome.end == JobEnd::exited && outcome.exit_code == kWrongUsage;
    return fail(usage ? ErrorKind::bad_input : ErrorKind::unsupported,
                fmt::format("{} wrote no new run of {} ({}, exit code {}): {}", job.program, tag,
                            to_string(outcome.end), outcome.exit_code, last_words(outcome)));
  }

  BenchLoopOptions& options_;
  Host& host_;
  std::set<bench::Kpi> told_;         // each once
  std::optional<std::string> value_;  // of the variable in the candidate's runs
  ProgressLine progress_{options_.globals.quiet};
};

Result<int> run_bench_loop(BenchLoopOptions& options) {
  catch_interrupts();
  const auto start = Clock::now();
  const auto host = make_live_host();
  Loop loop(options, *host);
  TRY(loop.check());
  if (options.gate)
    if (const auto passed = pass_gate(*options.gate); !passed)
      return interrupted() ? complain(passed.error()) : complain(passed.error(), Exit::unhealthy);
  const auto promotion = loop.decided(start);
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
        .value = &options->base,
        .help = "Tag of the base's runs",
        .required = true},
       {.name = "CANDIDATE",
        .value = &options->candidate,
        .help = "Tag of the candidate's runs",
        .required = true},
       {.name = "--command",
        .value = &options->command,
        .help = "The command of one run; the loop adds --tag, --add, --results and --idea. "
                "\"gpuready bench run\" if not given",
        .type = "CMD"},
       {.name = "--candidate-command",
        .value = &options->candidate_command,
        .help = "The command of the candidate, if it differs",
        .type = "CMD"},
       {.name = "--idea",
        .value = &options->idea,
        .help = "The one thing that the candidate changes: NAME=VALUE sets a variable only in its "
                "runs; or flags, or commit",
        .type = "NAME",
        .such_as = {"commit", "flags"}},
       {.name = "--gate",
        .value = &options->gate,
        .help = "Run this first; if it fails, nothing is timed. Its time counts towards the budget",
        .type = "CMD"},
       {.name = "--max-runs",
        .value = &options->most_runs,
        .help = "Maximum runs of each side (default: 12)",
        .type = "N",
        .range = Range{3, 1000}},
       {.name = "--budget",
        .value = &options->budget_s,
        .help = "Start no pair of runs after this time",
        .range = Range{1, 1e7},
        .seconds = true},
       {.name = "--seed",
        .value = &options->seed,
        .help = "Seed of the order of the sides (default: random)",
        .type = "N"},
       results_option(options->folder),
       markdown_option(options->globals.markdown, "the evidence as Markdown"),
       stack_option(options->rule.compare.stacks, "The stack that decides, if runs have several",
                    false)});
  options->rule_options.declare(command);
  command.footer =
      "Exit codes: 0 promote; 1 reject, or the gate failed; 2 wrong usage or bad input, also if "
      "the\nfirst two runs show that further runs are useless (several stacks without --stack, an "
      "idea\nthat changes nothing); 4 undecided within the budget, or a run failed; 130 "
      "interrupted.";
}

}  // namespace gpuready::cli
