#include "bench/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "bench/run/adapter_run.h"

namespace gpuready::bench {
namespace {

constexpr int kMostFailures = 2;

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

class Session {
 public:
  Session(std::span<const StackCommand> stacks, const Request& request,
          std::span<const ExpectedDigest> expected, const SessionOptions& options,
          const RoundHooks& hooks)
      : stacks_(stacks),
        request_(request),
        expected_(expected),
        options_(options),
        hooks_(hooks),
        open_(stacks.size(), true) {
    for (const StackCommand& stack : stacks)
      has_gate_.push_back(stack.has_gate && options.at_once > 1);
  }

  std::vector<RanRepeat> run() {
    for (const auto& order : balanced_order(stacks_.size(), options_.repeats, options_.order_seed))
      turns_.insert(turns_.end(), order.begin(), order.end());
    for (bool goes_on = true; goes_on && turn_ < turns_.size();) {
      const std::size_t first = ran_.size();
      ++round_;
      hooks_.begins();
      for (const std::size_t end = turn_ + stacks_.size(); turn_ < end; ++turn_)
        if (goes_on && !is_done(turns_[turn_])) goes_on = run_next();
      hooks_.ends(std::span(ran_).subspan(first));
      if (!hooks_.open || round_ < kFewestRounds || round_ % 2 == 1) continue;
      open_.assign(stacks_.size(), false);
      for (const std::size_t stack : hooks_.open(ran_)) open_[stack] = true;
      discard([&](std::size_t stack) { return is_done(stack); });
      if (std::ranges::none_of(open_, std::identity())) break;
    }
    discard([](std::size_t) { return true; });
    return std::move(ran_);
  }

 private:
  struct Prepared {
    AdapterRun run;
    double ms = 0;  // its share of the time that they took
    bool overlapped = false;
    Prepared(const StackCommand& stack, const Request& request, const SessionOptions& options)
        : run(stack, request, options, true) {}
  };

  // What waits at its gate for a turn of such a stack.
  template <class Unwanted>
  void discard(Unwanted&& is_unwanted) {
    std::vector<AdapterRun*> runs;
    for (auto& [turn, one] : prepared_)
      if (is_unwanted(turns_[turn])) runs.push_back(&one.run);
    AdapterRun::end(runs);
    std::erase_if(prepared_, [&](const auto& one) { return is_unwanted(turns_[one.first]); });
  }

  bool is_done(std::size_t stack) const { return !open_[stack] || tried_enough(ran_, stack); }
  bool is_cancelled() const {
    return options_.watch.cancel != nullptr && options_.watch.cancel->load();
  }

  void tell(std::string_view what) const {
    options_.progress(
        fmt::format("repeat {} of {}: {}{}", round_, options_.repeats, what, left_text()));
  }

  // What this turn and the others take, if each stack takes as long as it did last; empty before
  // each was run once.
  std::string left_text() const {
    std::map<std::size_t, const RanRepeat*> last;
    for (const RanRepeat& each : ran_) last[each.stack] = &each;
    double ms = 0;
    for (std::size_t turn = turn_; turn < turns_.size(); ++turn) {
      const std::size_t stack = turns_[turn];
      if (is_done(stack)) continue;
      const auto one = last.find(stack);
      if (one == last.end()) return "";
      const RanRepeat& ran = *one->second;
      ms += ran.span.end_ms - ran.span.begin_ms + (prepared_.contains(turn) ? 0 : ran.prepare_ms);
    }
    const double s = std::ceil(ms / 1000);
    return fmt::format("; {} {} left", hooks_.open ? "at most" : "about",
                       s < 120 ? fmt::format("{} s", s) : fmt::format("{} min", std::ceil(s / 60)));
  }

  // The next adapters with a gate, of this round and of later ones, while nothing is timed.
  void prepare() {
    std::vector<Prepared*> made;
    for (std::size_t turn = turn_; turn < turns_.size(); ++turn) {
      const std::size_t stack = turns_[turn];
      if (!has_gate_[stack] || is_done(stack) || prepared_.contains(turn)) continue;
      if (!made.empty() && prepared_.size() >= options_.at_once) break;
      made.push_back(
          &prepared_.try_emplace(turn, stacks_[stack], request_, options_).first->second);
    }
    tell("preparing " +
         (made.size() > 1 ? fmt::format("{} processes", made.size()) : stacks_[turns_[turn_]].id));
    const double begin_ms = monotonic_ms();
    std::vector<AdapterRun*> runs;
    for (Prepared* one : made) runs.push_back(&one->run);
    AdapterRun::prepare(runs);
    for (Prepared* one : made) {
      one->ms = (monotonic_ms() - begin_ms) / static_cast<double>(made.size());
      one->overlapped = made.size() > 1;
    }
  }

  // False where an interrupt ends the session.
  bool run_next() {
    const std::size_t stack = turns_[turn_];
    if (is_cancelled()) return false;
    if (has_gate_[stack] && !prepared_.contains(turn_)) prepare();
    tell(stacks_[stack].id);
    RanRepeat repeat;
    repeat.stack = stack;
    repeat.span.begin_ms = monotonic_ms();
    double child_ms = 0;
    if (has_gate_[stack]) {
      Prepared& prepared = prepared_.at(turn_);
      repeat.answer = prepared.run.finish(child_ms);
      repeat.prepare_ms = prepared.ms;
      repeat.overlapped = prepared.overlapped;
      if (prepared.overlapped && prepared.run.missed_gate() &&
          repeat.answer.repeat.status != StackStatus::unavailable) {
        has_gate_[stack] = false;  // from now on it runs by itself
        discard([&](std::size_t other) { return other == stack; });
      }
      prepared_.erase(turn_);
    }
    if (!has_gate_[stack]) {
      repeat.overlapped = false;
      repeat.span.begin_ms = monotonic_ms();
      repeat.answer = AdapterRun(stacks_[stack], request_, options_, false).finish(child_ms);
    }
    const double ended_ms = monotonic_ms();
    if (is_cancelled() && repeat.answer.repeat.status == StackStatus::error) return false;
    check_digest(repeat.answer, request_, expected_);
    check_times(repeat.answer, request_, {repeat.span.begin_ms, ended_ms}, threads_);
    repeat.span.end_ms = monotonic_ms();
    repeat.harness_ms = repeat.span.end_ms - repeat.span.begin_ms - child_ms;
    repeat.answer.repeat.position = ran_.size();
    ran_.push_back(std::move(repeat));
    if (is_done(stack)) discard([&](std::size_t other) { return other == stack; });
    return true;
  }

  std::span<const StackCommand> stacks_;
  const Request& request_;
  std::span<const ExpectedDigest> expected_;
  const SessionOptions& options_;
  const RoundHooks& hooks_;
  const unsigned threads_ = std::thread::hardware_concurrency();
  std::vector<RanRepeat> ran_;
  std::size_t round_ = 0;
  std::vector<std::size_t> turns_;  // the stacks of all rounds, in order
  std::size_t turn_ = 0;
  std::vector<bool> open_, has_gate_;         // by stack
  std::map<std::size_t, Prepared> prepared_;  // by turn, at their gates
};

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
  return Session(stacks, request, expected, options, hooks).run();
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
