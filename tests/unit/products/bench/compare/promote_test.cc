#include "bench/compare/promote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "bench/compare/fields_promote.h"
#include "bench/run/order.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

Side base_side(std::vector<double> ns = {1000, 1003, 998, 1001, 999}) {
  return {"base", runs_at(ns, base_places(ns.size()))};
}
Side candidate_side(std::vector<double> ns) {
  return {"candidate", runs_at(ns, candidate_places(ns.size()))};
}

std::string decided(const Side& base, const Side& candidate, PromoteOptions options = {}) {
  const auto result = promote(base, candidate, options);
  if (!result) return result.error().message;
  return fmt::format("{}: {}", name_of(result->decision), join(result->reasons, "; "));
}

TEST(BenchPromote, AStableGainIsPromoted) {
  const auto text = decided(base_side(), candidate_side({900, 902, 899, 901, 898}));
  EXPECT_TRUE(text.starts_with("promote: gain in p50 by 11.1")) << text;
  EXPECT_TRUE(text.ends_with("above 1%")) << text;
}

TEST(BenchPromote, TwoRunsAreTooFew) {
  const auto two = decided(base_side({1000, 1001}), candidate_side({500, 501}));
  EXPECT_EQ(two,
            "need_more_runs: the base has 2 of at least 3 runs; the candidate has 2 of at "
            "least 3 runs");
}

TEST(BenchPromote, ARegressionIsRejected) {
  const auto text = decided(base_side(), candidate_side({1100, 1102, 1099, 1101, 1098}));
  EXPECT_TRUE(text.starts_with("reject: worse in p50")) << text;
}

TEST(BenchPromote, AGainThatCostsMemoryIsRejected) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1ull << 30;
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].memory_peak_bytes = 2ull << 30;
  const auto text = decided(base, candidate);
  EXPECT_TRUE(text.starts_with("reject: worse in memory by -50.00%")) << text;
}

TEST(BenchPromote, LessMemoryAtTheSameSpeedIsAGain) {
  Side base = base_side(), candidate = candidate_side({1001, 999, 1002, 998, 1000});
  for (auto& run : base.runs) run.stacks[0].repeats[0].memory_peak_bytes = 2ull << 30;
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1ull << 30;
  EXPECT_TRUE(decided(base, candidate).starts_with("promote: gain in memory"));
  PromoteOptions p50_alone;
  p50_alone.kpis = {Kpi::p50};
  EXPECT_FALSE(decided(base, candidate, p50_alone).starts_with("promote"));
}

// A true gain is not given up for one run that did not show it.
TEST(BenchPromote, ARunThatDoesNotGainIsNoiseLikeAnyOther) {
  const auto text = decided(base_side({1000, 1002, 1001, 1000, 999, 1000, 1001, 1000}),
                            candidate_side({950, 951, 949, 1001, 950, 952, 951, 950}));
  EXPECT_TRUE(text.starts_with("promote: gain in p50")) << text;
}

TEST(BenchPromote, ALossWithinItsAllowanceIsAccepted) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1000ull << 20;
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1100ull << 20;
  EXPECT_TRUE(decided(base, candidate).starts_with("reject: worse in memory by -9.09%"))
      << decided(base, candidate);
  PromoteOptions options;
  options.allowances[Kpi::memory] = 0.15;
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
  options.allowances.erase(Kpi::memory);
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
}

// Energy of each run, as a share of 100 mJ; the candidate's runs in another order.
void set_energy(Side& base, Side& candidate, double noise, double candidate_factor = 1) {
  const double deviations[] = {0, 1.1, -0.9, 0.7, -1.2, 0.3, -0.5, 1.4};
  const auto runs = base.runs.size();
  for (std::size_t i = 0; i < runs; ++i) {
    const auto energy = [&](std::size_t k) { return 100 * (1 + noise * deviations[k % 8]); };
    base.runs[i].stacks[0].repeats[0].energy_mj = energy(i);
    candidate.runs[i].stacks[0].repeats[0].energy_mj = candidate_factor * energy(i * 3 + 2);
  }
}

