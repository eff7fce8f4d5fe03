// How often are `bench compare`, `promote` and `history` wrong? Simulated runs whose truth is
// known. usage: simulations [COUNT [PART [SEED]]]: comparisons of each kind, 1000 if not given; of
// one only the part: alike, loop, guard, power, rank, rules or steps (all: each). Rules were chosen
// at seed 0: another one judges them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/distributions.h"
#include "bench/compare/promote.h"
#include "bench/compare/ranking.h"
#include "bench/history/history.h"
#include "bench/noise.h"

namespace gpuready::bench {
namespace {

constexpr SimulatedNoise kNoises[] = {
    {.name = "independent 1%", .white = 0.01},
    {.name = "correlated 0.5", .correlated = 0.01, .correlation = 0.5},
    {.name = "correlated 0.9", .correlated = 0.01, .correlation = 0.9},
    {.name = "drift 0.3% a run", .white = 0.005, .drift = 0.003},
    {.name = "walk 0.3% a run", .white = 0.005, .walk = 0.003},
    {.name = "2% shared by pairs", .white = 0.003, .shared = 0.02},
    {.name = "5% outliers", .white = 0.003, .outliers = 0.1},
    {.name = "tails", .tails = 0.005},
    {.name = "two states, 10%", .white = 0.003, .states = 0.1},
    {.name = "the same, clock read", .white = 0.003, .states = 0.1, .sm_mhz = 1980},
    {.name = "two states, 40%", .white = 0.003, .states = 0.4},
    {.name = "candidate 4x noisier", .white = 0.005, .noisier = 4},
};
constexpr int kSamples = 1;  // of a repeat: a run's value is what matters
constexpr std::size_t kEarlier = 10;

std::uint64_t first_seed = 17;

// Counts a thing over seeds, on all cores.
using Trial = std::function<void(std::uint64_t seed, std::vector<int>& counts)>;
std::vector<int> counted(int trials, std::size_t kinds, const Trial& trial) {
  std::vector<int> sums(kinds);
  std::mutex lock;
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      std::vector<int> mine(kinds);
      for (int i = next++; i < trials; i = next++)
        trial(1'000'003ull * static_cast<unsigned>(i) + first_seed, mine);
      const std::lock_guard guard(lock);
      for (std::size_t k = 0; k < kinds; ++k) sums[k] += mine[k];
    });
  threads.clear();
  return sums;
}

struct Checks {
  int failed = 0;
  // At most `rate`, one-sided at three standard errors.
  void expect_rate(int count, int trials, double rate, std::string_view what) {
    const double expected = rate * trials;
    if (count <= expected + 3 * std::sqrt(expected * (1 - rate))) return;
    fmt::print("FAILED: {}: {} of {}, {:g}% stated\n", what, count, trials, rate * 100);
    ++failed;
  }
  void expect_at_least(double value, double least, double error, std::string_view what) {
    if (value >= least - 3 * error) return;
    fmt::print("FAILED: {}: {:.3f}, at least {:.3f} wanted\n", what, value, least);
    ++failed;
  }
};

bool is_verdict(const KpiComparison& kpi) {
  return kpi.outcome == Outcome::faster || kpi.outcome == Outcome::slower;
}

