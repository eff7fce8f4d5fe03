#include "bench/compare/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/noise.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

void add(RunRecord& run, const std::string& id, const std::vector<double>& repeats) {
  StackResult stack;
  stack.id = id;
  for (const double ns : repeats) stack.repeats.emplace_back().samples_ns = {ns};
  run.stacks.push_back(std::move(stack));
}

// 99% of six repeats: 4.03 s / 2.45. A spread of 0.1% is 0.2%, of 1.8% is 2.9% and of 22% is 36%,
// for which 20 repeats (2.86 s / 4.5) are too few, too.
TEST(BenchRanking, OnlyWhatIsNotYetKnownIsRepeated) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "fast", {1000, 1001, 999, 1000, 1001, 999});
  add(run, "known", {1500, 1501, 1499, 1500, 1501, 1499});
  add(run, "open", {2000, 2040, 1960, 2000, 2040, 1960});
  add(run, "hopeless", {3000, 3600, 2400, 3000, 3600, 2400});
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 20), (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.05, 20), std::vector<std::size_t>());
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.0009, 4000), (std::vector<std::size_t>{0, 1, 2}));
  run.stacks[2].status = StackStatus::error;
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 20), std::vector<std::size_t>());
  // Five of the three that are left do not tell a difference from that of two states.
  for (auto& stack : run.stacks) stack.repeats.pop_back();
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 20), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 5), std::vector<std::size_t>());
}

// Both deviate by 3.7%: 20 such repeats would give 2.4%. A deviation of six repeats may be 32% too
// great, one of twelve 21%.
TEST(BenchRanking, TheMoreRepeatsSayTheLessIsHopedFor) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "fast", {100, 100, 100, 100, 100, 100});
  add(run, "young", {966, 1034, 966, 1034, 966, 1034});
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 20), (std::vector<std::size_t>{1, 0}));
  std::vector<double> many;
  for (int i = 0; i < 6; ++i) many.insert(many.end(), {962.4, 1037.6});
  add(run, "old", many);
  run.stacks.erase(run.stacks.begin() + 1);
  EXPECT_EQ(stacks_to_repeat(run.stacks, 0.02, 20), std::vector<std::size_t>());
}

// Both drifted by the same share between rounds 6 and 8, when only the fastest was still repeated.
TEST(BenchRanking, StacksAreComparedWithinTheRoundsOfBoth) {
  RunRecord run = run_of("r", {1});
  run.protocol.until_percent = 1;
  run.stacks.clear();
  add(run, "fast", {1000, 1001, 999, 1000, 1001, 1000, 1200, 1200});
  add(run, "slow", {1500, 1501, 1499, 1500, 1502, 1500});
  const std::uint64_t places[2][8] = {{0, 3, 4, 7, 8, 11, 12, 13}, {1, 2, 5, 6, 9, 10}};
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < run.stacks[k].repeats.size(); ++i)
      run.stacks[k].repeats[i].position = places[k][i];
  const auto ranking = ranking_of(run);
  EXPECT_NEAR(*ranking.ranked[1].ratio, 1.5, 0.002);
  EXPECT_TRUE(ranking.ranked[1].told_apart);
  EXPECT_EQ(ranking.losses, std::vector<std::string>());
}

TEST(BenchRanking, OrdersByTimeAndSaysWhatIsSure) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "slow", {1500, 1501, 1499, 1502, 1500, 1501});
  add(run, "fast", {1000, 1001, 999, 1002, 1000, 1001});
  add(run, "near", {1001, 1000, 1002, 1000, 1001, 1000});
  add(run, "once", {1200});
  const auto ranking = ranking_of(run);
  ASSERT_EQ(ranking.ranked.size(), 4u);
  EXPECT_EQ(ranking.ranked[0].id, "fast");
  EXPECT_FALSE(ranking.ranked[0].ratio);
  EXPECT_EQ(ranking.ranked[1].id, "near");
  EXPECT_FALSE(ranking.ranked[1].told_apart);
  EXPECT_EQ(ranking.ranked[2].id, "once");
  EXPECT_EQ(ranking.ranked[2].repeats_for_interval, 2u);  // one process tells nothing of the next
  EXPECT_FALSE(ranking.ranked[2].low);
  EXPECT_EQ(ranking.ranked[3].id, "slow");
  EXPECT_TRUE(ranking.ranked[3].told_apart);
  EXPECT_NEAR(*ranking.ranked[3].ratio, 1.5, 0.001);
  EXPECT_LT(*ranking.ranked[3].low, 1.5);
  EXPECT_GT(*ranking.ranked[3].high, 1.5);
}

