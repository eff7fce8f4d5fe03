#include "bench/run/loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bench/run/adapters.h"
#include "bench/run/order.h"
#include "value/envelope.h"

namespace gpuready::bench {
namespace {

constexpr auto kLongestRun = std::chrono::hours(2);  // bench run has its own limits
constexpr std::string_view kOwnName = "gpuready";
// What a loop says to each run itself.
constexpr std::string_view kOwnOptions[] = {"--tag", "--results", "--replace", "--idea"};
constexpr std::string_view kHint = "--help for more information";
constexpr int kWrongUsage = static_cast<int>(Exit::usage);

std::string last_words(const JobOutcome& outcome) {
  auto all = lines(trim(outcome.err.empty() ? outcome.out : outcome.err));
  while (all.size() > 1 && (contains(all.back(), kHint) || trim(all.back()).empty()))
    all.pop_back();
  return all.empty() ? "it said nothing" : printable(all.back());
}

std::string end_of(const JobOutcome& outcome) {
  return fmt::format("({}, exit code {}): {}", to_string(outcome.end), outcome.exit_code,
                     last_words(outcome));
}

// Of --stack, A or A=B, or all.
bool is_wanted(const StackResult& stack, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& names) {
           const auto equals = names.find('=');
           return names.substr(0, equals) == stack.id || names.substr(equals + 1) == stack.id;
         });
}

// Whether the next run may have what this one lacks, since what is wanted is there and failed.
bool may_yet_succeed(const RunRecord& run, const std::vector<std::string>& wanted) {
  bool there = false, ok = false;
  for (const auto& stack : run.stacks) {
    if (!is_wanted(stack, wanted)) continue;
    there |= stack.status != StackStatus::unavailable;
    ok |= stack.status == StackStatus::ok;
  }
  return there && !ok;
}

}  // namespace

PromotionLoop::PromotionLoop(LoopOptions& options, Host& host, const LoopHooks& hooks)
    : options_(options), host_(host), hooks_(hooks) {
  if (!options_.idea) return;
  const auto equals = options_.idea->find('=');
  options_.rule.idea = options_.idea->substr(0, equals);
  if (equals != std::string::npos) value_ = options_.idea->substr(equals + 1);
}

Result<Job> PromotionLoop::job_of(const std::string& option, const std::string& command) const {
  const auto words = shell_words(command);
  if (!words)
    return fail(ErrorKind::bad_input,
                fmt::format("{} {}: {}", option, printable(command), words.error().message));
  if (words->empty()) return fail(ErrorKind::bad_input, option + " is empty");
  Job job;
  job.program = words->front() == kOwnName ? hooks_.program : words->front();
  job.args.assign(words->begin() + 1, words->end());
  job.limits.time = kLongestRun;
  return job;
}

Result<void> PromotionLoop::check_command(const std::string& option,
                                          const std::string& command) const {
  const Job job = TRY(job_of(option, command));
  if (shell_words(command)->front() != kOwnName) return {};
  for (const std::string& word : job.args)
    for (const auto own : kOwnOptions)
      if (word.substr(0, word.find('=')) == own && (own != "--idea" || options_.rule.idea))
        return fail(ErrorKind::bad_input,
                    fmt::format("{} {}: leave {} out, the loop says it to each run itself", option,
                                printable(command), own));
  return {};
}

Result<void> PromotionLoop::check() {
  for (const auto& tag : {options_.base, options_.candidate}) TRY(check_tag(tag));
  if (options_.base == options_.candidate)
    return fail(
        ErrorKind::bad_input,
        fmt::format("base and candidate are both {}: each needs a tag of its own", options_.base));
  if (options_.rule.idea && options_.rule.idea->empty())
    return fail(ErrorKind::bad_input,
                "--idea names nothing: give NAME=VALUE, flags, commit or another name");
  options_.rule.compare.reach.runs = options_.most_runs;
  if (options_.rule.compare.stacks.size() > 1)
    return fail(ErrorKind::bad_input, "--stack: one stack decides; name one");
  if (options_.gate) TRY(job_of("--gate", *options_.gate));
  TRY(check_command("--command", options_.command));
  if (options_.candidate_command)
    TRY(check_command("--candidate-command", *options_.candidate_command));
  for (const auto& tag : {options_.base, options_.candidate})
    if (!TRY(runs_of(tag)).empty())
      return fail(ErrorKind::bad_input,
                  fmt::format("the tag {} has runs already; a loop's runs are its own, since what "
                              "was seen before is not in its error budget",
                              tag));
  return {};
}

Result<void> PromotionLoop::pass_gate() {
  if (!options_.gate) return {};
  const auto outcome = TRY(hooks_.run(TRY(job_of("--gate", *options_.gate))));
  if (outcome.end == JobEnd::exited && outcome.exit_code == 0) return {};
  return fail(ErrorKind::unsupported,
              fmt::format("the gate did not pass, so nothing was timed: {} {}", *options_.gate,
                          end_of(outcome)));
}

