#include "bench/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "bench/run/adapter_child.h"
#include "bench/run/child_variables.h"
#include "jobs/running_job.h"

namespace gpuready::bench {
namespace {

// What is kept of a child's words: its answer stands last.
constexpr std::size_t kKeptBytes = 8u << 20;
constexpr int kMostFailures = 2;

void keep_the_end(std::string& text) {
  if (text.size() > 2 * kKeptBytes) text.erase(0, text.size() - kKeptBytes);
}

Job job_of(const StackCommand& stack, const Request& request, const SessionOptions& options) {
  Job job;
  job.program = stack.command[0];
  job.args.assign(stack.command.begin() + 1, stack.command.end());
  job.keeps = is_given_to_stacks;
  job.env = options.environment;
  for (const auto& [name, value] : stack.environment) job.env.emplace_back(name, value);
  for (const auto& [name, value] : variables_of(request)) job.env.emplace_back(name, value);
  job.limits = options.limits;
  job.output_limit_bytes = 4 * kKeptBytes;
  return options.supervisor.empty() ? job : supervised(std::move(job), options.supervisor);
}

Answer failed(StackStatus status, std::string reason) {
  Answer answer;
  answer.repeat.status = status;
  answer.repeat.reason = std::move(reason);
  return answer;
}

// A command that somebody gave is wrong; one of ours is not installed.
Answer not_started(const StackCommand& stack, const std::string& why) {
  if (stack.variable.empty()) return failed(StackStatus::unavailable, why);
  return failed(StackStatus::error, fmt::format("{}: the command '{}': {}", stack.variable,
                                                join(stack.command, " "), why));
}

Answer run_once(const StackCommand& stack, const Request& request, const SessionOptions& options,
                double& child_ms) {
  if (stack.command.empty()) return failed(StackStatus::unavailable, stack.reason);
  const Job job = job_of(stack, request, options);
  const PoolOptions pool{
      .at_once = 1, .watch = options.watch, .on_output = [](std::size_t, RunningJob& child) {
        keep_the_end(child.text(kOut));
        keep_the_end(child.text(kErr));
      }};
  auto outcome = std::move(run_jobs({&job, 1}, pool).front());
  if (!outcome) return not_started(stack, outcome.error().message);
  child_ms = outcome->duration_ms;
  const AdapterEnd end = options.supervisor.empty() ? AdapterEnd{} : take_adapter_end(outcome->err);
  if (!end.cannot_start.empty()) return not_started(stack, end.cannot_start);
  Answer answer = answer_of(*outcome, request, options.limits);
  if (request.device == "cpu" && end.peak_resident_bytes) {
    answer.repeat.memory_peak_bytes = end.peak_resident_bytes;
    answer.repeat.memory_seen = "resident";
  }
  return answer;
}

bool tried_enough(std::span<const RanRepeat> ran, std::size_t stack) {
  int failures = 0;
  for (const RanRepeat& each : ran) {
    if (each.stack != stack) continue;
    const StackStatus status = each.answer.repeat.status;
    if (status == StackStatus::unavailable || status == StackStatus::different_work) return true;
    if (status == StackStatus::error || status == StackStatus::not_believable) ++failures;
  }
  return failures >= kMostFailures;
}

// What this round and `rounds` more take, if each stack takes as long as it did last; empty before
// each was run once.
std::string left_text(std::span<const RanRepeat> ran, std::span<const std::size_t> of_this_round,
                      std::size_t rounds, bool may_end_early, const std::vector<bool>& open) {
  std::map<std::size_t, double> last_ms;
  for (const RanRepeat& each : ran) last_ms[each.stack] = each.span.end_ms - each.span.begin_ms;
  double ms = 0;
  for (const std::size_t stack : of_this_round) {
    if (!last_ms.contains(stack)) return "";
    if (open[stack] && !tried_enough(ran, stack)) ms += last_ms[stack];
  }
  for (const auto& [stack, one_ms] : last_ms)
    if (open[stack] && !tried_enough(ran, stack)) ms += static_cast<double>(rounds) * one_ms;
  const double s = std::ceil(ms / 1000);
  return fmt::format("; {} {} left", may_end_early ? "at most" : "about",
                     s < 120 ? fmt::format("{} s", s) : fmt::format("{} min", std::ceil(s / 60)));
}

}  // namespace

std::vector<std::vector<std::size_t>> balanced_order(std::size_t stacks, std::size_t repeats,
                                                     std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> rounds;
  SplitMix64 random(seed);
  for (std::size_t round = 0; round < repeats; ++round) {
    std::vector<std::size_t> order(stacks);
    if (round % 2 == 1) {
      order.assign(rounds.back().rbegin(), rounds.back().rend());
    } else {
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = stacks; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
    }
    rounds.push_back(std::move(order));
  }
  return rounds;
}

std::vector<RanRepeat> run_session(std::span<const StackCommand> stacks, const Request& request,
                                   std::span<const ExpectedDigest> expected,
                                   const SessionOptions& options, const RoundHooks& hooks) {
  std::vector<RanRepeat> ran;
  std::size_t round = 0;
  const unsigned threads = std::thread::hardware_concurrency();
  std::vector<bool> open(stacks.size(), true);
  for (const auto& order : balanced_order(stacks.size(), options.repeats, options.order_seed)) {
    const std::size_t first = ran.size();
    ++round;
    hooks.begins();
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t stack = order[place];
      if (!open[stack] || tried_enough(ran, stack)) continue;
      if (options.watch.cancel != nullptr && options.watch.cancel->load()) break;
      options.progress(fmt::format("repeat {} of {}: {}{}", round, options.repeats,
                                   stacks[stack].id,
                                   left_text(ran, std::span(order).subspan(place),
                                             options.repeats - round, bool(hooks.open), open)));
      RanRepeat repeat;
      repeat.stack = stack;
      repeat.span.begin_ms = monotonic_ms();
      double child_ms = 0;
      repeat.answer = run_once(stacks[stack], request, options, child_ms);
      const double ended_ms = monotonic_ms();
      const bool cut_off = options.watch.cancel != nullptr && options.watch.cancel->load() &&
                           repeat.answer.repeat.status == StackStatus::error;
      if (cut_off) break;
      check_digest(repeat.answer, request, expected);
      check_times(repeat.answer, request, {repeat.span.begin_ms, ended_ms}, threads);
      repeat.span.end_ms = monotonic_ms();
      repeat.harness_ms = repeat.span.end_ms - repeat.span.begin_ms - child_ms;
      repeat.answer.repeat.position = ran.size();
      ran.push_back(std::move(repeat));
    }
    hooks.ends(std::span(ran).subspan(first));
    if (!hooks.open || round < kFewestRounds || round % 2 == 1) continue;
    open.assign(stacks.size(), false);
    for (const std::size_t stack : hooks.open(ran)) open[stack] = true;
    if (std::ranges::none_of(open, std::identity())) break;
  }
  return ran;
}

