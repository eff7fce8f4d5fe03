#include "bench/compare/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "bench/compare/distributions.h"
#include "bench/compare/estimate.h"
#include "bench/compare/losses.h"
#include "bench/compare/noise.h"

namespace gpuready::bench {
namespace {

constexpr double kError = 0.01;
constexpr std::size_t kLeastRepeats = 2;

double typical(const Latency& latency) {
  return latency.p50_ns.value_or(latency.mean_ns.value_or(0));
}

// Each at its place in the run: stacks take turns, so that those of a round are a pair.
std::vector<RunValue> repeats_of(const StackResult& stack) {
  std::vector<RunValue> values;
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok)
      if (const double ns = typical(latency_of(repeat)); ns > 0)
        values.push_back({static_cast<double>(repeat.position), std::log(ns)});
  return values;
}

// Of the rounds in which both ran: a stack whose time is known is not repeated with the others.
std::optional<Estimate> estimate_of(const StackResult& one, const StackResult& other,
                                    const std::optional<Noise>& learned) {
  auto base = repeats_of(one), candidate = repeats_of(other);
  if (one.repeats.size() != other.repeats.size()) {
    const auto shared = std::min(base.size(), candidate.size());
    base.resize(shared);
    candidate.resize(shared);
  }
  return estimate(base, candidate, kTimerStep, learned);
}

// After this number of repeats with the noise of those that it has.
std::optional<double> uncertainty_after(const StackResult& stack, std::size_t repeats) {
  std::vector<double> values;
  for (const auto& repeat : repeats_of(stack)) values.push_back(repeat.value);
  if (values.size() < 2) return std::nullopt;
  const double variance = std::max(noise_around_mean(values).variance, kTimerStep * kTimerStep);
  const double n = static_cast<double>(repeats);
  return std::expm1(student_t_critical(kError, n - 1) * std::sqrt(variance / n));
}

// What the other stacks say of the noise.
std::optional<Noise> noise_beside(const std::vector<const StackResult*>& stacks,
                                  const StackResult* one, const StackResult* other) {
  constexpr std::size_t kLeast = 3;  // of which it shows how far they differ
  std::vector<Noise> groups;
  for (const auto* stack : stacks) {
    if (stack == one || stack == other) continue;
    std::vector<double> values;
    for (const auto& repeat : repeats_of(*stack)) values.push_back(repeat.value);
    if (const auto noise = noise_of(values)) groups.push_back(*noise);
  }
  return groups.size() < kLeast ? std::nullopt : learned_from(groups, kTimerStep);
}

// The fastest of equal stacks may be any, and any other may be called slower: any two count.
std::size_t comparisons_of(std::size_t stacks) { return stacks * (stacks - 1) / 2; }

// Beside the fastest of these stacks.
RankedStack ranked(const std::vector<const StackResult*>& stacks, const StackResult& stack,
                   std::string& learned) {
  RankedStack entry;
  entry.id = stack.id;
  entry.latency = latency_of(stack);
  entry.latency.p95_ns = p95_of(stack);
  entry.p95_counts = p95_counts(stack);
  const StackResult& fastest = *stacks.front();
  if (&stack == &fastest) return entry;
  const double ratio = typical(entry.latency) / typical(latency_of(fastest));
  entry.ratio = ratio;
  entry.repeats = std::min(repeats_of(stack).size(), repeats_of(fastest).size());
  const auto found = estimate_of(fastest, stack, noise_beside(stacks, &fastest, &stack));
  if (!found) {
    entry.repeats_for_interval = kLeastRepeats;
    return entry;
  }
  const double alpha = kSpent * kError / static_cast<double>(comparisons_of(stacks.size()));
  entry.repeats_for_interval = runs_for_use(*found, alpha);
  if (entry.repeats_for_interval) return entry;
  const double half = found->half_width(alpha);
  const bool differs = found->difference > half;
  const auto to_tell_states = runs_to_tell_states(comparisons_of(stacks.size()));
  if (differs && std::min(found->base_runs, found->candidate_runs) < to_tell_states &&
      KnownStates().may_be(found->difference))
    entry.repeats_for_states = to_tell_states;
  entry.told_apart = differs && !entry.repeats_for_states;
  entry.low = std::min(ratio, std::exp(found->difference - half));
  entry.high = std::max(ratio, std::exp(found->difference + half));
  if (found->learned_degrees > 0) learned = "the other stacks of the run";
  return entry;
}

}  // namespace