Result<Promotion> PromotionLoop::decided() {
  const auto first = candidate_first(options_.most_runs, options_.order_seed);
  std::size_t pairs = 0;
  std::optional<Promotion> last;
  for (const auto& look : looks_until(options_.most_runs)) {
    for (; pairs < look.runs; ++pairs) {
      if (options_.budget_s && hooks_.elapsed_s() > *options_.budget_s) {
        if (pairs == 0)
          return fail(ErrorKind::timed_out, "the budget of time ended before the first run");
        return without_decision(std::move(last), "the budget of time ended");
      }
      for (const bool second : {false, true}) TRY(run_one(first[pairs] != second, pairs));
      if (auto useless = TRY(refusal())) return std::move(*useless);
    }
    last = TRY(judged(look.share));
    // Refused runs need more, too: the machine's load may even out.
    if (last->decision != Decision::need_more_runs) return *last;
    tell_noise(*last);
  }
  return *last;
}

// Early, since it may take a longer run or another allowance.
void PromotionLoop::tell_noise(const Promotion& so_far) {
  for (const auto* guards : {&so_far.unguarded, &so_far.too_noisy})
    for (const auto& guard : *guards)
      if (told_.insert(guard.kpi).second)
        hooks_.tell(printable(
            fmt::format("{} {}: {}", name_of(guard.kpi),
                        guards == &so_far.too_noisy ? "is too noisy to guard" : "is not guarded",
                        guard.reason)));
}

// What a look that was not due would find is not reported: it has no share of the error.
Result<Promotion> PromotionLoop::without_decision(std::optional<Promotion> last, std::string why) {
  if (!last) last = TRY(judged(looks_until(options_.most_runs).front().share));
  if (last->decision == Decision::promote) last->decision = Decision::need_more_runs;
  last->reasons.push_back(std::move(why));
  return *last;
}

Result<std::vector<RunRecord>> PromotionLoop::runs_of(const std::string& tag) {
  return runs_of_tag(host_, options_.folder, tag);
}

Result<Promotion> PromotionLoop::judged(double share) {
  PromoteOptions rule = options_.rule;
  rule.share = share;
  return promote({options_.base, TRY(runs_of(options_.base))},
                 {options_.candidate, TRY(runs_of(options_.candidate))}, rule);
}

// Without the base's stack there is nothing to compare with.
Result<void> PromotionLoop::check_base() {
  if (options_.rule.compare.stacks.empty()) return {};
  const std::string& named = options_.rule.compare.stacks.front();
  const std::string id = named.substr(0, named.find('='));
  for (const auto& run : TRY(runs_of(options_.base)))
    if (const auto* stack = run.stack(id); stack && stack->status == StackStatus::unavailable)
      return fail(ErrorKind::bad_input,
                  printable(fmt::format("{} is unavailable in the run of {}: {}", id, options_.base,
                                        stack->reason)));
  return {};
}

// More runs cannot fix it, so it is reported after the first: runs that must not be compared, a
// missing stack. Nothing is decided by it, and no error is spent.
Result<std::optional<Promotion>> PromotionLoop::refusal() {
  auto found = judged(looks_until(options_.most_runs).front().share);
  if (found) {
    if (found->comparison.refused_for_good()) return std::optional(std::move(*found));
    TRY(check_base());
    return std::optional<Promotion>();
  }
  for (const auto& tag : {options_.base, options_.candidate})
    for (const auto& run : TRY(runs_of(tag)))
      if (may_yet_succeed(run, options_.rule.compare.stacks)) return std::optional<Promotion>();
  return std::unexpected(found.error());
}

Result<void> PromotionLoop::run_one(bool is_candidate, std::size_t pair) {
  const std::string& tag = is_candidate ? options_.candidate : options_.base;
  hooks_.progress(fmt::format("run {} of at most {}: {}", pair + 1, options_.most_runs, tag));
  Job job =
      TRY(job_of("--command", is_candidate ? options_.candidate_command.value_or(options_.command)
                                           : options_.command));
  job.args.insert(job.args.end(), {"--tag", tag, "--add", "--results", options_.folder});
  if (options_.rule.idea) {
    job.args.insert(job.args.end(), {"--idea", *options_.rule.idea});
    if (value_)
      job.env.emplace_back(*options_.rule.idea,
                           is_candidate ? value_ : std::optional<std::string>());
  }
  const auto before = TRY(runs_of(tag)).size();
  const auto outcome = TRY(hooks_.run(job));
  if (TRY(runs_of(tag)).size() == before + 1) return {};
  const bool usage = outcome.end == JobEnd::exited && outcome.exit_code == kWrongUsage;
  return fail(usage ? ErrorKind::bad_input : ErrorKind::unsupported,
              fmt::format("{} wrote no new run of {} {}", job.program, tag, end_of(outcome)));
}

}  // namespace gpuready::bench