TEST(BenchPromote, ALossThatIsNotRuledOutWaits) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  set_energy(base, candidate, 0.05);
  const auto text = decided(base, candidate);
  EXPECT_TRUE(contains(text, "energy by")) << text;
  EXPECT_TRUE(contains(text, "a loss of more than 10% is not ruled out")) << text;
  EXPECT_TRUE(text.starts_with("need_more_runs")) << text;
}

// It looks better by some percent, and a loss of twice what is allowed is unlikely: neither is
// proof.
TEST(BenchPromote, AGuardTooNoisyForItsAllowanceBlocksAndSaysWhatWouldDo) {
  Side base = base_side({1000, 1002, 1001, 1000, 999, 1000, 1001, 1000});
  Side candidate = candidate_side({900, 902, 899, 901, 898, 900, 901, 899});
  set_energy(base, candidate, 0.15, 0.95);
  const auto result = promote(base, candidate, {});
  EXPECT_EQ(result->decision, Decision::need_more_runs) << decided(base, candidate);
  ASSERT_EQ(result->too_noisy.size(), 1u);
  EXPECT_EQ(result->too_noisy[0].kpi, Kpi::energy);
  const std::string& reason = result->too_noisy[0].reason;
  EXPECT_TRUE(contains(reason, "so 12 runs a side rule out a loss from ")) << reason;
  EXPECT_TRUE(contains(reason, "and 10% is allowed")) << reason;
  EXPECT_TRUE(reason.ends_with(", or =none")) << reason;
  PromoteOptions options;
  options.compare.reach.runs = 1000;  // within reach: not known yet
  EXPECT_TRUE(promote(base, candidate, options)->too_noisy.empty());
  EXPECT_TRUE(decided(base, candidate, options).starts_with("need_more_runs: energy by"));
  options.allowances[Kpi::energy] = 0.3;
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
  options.allowances.erase(Kpi::energy);
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
}

TEST(BenchPromote, FourRunsDoNotShowThatAGuardIsTooNoisy) {
  for (const std::size_t runs : {4u, 5u}) {
    Side base = base_side(std::vector<double>(runs, 1000));
    Side candidate = candidate_side(std::vector<double>(runs, 900));
    set_energy(base, candidate, 0.15, 0.95);
    const auto result = promote(base, candidate, {});
    EXPECT_EQ(result->decision, Decision::need_more_runs) << decided(base, candidate);
    EXPECT_TRUE(contains(decided(base, candidate), "a loss of more than 10% is not ruled out"));
    EXPECT_EQ(result->too_noisy.size(), runs < 5 ? 0u : 1u) << runs;
  }
}

TEST(BenchPromote, ALossWithinTheMarginIsOneIfLessIsAllowed) {
  Side base = base_side({1000, 1000.1, 999.9, 1000, 1000.1, 1000, 999.9, 1000});
  Side candidate = candidate_side({900, 900.1, 899.9, 900, 900.1, 900, 899.9, 900});
  set_energy(base, candidate, 0.0005, 1.006);
  PromoteOptions options;
  options.kpis = {Kpi::p50};
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
  options.allowances[Kpi::energy] = 0.004;
  EXPECT_TRUE(decided(base, candidate, options).starts_with("reject: worse in energy"))
      << decided(base, candidate, options);
}

TEST(BenchPromote, ALossOfEnergyIsRejected) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  set_energy(base, candidate, 0.01, 1.25);
  EXPECT_TRUE(decided(base, candidate).starts_with("reject: worse in energy by -19.9"))
      << decided(base, candidate);
}

TEST(BenchPromote, AFigureThatNoRunHasIsTold) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) run.stacks[0].repeats[0].no_energy = "timed for 0.2 s";
  const auto result = promote(base, candidate, {});
  EXPECT_EQ(result->decision, Decision::promote);
  std::vector<std::string> unguarded;
  for (const auto& [kpi, reason] : result->unguarded)
    unguarded.push_back(fmt::format("{}: {}", name_of(kpi), reason));
  EXPECT_EQ(unguarded, (std::vector<std::string>{"p95: no run has it; it needs 200 samples a run",
                                                 "energy: no run has it; timed for 0.2 s",
                                                 "memory: no run has it"}));
}