Ranking ranking_of(const RunRecord& run) {
  Ranking ranking;
  ranking.same_work = run.protocol.is_ours();
  std::vector<const StackResult*> good;
  for (const auto& stack : run.stacks) {
    if (!run.is_whole() && stack.status == StackStatus::ok)
      ranking.others.push_back({stack.id, "interrupted", "the run is not whole", {}});
    else if (stack.status != StackStatus::ok || typical(latency_of(stack)) == 0)
      ranking.others.push_back({stack.id, std::string(name_of(stack.status)), stack.reason, {}});
    else if (stack.is_contestant())
      good.push_back(&stack);
    else if (stack.is_verified())
      ranking.others.push_back(
          {stack.id, "reference", "it is made to be checked against", typical(latency_of(stack))});
    else
      ranking.others.push_back({stack.id, "unverified",
                                "it gave no digest, so nothing shows which work it did",
                                typical(latency_of(stack))});
  }
  if (ranking.same_work)
    std::stable_sort(good.begin(), good.end(), [](const auto* a, const auto* b) {
      return typical(latency_of(*a)) < typical(latency_of(*b));
    });
  for (const auto* stack : good) {
    for (auto& lost : losses_of(std::span(&run, 1), stack->id).reasons)
      ranking.losses.push_back(std::move(lost));
    // Other work has no ratio.
    ranking.ranked.push_back(
        ranked(ranking.same_work ? good : std::vector{stack}, *stack, ranking.learned));
  }
  return ranking;
}

std::optional<double> uncertainty_of(const StackResult& stack) {
  return uncertainty_after(stack, repeats_of(stack).size());
}

std::vector<std::string> notes_of_uncertainty(const std::vector<StackResult>& stacks,
                                              double until) {
  std::vector<std::string> notes;
  for (const auto& stack : stacks)
    if (const auto known = uncertainty_of(stack);
        stack.status == StackStatus::ok && known && *known > until)
      notes.push_back(fmt::format(
          "{} is known to {:.1f}% after {} repeats: its repeats vary too much for {:g}%.",
          stack.name(), *known * 100, stack.repeats.size(), until * 100));
  return notes;
}

std::vector<std::size_t> stacks_to_repeat(const std::vector<StackResult>& stacks, double until,
                                          std::size_t most) {
  std::vector<std::size_t> open;
  std::optional<std::size_t> fastest;
  const auto contestants = std::ranges::count_if(stacks, [](const auto& stack) {
    return stack.status == StackStatus::ok && stack.is_contestant();
  });
  const auto least = contestants < 2 ? 0
                                     : std::min(most, runs_to_tell_states(comparisons_of(
                                                          static_cast<std::size_t>(contestants))));
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].status != StackStatus::ok) continue;
    if (stacks[i].is_contestant() &&
        (!fastest || typical(latency_of(stacks[i])) < typical(latency_of(stacks[*fastest]))))
      fastest = i;
    // A deviation of n values is itself uncertain by 1 / sqrt(2 (n - 1)).
    const double n = static_cast<double>(std::max<std::size_t>(repeats_of(stacks[i]).size(), 2));
    const double hope = 1 + 1 / std::sqrt(2 * (n - 1));
    const bool few = stacks[i].is_contestant() && repeats_of(stacks[i]).size() < least &&
                     stacks[i].repeats.size() < most;
    if (few || (uncertainty_of(stacks[i]).value_or(1) > until &&
                uncertainty_after(stacks[i], most).value_or(0) <= until * hope))
      open.push_back(i);
  }
  if (!open.empty() && fastest && std::ranges::find(open, *fastest) == open.end())
    open.push_back(*fastest);
  return open;
}

