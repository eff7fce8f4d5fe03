// Simulated benchmark runs whose truth is known.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bench/compare/compare.h"
#include "bench/run/order.h"

namespace gpuready::bench {

// How runs of a machine differ from each other, in shares of the time of an iteration.
struct SimulatedNoise {
  const char* name;
  double white = 0;                        // of each run only
  double correlated = 0, correlation = 0;  // first-order autoregressive from run to run
  double drift = 0;                        // a run, all in one direction
  double walk = 0;                         // a step in either direction from run to run
  double outliers = 0;                     // chance of a run that is 5% slower
  double shared = 0;                       // of each two runs that follow each other
  double tails = 0;                        // of each run only, Student's t with 3 degrees
  double states = 0;                       // between two states, either of which a run has
  double sm_mhz = 0;                       // that every repeat recorded
  double noisier = 1;                      // the candidate's white noise, in the base's
  double energy = 0.01;                    // of a repeat's energy, beside its time
  double energy_loss = 0;                  // what an iteration of the candidate takes more
};

class Session {
 public:
  // `samples`: of each of three repeats. `round`: runs that share a noise.
  Session(const SimulatedNoise& noise, std::uint64_t seed, int samples, std::size_t round = 2)
      : noise_(noise), random_(seed), samples_(samples), round_(round) {
    correlated_ = noise_.correlated * normal();
    drift_ = normal() < 0 ? -noise_.drift : noise_.drift;
  }

  // The next run; `gain` is the share by which its side is faster.
  RunRecord next(double gain, bool candidate) {
    correlated_ =
        noise_.correlation * correlated_ +
        std::sqrt(1 - noise_.correlation * noise_.correlation) * noise_.correlated * normal();
    level_ += drift_ + noise_.walk * normal();
    if (count_ % round_ == 0) shared_ = noise_.shared * normal();
    double log_ns = std::log(100'000) - std::log1p(gain) + level_ + correlated_ + shared_ +
                    (candidate ? noise_.noisier : 1) * noise_.white * normal();
    if (noise_.tails > 0) {
      double squares = 0;
      for (int i = 0; i < 3; ++i) squares += std::pow(normal(), 2);
      log_ns += noise_.tails * normal() / std::sqrt(squares / 3);
    }
    if (noise_.states > 0 && uniform_(random_) < 0.5) log_ns += noise_.states;
    if (uniform_(random_) < noise_.outliers) log_ns += 0.05;
    RunRecord run;
    run.id = fmt::format("run-{:04}", count_);
    run.started_utc = fmt::format("2026-03-01T12:{:02}:{:02}Z", count_ / 60, count_ % 60);
    ++count_;
    run.workload.name = "simulated";
    StackResult& stack = run.stacks.emplace_back();
    stack.id = "stack";
    double within = 0;  // samples are correlated, too
    for (int repeat = 0; repeat < 3; ++repeat) {
      Repeat& one = stack.repeats.emplace_back();
      const double level = log_ns + 0.002 * normal();
      for (int i = 0; i < samples_; ++i) {
        within = 0.8 * within + 0.003 * normal();
        one.samples_ns.push_back(std::exp(level + within + 0.004 * std::fabs(normal())));
      }
      one.energy_mj = 50 * std::exp(log_ns - std::log(100'000) + noise_.energy * normal()) *
                      (candidate ? 1 + noise_.energy_loss : 1);
      if (noise_.sm_mhz > 0) one.conditions.sm_mhz = noise_.sm_mhz;
      one.memory_peak_bytes = (1000ull + (normal() > 1 ? 2 : 0)) << 20;
    }
    return run;
  }

 private:
  double normal() { return normal_(random_); }
  SimulatedNoise noise_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double correlated_ = 0, drift_ = 0, level_ = 0, shared_ = 0;
  std::size_t count_ = 0;
  int samples_;
  std::size_t round_;
};

enum class Order { alternating, regular, shuffled, blocks };

struct Sides {
  Side base{"base", {}}, candidate{"candidate", {}};
};

inline Sides simulate(const SimulatedNoise& noise, Order order, std::size_t runs, double gain,
                      std::uint64_t seed, int samples = 80) {
  Session session(noise, seed, samples);
  std::vector<bool> candidate;  // by run
  const auto first = candidate_first(runs, seed);
  for (std::size_t i = 0; i < runs; ++i)
    for (const bool later : {false, true})
      candidate.push_back(order == Order::alternating ? first[i] != later : later);
  if (order == Order::blocks) std::sort(candidate.begin(), candidate.end());
  if (order == Order::shuffled) {
    std::mt19937_64 random(seed + 1);
    std::shuffle(candidate.begin(), candidate.end(), random);
  }
  Sides sides;
  for (const bool is_candidate : candidate)
    (is_candidate ? sides.candidate : sides.base)
        .runs.push_back(session.next(is_candidate ? gain : 0, is_candidate));
  return sides;
}

// One run of equal stacks, each repeat a process with the noise of a run; the last one is the
// noisier where one is. Rounds in random order, every second one in the order of the one before.
inline RunRecord simulate_ranking(const SimulatedNoise& noise, std::size_t stacks,
                                  std::size_t repeats, std::uint64_t seed) {
  Session session(noise, seed, 1, stacks);
  std::mt19937_64 random(seed + 1);
  RunRecord run;
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < stacks; ++k) {
    run.stacks.emplace_back().id = fmt::format("stack-{}", k);
    order.push_back(k);
  }
  for (std::size_t round = 0, position = 0; round < repeats; ++round) {
    if (round % 2 == 0)
      std::ranges::shuffle(order, random);
    else
      std::ranges::reverse(order);
    for (const std::size_t k : order) {
      const RunRecord one = session.next(0, k + 1 == stacks);
      Repeat& repeat = run.stacks[k].repeats.emplace_back();
      repeat.position = position++;
      repeat.samples_ns = {*latency_of(one.stacks[0]).p50_ns};
    }
  }
  return run;
}

// Earlier runs of the same machine, as the history keeps them.
inline std::vector<EarlierSeries> earlier(const SimulatedNoise& noise, std::size_t runs,
                                          std::uint64_t seed, int samples) {
  std::vector<EarlierSeries> all;
  Session session(noise, seed ^ 0x6561726c, samples);
  for (std::size_t i = 0; i < runs; ++i) {
    const RunRecord run = session.next(0, false);
    const KpiValues values = values_of(run.stacks[0], run.workload);
    for (std::size_t k = 0; k < std::size(kKpis); ++k) {
      if (i == 0)
        all.push_back({workload_key(run.workload),
                       "",
                       "",
                       "stack",
                       run.environment.fingerprint(),
                       kKpis[k],
                       {}});
      if (values[k]) all[k].runs.push_back({fmt::format("old-{}", i), "old", *values[k]});
    }
  }
  return all;
}

}  // namespace gpuready::bench