TEST(BenchPromote, ThreeRunsDoNotShowWhetherAMachineHasTwoStates) {
  const Side base = base_side({1000, 1001, 1000}), candidate = candidate_side({900, 901, 900});
  const auto text = decided(base, candidate);
  EXPECT_TRUE(text.starts_with("need_more_runs: p50 by 11.1")) << text;
  EXPECT_TRUE(
      text.ends_with("too few runs to tell a difference from a machine with two states (3 "
                     "of at least 5)"))
      << text;
  EXPECT_EQ(promote(base, candidate, {})->further_runs, 2u);
  // Nor does a loss of few runs reject.
  EXPECT_TRUE(decided(candidate, base).starts_with("need_more_runs: p50 by -10.0"))
      << decided(candidate, base);
  EXPECT_EQ(promote(candidate, base, {})->further_runs, 2u);
  // No states that were seen differ so far.
  EXPECT_TRUE(decided(base, candidate_side({380, 381, 380})).starts_with("promote"));
  // The clock was read, and was the same: memory has states, too.
  Side steady[] = {base, candidate};
  for (auto& side : steady)
    for (auto& run : side.runs) run.stacks[0].repeats[0].conditions.sm_mhz = 1980;
  EXPECT_TRUE(decided(steady[0], steady[1]).starts_with("need_more_runs"));
}

TEST(BenchPromote, ClocksMayFollowFromTheIdea) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].repeats[0].conditions.sm_mhz = 1755;
  for (auto& run : candidate.runs) {
    run.stacks[0].repeats[0].conditions.sm_mhz = 1980;
    run.environment.variables["POOL"] = "1";
  }
  PromoteOptions options;
  options.idea = "POOL";
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
}

TEST(BenchPromote, ThreadsOfAStackMayFollowFromTheIdea) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].settings["threads"] = "2";
  for (auto& run : candidate.runs) {
    run.stacks[0].settings["threads"] = "1";
    run.environment.variables["OMP_NUM_THREADS"] = "1";
  }
  PromoteOptions options;
  options.idea = "OMP_NUM_THREADS";
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
  EXPECT_EQ(promote(base, candidate, options)->comparison.differences.size(), 2u);  // lists both
  candidate.runs[0].stacks[0].settings["threads"] = "2";
  EXPECT_TRUE(promote(base, candidate, options)->refused());  // not the same in all runs
}

TEST(BenchPromote, SaysThatBothSidesFailed) {
  Side base = base_side({1000, 1001}), candidate = candidate_side({900, 901});
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) run.stacks[0].status = StackStatus::error;
  const auto result = promote(base, candidate, {});
  EXPECT_EQ(result->decision, Decision::reject);
  EXPECT_EQ(result->reasons.front(), "the stack failed on both sides");
  EXPECT_FALSE(result->further_runs);
}

TEST(BenchPromote, NothingWithinReachIsRejectedAndTheUnsureNeedsMoreRuns) {
  EXPECT_TRUE(contains(decided(base_side({1000, 1001, 1000, 1001, 1000, 1001}),
                               candidate_side({999, 1000, 999, 1000, 999, 1000})),
                       "a gain of 1% or more is ruled out"));
  Side base = base_side({1000, 1010, 990}), candidate = candidate_side({970, 960, 980});
  const auto result = promote(base, candidate, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->decision, Decision::need_more_runs);
  EXPECT_TRUE(result->further_runs);
}