std::vector<StackResult> results_of(std::span<const StackCommand> stacks,
                                    std::span<const RanRepeat> ran) {
  std::vector<StackResult> results;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    StackResult& result = results.emplace_back();
    result.id = stacks[i].id;
    result.display_name = stacks[i].display_name == stacks[i].id ? "" : stacks[i].display_name;
    result.command = stacks[i].command;
    for (const auto& [name, value] : stacks[i].environment) result.variables[name] = value;
    std::map<StackStatus, std::pair<std::size_t, std::string>> seen;  // how often, the first reason
    bool supported = true;
    for (const RanRepeat& each : ran) {
      if (each.stack != i) continue;
      const Repeat& repeat = each.answer.repeat;
      auto& [count, reason] = seen[repeat.status];
      if (count++ == 0) reason = repeat.reason;
      if (!each.answer.mode.empty()) result.mode = each.answer.mode;
      for (const auto& [name, version] : each.answer.versions) result.versions[name] = version;
      for (const auto& [name, value] : each.answer.settings) result.settings[name] = value;
      if (repeat.unverified) result.unverified = true;
      if (each.answer.reference) result.reference = true;
      result.repeats.push_back(repeat);
      supported = each.answer.supported;
    }
    if (seen.empty()) {
      result.status = StackStatus::error;
      result.reason = "it was interrupted before a repeat of it had ended";
      continue;
    }
    using enum StackStatus;
    // Other work forbids a ranking, whatever else there was; a failure beside good repeats does
    // not.
    for (const StackStatus status :
         {different_work, ok, not_believable, no_valid_samples, error, unavailable}) {
      const auto found = seen.find(status);
      if (found == seen.end()) continue;
      result.status = status;
      result.reason = found->second.second;
      break;
    }
    for (const StackStatus status : {not_believable, error})
      if (result.status == ok && seen.contains(status))
        result.reason = fmt::format("{} of {} repeats failed: {}", seen[status].first,
                                    result.repeats.size(), seen[status].second);
    if (result.status == unavailable) {
      if (supported) result.cure = stacks[i].cure;
      result.repeats.clear();
    }
  }
  return results;
}

}  // namespace gpuready::bench