std::string too_few_to_tell_states(const Ranking& ranking) {
  std::optional<std::size_t> least;
  std::size_t repeats = SIZE_MAX;
  for (const auto& stack : ranking.ranked)
    if (stack.repeats_for_states) {
      least = stack.repeats_for_states;
      repeats = std::min(repeats, stack.repeats);
    }
  return least ? too_few_to_tell_states("repeats", repeats, *least) : "";
}

std::vector<std::string> not_told_apart(const Ranking& ranking) {
  std::vector<std::string> ids;
  for (std::size_t i = 1; i < ranking.ranked.size(); ++i)
    if (!ranking.ranked[i].told_apart) ids.push_back(ranking.ranked[i].id);
  return ids;
}

namespace {

// A run's samples of a stack, as one repeat.
Repeat as_repeat(const StackResult& stack, std::size_t position) {
  Repeat one;
  one.position = position;
  one.status = stack.status;
  one.reason = stack.reason;
  one.samples_ns = valid_samples_of(stack);
  one.reported = latency_of(stack);
  return one;
}

void add_run(RunRecord& all, const RunRecord& run, std::size_t number) {
  const std::size_t count = run.stacks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const StackResult& stack = run.stacks[i];
    // A run's stacks took turns; forth and back, so that none comes first in each run.
    const Repeat one = as_repeat(stack, number * count + (number % 2 == 1 ? count - 1 - i : i));
    auto same = std::ranges::find(all.stacks, stack.id, &StackResult::id);
    if (same == all.stacks.end()) {
      all.stacks.push_back(stack);
      same = all.stacks.end() - 1;
      same->repeats.clear();
    }
    if (same->status != StackStatus::ok && stack.status == StackStatus::ok)
      same->status = stack.status;
    same->repeats.push_back(one);
    if (stack.status != StackStatus::ok) continue;
    for (const auto& repeat : stack.repeats)  // what is lost is not lost silently
      if (repeat.status != StackStatus::ok) same->repeats.push_back(repeat);
  }
  all.protocol.repeats = number + 1;
  all.protocol.until_percent.reset();
}

bool is_one_table(const RunRecord& a, const RunRecord& b) {
  return a.tag == b.tag && a.is_whole() && b.is_whole() && a.protocol.is_ours() &&
         workload_key(a.workload) == workload_key(b.workload) &&
         a.workload.dtype == b.workload.dtype && a.workload.device == b.workload.device &&
         a.environment.fingerprint() == b.environment.fingerprint();
}

// Environment variables whose values are not the same in all of these runs.
std::vector<std::string> differing_variables(const std::vector<RunRecord>& runs,
                                             const std::vector<std::size_t>& places) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> count;
  for (const std::size_t i : places)
    for (const auto& [name, value] : runs[i].environment.variables) {
      values[name].insert(value);
      ++count[name];
    }
  std::vector<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1 || count[name] < places.size()) names.push_back(name);
  return names;
}

}  // namespace

std::vector<RunRecord> one_per_tag(const std::vector<RunRecord>& runs) {
  std::vector<RunRecord> all;
  std::vector<bool> done(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (done[i]) continue;
    std::vector<std::size_t> alike;
    for (std::size_t j = i; j < runs.size(); ++j)
      if (j == i || (!done[j] && is_one_table(runs[i], runs[j]))) alike.push_back(j);
    for (const std::size_t j : alike) done[j] = true;
    all.push_back(runs[i]);
    if (alike.size() == 1) continue;
    RunRecord& one = all.back();
    one.stacks.clear();
    for (std::size_t number = 0; number < alike.size(); ++number)
      add_run(one, runs[alike[number]], number);
    one.notes = {fmt::format("{} runs; each counts as one repeat.", alike.size())};
    if (const auto names = differing_variables(runs, alike); !names.empty())
      one.notes.push_back(
          fmt::format("These runs differ in {}: the table mixes them.", join(names, ", ")));
  }
  return all;
}

}  // namespace gpuready::bench