// No difference: any verdict faster or slower of any KPI is false, and so is any promotion; also of
// a true gain of just what is not enough.
void alike(int trials, Checks& checks) {
  constexpr std::pair<Order, std::size_t> kDesigns[] = {
      {Order::alternating, 3}, {Order::alternating, 4},  {Order::alternating, 5},
      {Order::alternating, 8}, {Order::alternating, 12}, {Order::alternating, 20},
      {Order::shuffled, 8},    {Order::blocks, 4},       {Order::blocks, 8}};
  fmt::print(
      "{} trials; of each: false verdicts without difference (1% stated), undeserved promotions "
      "of\na gain that equals the threshold (1%); the same with {} earlier runs\n",
      trials, kEarlier);
  fmt::print("{:<22}", "");
  for (const char* name : {"3 pairs", "4", "5", "8", "12", "20", "8 mixed", "4 blocks", "8 blocks"})
    fmt::print(" {:>17}", name);
  fmt::print("\n");
  constexpr std::size_t kDesignCount = std::size(kDesigns);
  // Without alternation a walk looks like a difference, and neighbours of one side count twice.
  const auto is_simulated = [&](const SimulatedNoise& noise, std::size_t design) {
    const auto [order, runs] = kDesigns[design];
    return !(order == Order::blocks && runs == 8 && noise.walk > 0) &&
           !(order == Order::shuffled && noise.shared > 0);
  };
  for (const auto& noise : kNoises) {
    const auto counts =
        counted(trials, 4 * kDesignCount, [&](std::uint64_t seed, std::vector<int>& found) {
          CompareOptions options[2];  // without and with earlier runs
          PromoteOptions rules[2];
          options[1].earlier = earlier(noise, kEarlier, seed, kSamples);
          rules[1].compare.earlier = options[1].earlier;
          for (std::size_t design = 0; design < kDesignCount; ++design) {
            if (!is_simulated(noise, design)) continue;
            const auto [order, runs] = kDesigns[design];
            const auto equal = simulate(noise, order, runs, 0, seed + runs, kSamples);
            const auto gains =
                simulate(noise, order, runs, rules[0].least_gain, seed + runs, kSamples);
            for (const std::size_t with : {0, 1}) {
              const auto result = compare(equal.base, equal.candidate, options[with]);
              found[4 * design + 2 * with] +=
                  std::ranges::any_of(result->stacks[0].kpis, is_verdict);
              found[4 * design + 2 * with + 1] +=
                  promote(gains.base, gains.candidate, rules[with])->decision == Decision::promote;
            }
          }
        });
    fmt::print("{:<22}", noise.name);
    for (std::size_t design = 0; design < kDesignCount; ++design) {
      if (!is_simulated(noise, design)) continue;
      const auto cell = std::span(counts).subspan(4 * design, 4);
      fmt::print(" {:>17}", fmt::format("{}", fmt::join(cell, " ")));
      for (const int count : cell)
        checks.expect_rate(count, trials, 0.01,
                           fmt::format("{}, {} runs", noise.name, kDesigns[design].second));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

Side first_of(const Side& all, std::size_t runs) {
  return {all.name, {all.runs.begin(), all.runs.begin() + std::ptrdiff_t(runs)}};
}
Sides first_of(const Sides& all, std::size_t runs) {
  return {first_of(all.base, runs), first_of(all.candidate, runs)};
}

// A loop to its decision, with and without earlier runs: the decision and the runs a side.
std::pair<Decision, std::size_t> looped(const Sides& all, PromoteOptions rule, std::size_t most) {
  for (const auto& look : looks_until(most)) {
    rule.share = look.share;
    const Sides sides = first_of(all, look.runs);
    const auto decision = promote(sides.base, sides.candidate, rule)->decision;
    if (decision != Decision::need_more_runs) return {decision, look.runs};
  }
  return {Decision::need_more_runs, most};
}

void loop(int trials, Checks& checks) {
  constexpr std::size_t kMost = 12;
  fmt::print(
      "Loops of up to {} pairs, {} trials, threshold 1%, without | with {} earlier runs: undeserved"
      "\npromotions of a gain of 1%, (1% stated); then gains of 3% and 5%: promoted, rejected, "
      "median runs a side\n",
      kMost, trials, kEarlier);
  constexpr double kGains[] = {0.01, 0.03, 0.05};
  constexpr std::size_t kLoops = 2 * std::size(kGains);  // without, with earlier runs
  for (const auto& noise : kNoises) {
    std::mutex lock;
    std::vector<double> runs[kLoops];
    const auto counts =
        counted(trials, 2 * kLoops, [&](std::uint64_t seed, std::vector<int>& found) {
          PromoteOptions without, with;
          with.compare.earlier = earlier(noise, kEarlier, seed, kSamples);
          for (std::size_t g = 0; g < std::size(kGains); ++g) {
            const auto all =
                simulate(noise, Order::alternating, kMost, kGains[g], seed + 5, kSamples);
            for (const auto& [i, rule] :
                 {std::pair(g, &without), std::pair(g + std::size(kGains), &with)}) {
              const auto [decision, used] = looped(all, *rule, kMost);
              found[2 * i] += decision == Decision::promote;
              found[2 * i + 1] += decision == Decision::reject;
              const std::lock_guard guard(lock);
              runs[i].push_back(static_cast<double>(used));
            }
          }
        });
    fmt::print("{:<22}", noise.name);
    for (std::size_t i = 0; i < kLoops; ++i) {
      const double gain = kGains[i % std::size(kGains)];
      const int promoted = counts[2 * i], rejected = counts[2 * i + 1];
      const bool with = i >= std::size(kGains), enough = gain > 0.01;
      if (enough)
        fmt::print(" {:>6} {:>4} {:>3}", promoted, rejected, median(std::move(runs[i])));
      else
        fmt::print(" {} {:>4}", with ? "|" : "", promoted);
      checks.expect_rate(enough ? rejected : promoted, trials, 0.01,
                         fmt::format("loop, {}, {}%", noise.name, gain * 100));
      if (with && enough)  // history is never worse than none
        checks.expect_at_least(
            promoted, counts[2 * (i - std::size(kGains))], std::sqrt(0.5 * trials),
            fmt::format("promoted with history, {}, {}%", noise.name, gain * 100));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

// Loops with a true gain of 3% and energy of some noise and true loss. A loss of just the allowance
// is the hardest to keep out.
void guard(int trials, Checks& checks) {
  constexpr double kGain = 0.03;
  const double allowed = PromoteOptions().allowances[Kpi::energy];
  const std::pair<const char*, double> losses[] = {
      {"none", 0}, {"allowed", 1 / (1 - allowed) - 1}, {"20%", 0.2}, {"50%", 0.5}};
  fmt::print(
      "Loops of up to 12 pairs, {} trials, p50 noise 0.5%, gain 3%; promoted by energy loss\n",
      trials);
  for (const double energy : {0.02, 0.05, 0.1, 0.15, 0.3, 0.5}) {
    fmt::print("energy of a repeat varies by {:>3}%", energy * 100);
    for (const auto& [name, loss] : losses) {
      // Energy gains what its time does, which is taken from it again.
      const SimulatedNoise noise{.name = "energy",
                                 .white = 0.005,
                                 .energy = energy,
                                 .energy_loss = (1 + loss) * (1 + kGain) - 1};
      const auto counts = counted(trials, 1, [&](std::uint64_t seed, std::vector<int>& found) {
        const auto all = simulate(noise, Order::alternating, 12, kGain, seed, kSamples);
        found[0] += looped(all, {}, 12).first == Decision::promote;
      });
      fmt::print(" {}: {:>6}", name, counts[0]);
      if (loss > 0)
        checks.expect_rate(counts[0], trials, 0.01,
                           fmt::format("energy lost, {}, {}", energy, name));
    }
    fmt::print("\n");
  }
}

// Student's t of the pairs, as textbooks have it.
double p_of_pairs(const std::vector<RunValue>& base, const std::vector<RunValue>& candidate) {
  const double n = static_cast<double>(base.size());
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < base.size(); ++i) mean += (candidate[i].value - base[i].value) / n;
  for (std::size_t i = 0; i < base.size(); ++i)
    squares += std::pow(candidate[i].value - base[i].value - mean, 2);
  return student_t_two_sided(mean / std::sqrt(squares / (n - 1) / n), n - 1);
}

// Found within a loop's looks of a gain, by four rules that spend the same error in the same way.
void power(int trials, Checks& checks) {
  const auto looks = looks_until(12);
  constexpr double kError = 0.02;  // one side of it matters
  fmt::print(
      "Gains found within 12 pairs in {} trials, independent noise of 1%: t of pairs, this rule, "
      "it\nwith {} earlier runs, it with known noise\n",
      trials, kEarlier);
  for (const double gain : {0.01, 0.015, 0.02, 0.03, 0.05}) {
    const auto counts = counted(trials, 4, [&](std::uint64_t seed, std::vector<int>& found) {
      std::mt19937_64 random(seed);
      std::normal_distribution<double> normal(0, 0.01);
      std::vector<double> before(kEarlier);
      for (double& value : before) value = normal(random);
      const auto learned = learned_from({*noise_of(before)}, 1e-4);
      const auto first = candidate_first(12, seed);
      std::vector<RunValue> base, candidate;
      for (std::size_t i = 0; i < 12; ++i) {
        base.push_back({2.0 * double(i) + first[i], normal(random)});
        candidate.push_back({2.0 * double(i) + !first[i], gain + normal(random)});
      }
      bool done[4] = {};
      for (const auto& look : looks) {
        const std::vector<RunValue> a(base.begin(), base.begin() + std::ptrdiff_t(look.runs));
        const std::vector<RunValue> b(candidate.begin(),
                                      candidate.begin() + std::ptrdiff_t(look.runs));
        const double alpha = kError * look.share;
        done[0] |= p_of_pairs(a, b) <= alpha;
        done[1] |= estimate(a, b, 1e-4)->p() <= alpha;
        done[2] |= estimate(a, b, 1e-4, learned)->p() <= alpha;
        done[3] |= estimate(a, b, 1e-4, Noise{1e-4, 1e6})->p() <= alpha;
      }
      for (std::size_t k = 0; k < 4; ++k) found[k] += done[k];
    });
    fmt::print("{:>4}% {:>7} {:>7} {:>7} {:>7}\n", gain * 100, counts[0], counts[1], counts[2],
               counts[3]);
    const double n = trials, error = 1 / std::sqrt(n);
    checks.expect_at_least(counts[1] / n, counts[0] / n - 0.01, error / 2, "power without history");
    checks.expect_at_least(counts[2] / n, 0.9 * counts[3] / n, error / 2, "power with history");
  }
}

// One run of equal stacks: any that is called slower is wrong. Then of one that is
// 10% faster than the others: those where it is called the fastest.
void rank(int trials, Checks& checks) {
  constexpr std::size_t kStacks[] = {2, 5}, kRepeats[] = {2, 3, 5, 6, 8};
  fmt::print(
      "Rankings of equal stacks, {} trials: any told apart (1% stated); then the fastest is named "
      "if it\ntakes 10% less\n{:<22}",
      trials, "");
  for (const auto stacks : kStacks)
    for (const auto repeats : kRepeats)
      fmt::print(" {:>11}", fmt::format("{} x {}", stacks, repeats));
  fmt::print("\n");
  for (const auto& noise : kNoises) {
    fmt::print("{:<22}", noise.name);
    for (const auto stacks : kStacks)
      for (const auto repeats : kRepeats) {
        const auto counts = counted(trials, 2, [&](std::uint64_t seed, std::vector<int>& found) {
          RunRecord run = simulate_ranking(noise, stacks, repeats, seed + 11);
          found[0] += not_told_apart(ranking_of(run)).size() + 1 < stacks;
          for (auto& repeat : run.stacks[0].repeats) repeat.samples_ns[0] *= 0.9;
          const auto ranking = ranking_of(run);
          found[1] += ranking.ranked[0].id == run.stacks[0].id && not_told_apart(ranking).empty();
        });
        fmt::print(" {:>11}", fmt::format("{} {}", counts[0], counts[1]));
        checks.expect_rate(counts[0], trials, 0.01,
                           fmt::format("{} stacks, {} repeats, {}", stacks, repeats, noise.name));
      }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

// The rules of other programs, written from their documentation, on samples of runs of both sides:
// whether the candidate is reported to be faster or slower.
using Samples = std::vector<double>;
double variance_of(const Samples& samples) { return noise_around_mean(samples).variance; }

// criterion.rs: a t-test at 5%, and the interval of 95% of the change of the mean beyond 1% ("noise
// threshold"). It bootstraps both; of hundreds of samples that is the normal distribution.
bool criterion_differs(const Samples& base, const Samples& candidate) {
  const double a = mean(base), b = mean(candidate), change = b / a - 1;
  const double at = variance_of(base) / double(base.size());
  const double of = variance_of(candidate) / double(candidate.size());
  const double half = normal_critical(0.05) * std::sqrt(of + at * b * b / a / a) / a;
  return normal_two_sided(std::fabs(b - a) / std::sqrt(at + of)) < 0.05 &&
         std::fabs(change) - half > 0.01;
}

// asv: Mann and Whitney's U test at 0.2%, and medians apart by the factor of 1.1.
bool asv_differs(const Samples& base, const Samples& candidate) {
  const double ratio = median(candidate) / median(base);
  if (ratio < 1.1 && ratio > 1 / 1.1) return false;
  std::vector<std::pair<double, bool>> all;
  for (const double one : base) all.emplace_back(one, false);
  for (const double one : candidate) all.emplace_back(one, true);
  std::ranges::sort(all);
  double ranks = 0;
  for (std::size_t i = 0; i < all.size(); ++i) ranks += all[i].second ? double(i + 1) : 0;
  const double m = double(candidate.size()), n = double(base.size());
  const double u = ranks - m * (m + 1) / 2;
  return normal_two_sided(std::fabs(u - m * n / 2) / std::sqrt(m * n * (m + n + 1) / 12)) < 0.002;
}

// nvbench: means apart by more than the lesser relative standard deviation of the two.
bool nvbench_differs(const Samples& base, const Samples& candidate) {
  const double a = mean(base), b = mean(candidate);
  return std::fabs(b - a) / a >
         std::min(std::sqrt(variance_of(base)) / a, std::sqrt(variance_of(candidate)) / b);
}

Samples samples_of(const Side& side, std::size_t runs) {
  Samples all;
  for (std::size_t i = 0; i < runs; ++i)
    std::ranges::copy(valid_samples_of(side.runs[i].stacks[0]), std::back_inserter(all));
  return all;
}

// Each rule asked at a loop's looks until it reports a difference.
void rules(int trials, Checks& checks) {
  constexpr std::size_t kMost = 12, kRules = 4;
  fmt::print(
      "Looks at 3, 5, 8 and 12 pairs of 240 samples a run, {} trials; reported to differ without a "
      "\ndifference, and with a gain of 3%, and median pairs until then: bench, criterion, asv, "
      "nvbench\n",
      trials);
  for (const auto& noise : kNoises) {
    fmt::print("{:<22}", noise.name);
    for (const double gain : {0.0, 0.03}) {
      std::mutex lock;
      std::vector<double> runs[kRules];
      const auto counts = counted(trials, kRules, [&](std::uint64_t seed, std::vector<int>& found) {
        const auto all = simulate(noise, Order::alternating, kMost, gain, seed + 7);
        std::size_t decided[kRules] = {};
        for (const auto& look : looks_until(kMost)) {
          const Samples a = samples_of(all.base, look.runs),
                        b = samples_of(all.candidate, look.runs);
          const auto bench_differs = [&] {
            const Sides sides = first_of(all, look.runs);
            CompareOptions options;
            options.error *= look.share;
            const auto result = compare(sides.base, sides.candidate, options);
            return is_verdict(result->stacks[0].kpis[0]);
          };
          const std::function<bool()> differs[] = {
              bench_differs, [&] { return criterion_differs(a, b); },
              [&] { return asv_differs(a, b); }, [&] { return nvbench_differs(a, b); }};
          for (std::size_t k = 0; k < kRules; ++k)
            if (decided[k] == 0 && differs[k]()) decided[k] = look.runs;
        }
        const std::lock_guard guard(lock);
        for (std::size_t k = 0; k < kRules; ++k) {
          found[k] += decided[k] > 0;
          runs[k].push_back(double(decided[k] > 0 ? decided[k] : kMost));
        }
      });
      if (gain == 0)
        checks.expect_rate(counts[0], trials, 0.01, fmt::format("looks, {}", noise.name));
      for (std::size_t k = 0; k < kRules; ++k)
        fmt::print(" {:>6}{}", counts[k],
                   gain == 0 ? "" : fmt::format(" {:>3}", median(std::move(runs[k]))));
      fmt::print("{}", gain == 0 ? " |" : "\n");
      std::fflush(stdout);
    }
  }
}

// Histories without a step, and with one of 5% in the middle.
void steps(int trials, Checks& checks) {
  constexpr std::size_t kRuns = 40;
  fmt::print("Histories of {} runs, {} trials: steps without one (5% stated), a step of 5% found\n",
             kRuns, trials);
  for (const auto& noise : kNoises) {
    if (noise.walk > 0 || noise.drift > 0) continue;  // these change the level
    const auto counts = counted(trials, 2, [&](std::uint64_t seed, std::vector<int>& found) {
      Session session(noise, seed, kSamples);
      std::vector<double> values;
      for (std::size_t i = 0; i < kRuns; ++i)
        values.push_back(*latency_of(session.next(0, false).stacks[0]).p50_ns);
      found[0] += !find_steps(values).empty();
      for (std::size_t i = kRuns / 2; i < kRuns; ++i) values[i] *= 1.05;
      const auto steps = find_steps(values);
      found[1] += steps.size() == 1 && steps[0] + 2 >= kRuns / 2 && steps[0] <= kRuns / 2 + 2;
    });
    fmt::print("{:<22} {:>7} {:>7}\n", noise.name, counts[0], counts[1]);
    checks.expect_rate(counts[0], trials, 0.05, fmt::format("steps, {}", noise.name));
  }
}

}  // namespace
}  // namespace gpuready::bench

int main(int argc, char** argv) {
  using namespace gpuready::bench;
  const auto asked = argc > 1 ? gpuready::parse_uint(argv[1]) : 1000;
  const auto seed = argc > 3 ? gpuready::parse_uint(argv[3]) : 0;
  if (!asked || *asked < 100 || *asked > 1'000'000 || !seed) {
    fmt::print(stderr, "usage: simulations [COUNT [PART [SEED]]], COUNT 100 to 1000000\n");
    return 2;
  }
  first_seed += *seed << 32;
  constexpr std::pair<std::string_view, void (*)(int, Checks&)> kParts[] = {
      {"alike", alike}, {"loop", loop},   {"guard", guard}, {"power", power},
      {"rank", rank},   {"rules", rules}, {"steps", steps}};
  Checks checks;
  for (const auto& [name, part] : kParts)
    if (argc < 3 || name == argv[2] || argv[2] == std::string_view("all"))
      part(static_cast<int>(*asked), checks);
  return checks.failed == 0 ? 0 : 1;
}