TEST(BenchPromote, AnIdeaIsOneDifferenceThatIsDeclared) {
  const Side base = base_side();
  Side candidate = candidate_side({900, 902, 899, 901, 898});
  PromoteOptions options;
  options.idea = "POOL";
  EXPECT_EQ(
      decided(base, candidate, options),
      "the candidate does not change POOL: it is the same in base and candidate. Nothing that "
      "was recorded differs; leave --idea out to judge the runs as they are");
  for (auto& run : candidate.runs) run.environment.variables["POOL"] = "1";
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
  for (auto& run : candidate.runs) run.git_commit = "abc";
  EXPECT_EQ(decided(base, candidate, options),
            "need_more_runs: the runs differ in more than what is to be judged");
  const auto result = promote(base, candidate, options);
  const auto& differences = result->comparison.differences;
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].what, "POOL");
  EXPECT_EQ(differences[0].base, "not set");
  EXPECT_EQ(differences[0].candidate, "\"1\"");
  EXPECT_FALSE(differences[0].refused);
  EXPECT_EQ(differences[1].what, "commit");
  EXPECT_TRUE(differences[1].refused);
  EXPECT_TRUE(result->refused());
  // Without an idea, changes are told.
  EXPECT_TRUE(decided(base, candidate).starts_with("promote"));
  EXPECT_EQ(promote(base, candidate, {})->comparison.differences.size(), 2u);
}

TEST(BenchPromote, AnotherVersionBesideTheIdeaIsRefused) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].versions["torch"] = "2.5";
  for (auto& run : candidate.runs) {
    run.stacks[0].versions["torch"] = "2.9";
    run.environment.variables["POOL"] = "1";
  }
  PromoteOptions options;
  options.idea = "POOL";
  EXPECT_TRUE(promote(base, candidate, options)->refused());
  options.idea = "gpuready versions";
  EXPECT_TRUE(promote(base, candidate, options)->refused());
  for (auto& run : candidate.runs) run.environment.variables.clear();
  EXPECT_TRUE(decided(base, candidate, options).starts_with("promote"));
}

TEST(BenchPromote, ASideThatLostRunsIsNotPromoted) {
  const Side base = base_side();
  Side candidate = candidate_side({900, 902, 899, 901, 898});
  ASSERT_TRUE(decided(base, candidate).starts_with("promote"));
  Side lost = candidate;
  lost.runs[1].stacks[0].status = StackStatus::error;
  lost.runs[1].stacks[0].reason = "signal 11";
  EXPECT_EQ(decided(base, lost), "reject: candidate: 1 of 5 runs of gpuready failed: signal 11");
  EXPECT_EQ(promote(base, lost, {})->comparison.stacks[0].candidate_losses.lost_runs, 1u);
  // A base that failed is no fault of the candidate, and no proof for it either.
  EXPECT_TRUE(decided(lost, base).starts_with("need_more_runs: base: 1 of 5 runs"));
  // A repeat that is not there, and one whose samples were all taken under throttling.
  Side asked = base;
  lost = candidate;
  for (Side* side : {&asked, &lost})
    for (auto& run : side->runs) {
      run.protocol.repeats = 3;
      run.stacks[0].repeats.resize(3, run.stacks[0].repeats[0]);
    }
  lost.runs[2].stacks[0].repeats.resize(1);
  EXPECT_EQ(decided(asked, lost),
            "need_more_runs: candidate: 2 of 15 repeats of gpuready are missing");
  lost = candidate;
  auto& repeats = lost.runs[0].stacks[0].repeats;
  repeats.push_back(repeats[0]);
  repeats[1].throttled = {0};
  EXPECT_EQ(decided(base, lost),
            "need_more_runs: candidate: 1 of 6 repeats of gpuready has no valid sample; candidate: "
            "1 of 6 samples of gpuready were taken under throttling");
  repeats[1].status = StackStatus::error;
  EXPECT_TRUE(
      decided(base, lost).starts_with("reject: candidate: 1 of 6 repeats of gpuready failed"));
}