TEST(BenchRanking, AReferenceAndWhatIsNotVerifiedAreListedApart) {
  for (const auto& [mark, status] : {std::pair(&StackResult::unverified, "unverified"),
                                     std::pair(&StackResult::reference, "reference")}) {
    RunRecord run = run_of("r", {1000});
    add(run, "apart", {10, 11, 10});
    run.stacks[1].*mark = true;
    const auto ranking = ranking_of(run);
    ASSERT_EQ(ranking.ranked.size(), 1u) << status;
    EXPECT_EQ(ranking.ranked[0].id, "gpuready");
    ASSERT_EQ(ranking.others.size(), 1u) << status;
    EXPECT_EQ(ranking.others[0].status, status);
    EXPECT_EQ(ranking.others[0].ns, 10);
  }
}

// Equal stacks of a machine that changes between two states: all repeats of one may lie in one of
// them, and all of another in the other. 6 repeats tell it for up to five stacks, and 5 for two.
TEST(BenchRanking, FewRepeatsDoNotTellStacksFromTwoStates) {
#ifdef GPUREADY_SANITIZED
  constexpr int kTrials = 300;
#else
  constexpr int kTrials = 1500;
#endif
  for (const double states : {0.1, 0.65})
    for (const auto& [stacks, repeats] :
         {std::pair(2, 2), {2, 3}, {2, 5}, {3, 5}, {5, 2}, {5, 3}, {5, 5}, {5, 6}}) {
      const SimulatedNoise noise{.name = "", .white = 0.003, .states = states};
      int told_apart = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        const auto run = simulate_ranking(noise, std::size_t(stacks), std::size_t(repeats),
                                          7919u * std::uint64_t(trial) + 1);
        told_apart += not_told_apart(ranking_of(run)).size() + 1 < std::size_t(stacks);
      }
      EXPECT_LE(told_apart, kTrials * 0.01 + 3 * std::sqrt(kTrials * 0.01 * 0.99))
          << states << ", " << stacks << " stacks, " << repeats << " repeats";
    }
}

TEST(BenchRanking, SaysThatRepeatsAreTooFewToTellTwoStates) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "fast", {1000, 1001, 999});
  add(run, "slow", {1500, 1501, 1499});
  const auto ranking = ranking_of(run);
  EXPECT_FALSE(ranking.ranked[1].told_apart);
  EXPECT_EQ(ranking.ranked[1].repeats_for_states, 5u);
  EXPECT_EQ(
      too_few_to_tell_states(ranking),
      "too few repeats to tell a difference from a machine with two states (3 of at least 5)");
  // No states that were seen are so far apart.
  run.stacks.pop_back();
  add(run, "slow", {3000, 3001, 2999});
  EXPECT_TRUE(ranking_of(run).ranked[1].told_apart);
  EXPECT_EQ(too_few_to_tell_states(ranking_of(run)), "");
}

// Two repeats of stacks that are 45 times apart: few, and yet the order is clear.
TEST(BenchRanking, FewRepeatsTellApartWhatIsFarApart) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "fast", {1000, 1050});
  add(run, "slow", {45000, 47000});
  const auto ranking = ranking_of(run);
  EXPECT_TRUE(ranking.ranked[1].told_apart);
  EXPECT_LT(*ranking.ranked[1].high, 45 * 5);
}

// 6 us and 12 ms in two repeats: the ratio is that of the times shown, and no interval is.
TEST(BenchRanking, TwoWildRepeatsGiveNoInterval) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "a", {26356, 11994213});
  add(run, "c", {15867074, 8020544});
  const auto c = ranking_of(run).ranked.at(1);
  EXPECT_NEAR(*c.ratio, (15867074 + 8020544.0) / (26356 + 11994213), 1e-9);
  EXPECT_FALSE(c.low || c.told_apart);
  EXPECT_EQ(c.repeats, 2u);
  EXPECT_GT(c.repeats_for_interval, 2u);
}

