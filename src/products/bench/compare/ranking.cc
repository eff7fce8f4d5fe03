#include "bench/compare/ranking.h"

#include <algorithm>
#include <cmath>

#include "bench/compare/estimate.h"
#include "bench/compare/losses.h"

namespace gpuready::bench {
namespace {

constexpr double kError = 0.01;
constexpr double kResolution = 1e-4;

double typical(const Latency& latency) {
  return latency.p50_ns.value_or(latency.mean_ns.value_or(0));
}

// In no order of time: stacks change places from repeat to repeat, and their means are compared.
std::vector<RunValue> repeats_of(const StackResult& stack) {
  std::vector<RunValue> values;
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok)
      if (const double ns = typical(latency_of(repeat)); ns > 0)
        values.push_back({0, std::log(ns)});
  return values;
}

}  // namespace

Ranking ranking_of(const RunRecord& run) {
  Ranking ranking;
  ranking.same_work = run.protocol.is_ours();
  std::vector<const StackResult*> good;
  for (const auto& stack : run.stacks) {
    if (!run.is_whole() && stack.status == StackStatus::ok)
      ranking.others.push_back({stack.id, "interrupted", "the run is not whole"});
    else if (stack.status == StackStatus::ok && typical(latency_of(stack)) > 0)
      good.push_back(&stack);
    else
      ranking.others.push_back({stack.id, std::string(name_of(stack.status)), stack.reason});
  }
  if (ranking.same_work)
    std::stable_sort(good.begin(), good.end(), [](const auto* a, const auto* b) {
      return typical(latency_of(*a)) < typical(latency_of(*b));
    });
  for (const auto* stack : good) {
    RankedStack entry{stack->id, latency_of(*stack), {}, {}, {}, false, p95_counts(*stack)};
    entry.latency.p95_ns = p95_of(*stack);
    for (auto& lost : losses_of(std::span(&run, 1), stack->id).reasons)
      ranking.losses.push_back(std::move(lost));
    const auto estimated =
        stack == good.front() || !ranking.same_work
            ? std::nullopt
            : estimate(repeats_of(*good.front()), repeats_of(*stack), kResolution);
    if (estimated) {
      const double half = estimated->half_width(kError / static_cast<double>(good.size() - 1));
      entry.ratio = std::exp(estimated->difference);
      entry.low = std::exp(estimated->difference - half);
      entry.high = std::exp(estimated->difference + half);
      entry.told_apart = *entry.low > 1;
    }
    ranking.ranked.push_back(std::move(entry));
  }
  return ranking;
}

}  // namespace gpuready::bench