TEST(BenchPromote, ACandidateThatLostAStackIsRejected) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  const auto add = [](Side& side, StackStatus status) {
    for (auto& run : side.runs) {
      run.stacks.push_back(run.stacks[0]);
      run.stacks[1].id = "tvm";
      run.stacks[1].status = status;
    }
  };
  // What the base never ran or could not run says nothing against the candidate.
  Side more = candidate;
  add(more, StackStatus::ok);
  EXPECT_TRUE(decided(base, more).starts_with("promote"));
  Side failing = base;
  add(failing, StackStatus::error);
  EXPECT_TRUE(decided(failing, more).starts_with("promote"));
  add(base, StackStatus::ok);
  EXPECT_EQ(decided(base, candidate), "reject: candidate: 5 of 5 runs of tvm are missing");
  EXPECT_TRUE(contains(decided(base, more), "name one of gpuready, tvm"));
  for (const auto status :
       {StackStatus::error, StackStatus::different_work, StackStatus::unavailable}) {
    Side lost = candidate;
    add(lost, status);
    EXPECT_TRUE(decided(base, lost).starts_with("reject: candidate: 5 of 5 runs of tvm"));
    PromoteOptions options;
    options.compare.stacks = {"tvm"};
    EXPECT_TRUE(decided(base, lost, options).starts_with("reject: candidate: 5 of 5 runs of tvm"));
    options.compare.stacks = {"gpuready"};
    EXPECT_TRUE(decided(base, lost, options).starts_with("promote"));
  }
}

TEST(BenchPromote, RunsWithoutSamplesAreRuns) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) {
      auto& repeat = run.stacks[0].repeats[0];
      repeat.reported.mean_ns = repeat.samples_ns[0];
      repeat.samples_ns.clear();
    }
  EXPECT_TRUE(decided(base, candidate).starts_with("promote: gain in throughput by 11.1"))
      << decided(base, candidate);
}

TEST(BenchPromote, AGainInAFigureThatFewRunsHaveIsNone) {
  Side base = base_side(), candidate = candidate_side({1000, 1002, 999, 1001, 998});
  for (std::size_t i = 0; i < 2; ++i) {
    base.runs[i].stacks[0].repeats[0].energy_mj = 2;
    candidate.runs[i].stacks[0].repeats[0].energy_mj = 1;
  }
  EXPECT_FALSE(decided(base, candidate).starts_with("promote"));
}

TEST(BenchPromote, ACandidateThatChangesMidwayIsNoIdea) {
  const Side base = base_side();
  Side candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : candidate.runs) run.git_commit = "abc";
  candidate.runs[3].git_commit = "def";
  PromoteOptions options;
  options.idea = "commit";
  EXPECT_TRUE(promote(base, candidate, options)->refused());
}

TEST(BenchPromote, FlagsAreWhatIsRun) {
  Side base = base_side(), candidate = candidate_side({900, 902, 899, 901, 898});
  for (auto& run : base.runs) run.stacks[0].command = {"python3", "b.py"};
  for (auto& run : candidate.runs) run.stacks[0].command = {"python3", "b.py", "--fast"};
  const auto changes = differences_of(base, candidate, {{"gpuready", "gpuready"}});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].what, "flags");
  EXPECT_EQ(changes[0].candidate, "gpuready: python3 b.py --fast");
}

TEST(BenchLooks, SpendTheErrorOnce) {
  for (const std::size_t most : {1u, 2u, 3u, 4u, 5u, 8u, 12u, 20u, 100u}) {
    double sum = 0;
    std::size_t before = 0;
    for (const auto& look : looks_until(most)) {
      EXPECT_GT(look.runs, before);
      EXPECT_GT(look.share, 0);
      before = look.runs;
      sum += look.share;
    }
    EXPECT_EQ(before, most);
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  std::vector<std::size_t> at;
  for (const auto& look : looks_until(12)) at.push_back(look.runs);
  EXPECT_EQ(at, (std::vector<std::size_t>{3, 5, 8, 12}));
}

TEST(BenchOrder, EachOfTheSixOrdersOfFourIsAsLikely) {
  std::map<std::vector<bool>, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++counts[candidate_first(4, seed)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 120);  // four deviations
}

TEST(BenchOrder, IsBalancedAndFollowsFromTheSeed) {
  const auto order = candidate_first(400, 7);
  for (std::size_t i = 0; i < order.size(); i += 4)
    EXPECT_EQ(std::count(order.begin() + i, order.begin() + i + 4, true), 2);
  EXPECT_EQ(order, candidate_first(400, 7));
  EXPECT_NE(order, candidate_first(400, 8));
  EXPECT_EQ(candidate_first(5, 1).size(), 5u);
}

}  // namespace
}  // namespace gpuready::bench