// Four repeats of five stacks, as a GPU gave them: the fastest hardly varies, the others by 10% to
// 25%. They tell apart a stack four times slower, and not one 1.3 times slower.
TEST(BenchRanking, StacksLearnFromEachOtherHowFarRepeatsVary) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "cublaslt", {37.9, 37.4, 37.9, 37.5});
  add(run, "xla", {51, 46, 70, 50});
  add(run, "eager", {65, 66, 95, 65});
  add(run, "graphs", {160, 92, 152, 151});
  add(run, "compile", {150, 182, 183, 140});
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t i = 0; i < 4; ++i)
      run.stacks[k].repeats[i].position = 5 * i + (i % 2 == 0 ? k : 4 - k);
  const auto ranking = ranking_of(run);
  ASSERT_EQ(ranking.ranked.at(3).id, "graphs");
  EXPECT_TRUE(ranking.ranked[3].told_apart);
  EXPECT_LT(*ranking.ranked[3].high, 12);
  EXPECT_FALSE(ranking.ranked[1].told_apart);
  EXPECT_EQ(ranking.learned, "the other stacks of the run");
}

// Stacks of equal speed, each as noisy as the others or each by its own; at most the stated 1% of
// runs tells any apart.
TEST(BenchRanking, LearningFromStacksKeepsTheError) {
  constexpr int kTrials = 1500;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const double unlike : {0.0, 0.7}) {  // of the logarithm of a stack's noise
    int told_apart = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      RunRecord run = run_of("r", {1});
      run.stacks.clear();
      for (std::size_t k = 0; k < 5; ++k) {
        add(run, std::string(1, char('a' + k)), {});
        const double sd = 0.02 * std::exp(unlike * normal(random));
        for (std::size_t i = 0; i < 4; ++i) {
          Repeat& repeat = run.stacks[k].repeats.emplace_back();
          repeat.position = 5 * i + (i % 2 == 0 ? k : 4 - k);
          repeat.samples_ns = {1000 * std::exp(sd * normal(random))};
        }
      }
      told_apart += not_told_apart(ranking_of(run)).size() < 4;
    }
    EXPECT_LE(told_apart, kTrials * 0.01 + 3 * std::sqrt(kTrials * 0.01 * 0.99)) << unlike;
  }
}

// Logarithms 0 to 0.03: 0.0129 from their mean 0.015; t of 99% and 3 degrees 5.8409.
TEST(BenchRanking, KnowsHowWellATimeIsKnown) {
  RunRecord run = run_of("r", {1});
  add(run, "four", {1000, 1000 * std::exp(0.01), 1000 * std::exp(0.02), 1000 * std::exp(0.03)});
  EXPECT_NEAR(*uncertainty_of(run.stacks[1]), std::expm1(5.8409 * 0.0129099 / 2), 1e-5);
  EXPECT_FALSE(uncertainty_of(run.stacks[0]));
}

// Logarithms 0 and 0.02: 0.01414 from their mean; t of 99% and 1 degree 63.6567.
TEST(BenchRanking, TwoRepeatsSayHowWellATimeIsKnown) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "two", {1000, 1000 * std::exp(0.02)});
  add(run, "one", {1000});
  add(run, "none", {});
  EXPECT_NEAR(uncertainty_of(run.stacks[0]).value_or(0), std::expm1(63.6567 * 0.01), 1e-5);
  EXPECT_FALSE(uncertainty_of(run.stacks[1]));
  EXPECT_FALSE(uncertainty_of(run.stacks[2]));
}

TEST(BenchRanking, NotesStacksThatTheirRepeatsDidNotMakeKnown) {
  RunRecord run = run_of("r", {1});
  run.stacks.clear();
  add(run, "four", {1000, 1000 * std::exp(0.01), 1000 * std::exp(0.02), 1000 * std::exp(0.03)});
  const double known = *uncertainty_of(run.stacks[0]);  // 3.84%, as above
  add(run, "failed", {1000, 1500, 1000, 1500});
  run.stacks[1].status = StackStatus::error;
  add(run, "once", {1000});
  add(run, "still", {1000, 1000, 1000, 1000});
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes_of_uncertainty(run.stacks, 0.025),
            Notes{"four is known to 3.8% after 4 repeats: its repeats vary too much for 2.5%."});
  EXPECT_EQ(notes_of_uncertainty(run.stacks, known * 0.999).size(), 1u);
  EXPECT_EQ(notes_of_uncertainty(run.stacks, known), Notes{});
  run.stacks[0].display_name = "Four";
  EXPECT_TRUE(notes_of_uncertainty(run.stacks, 0.01).at(0).starts_with("Four is known to 3.8% "));
}

// Repeats that end when the times are known within 2% tell equal stacks apart no more often than
// the stated 1%.
TEST(BenchRanking, EndingEarlyKeepsTheError) {
  constexpr int kTrials = 2000;
  std::mt19937_64 random(1);
  for (const double sd : {0.005, 0.01, 0.02, 0.05}) {
    int told_apart = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      RunRecord run = run_of("r", {1});
      run.stacks.clear();
      add(run, "one", {});
      add(run, "other", {});
      std::normal_distribution<double> noise(0, sd);
      for (std::size_t round = 0; round < 20; ++round) {
        for (std::size_t place = 0; place < 2; ++place) {
          Repeat repeat;
          repeat.position = 2 * round + place;
          repeat.samples_ns = {1000 * std::exp(noise(random))};
          run.stacks[round % 2 == 0 ? place : 1 - place].repeats.push_back(repeat);
        }
        const auto known = [](const StackResult& stack) { return *uncertainty_of(stack) <= 0.02; };
        if (round >= 3 && round % 2 == 1 && std::ranges::all_of(run.stacks, known)) break;
      }
      told_apart += ranking_of(run).ranked[1].told_apart;
    }
    EXPECT_LE(told_apart, kTrials * 0.01 + 3 * std::sqrt(kTrials * 0.01 * 0.99)) << sd;
  }
}

TEST(BenchRanking, RunsOfATagAreOneTable) {
  std::vector<RunRecord> runs;
  for (const double ns : {1000.0, 1002.0, 999.0, 1001.0, 1000.5}) {
    RunRecord run = run_of(std::to_string(ns), {ns});
    add(run, "slow", {1.5 * ns, 1.6 * ns, 1.5 * ns});
    run.stacks[1].repeats[1].status = StackStatus::error;
    runs.push_back(std::move(run));
  }
  runs.push_back(run_of("other", {1}));
  runs[5].tag = "another";
  const auto tables = one_per_tag(runs);
  ASSERT_EQ(tables.size(), 2u);
  const auto ranking = ranking_of(tables[0]);
  ASSERT_EQ(ranking.ranked.size(), 2u);
  EXPECT_TRUE(ranking.ranked[1].told_apart);
  EXPECT_EQ(ranking.losses, std::vector<std::string>{"5 of 10 repeats of slow failed"});
  EXPECT_EQ(tables[0].stacks[0].repeats.size(), 5u);
  EXPECT_EQ(tables[0].notes, std::vector<std::string>{"5 runs; each counts as one repeat."});
  runs[1].environment.variables["OMP_NUM_THREADS"] = "4";
  EXPECT_EQ(one_per_tag(runs)[0].notes.back(),
            "These runs differ in OMP_NUM_THREADS: the table mixes them.");
}

TEST(BenchRanking, SaysWhatDoesNotCount) {
  RunRecord run = run_of("r", std::vector<double>(199, 1000));
  run.protocol.repeats = 3;
  auto ranking = ranking_of(run);
  EXPECT_FALSE(ranking.ranked.at(0).p95_counts);
  EXPECT_EQ(ranking.losses, std::vector<std::string>{"2 of 3 repeats of gpuready are missing"});
  run.protocol.repeats = 2;
  run.stacks[0].repeats.emplace_back().samples_ns = {1000};
  ranking = ranking_of(run);
  EXPECT_TRUE(ranking.ranked.at(0).p95_counts);
  EXPECT_TRUE(ranking.losses.empty());
}

TEST(BenchRanking, OtherWorkIsNotRanked) {
  RunRecord run = run_of("r", {1000});
  add(run, "cheat", {1, 1, 1});
  run.stacks[1].status = StackStatus::different_work;
  run.stacks[1].reason = "an eighth of the FLOPs";
  add(run, "silent", {});
  const auto ranking = ranking_of(run);
  ASSERT_EQ(ranking.ranked.size(), 1u);
  ASSERT_EQ(ranking.others.size(), 2u);
  EXPECT_EQ(ranking.others[0].status, "different_work");
  EXPECT_EQ(ranking.others[0].reason, "an eighth of the FLOPs");
}

}  // namespace
}  // namespace gpuready::bench
