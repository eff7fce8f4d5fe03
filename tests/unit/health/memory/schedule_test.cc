// What the levels consist of, what good passes add up to, and what bad words have in common.
#include "health/memory/schedule.h"

#include <set>

#include "health/memory/hints.h"
#include "health/memory/test_memory.h"
#include "kernel_abi/memory_patterns.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

std::vector<std::string> names_of(Level level) {
  std::vector<std::string> names;
  for (const auto& pattern : make_round({level, 1, false}, 0).patterns)
    names.push_back(pattern.name);
  return names;
}

TEST(MemorySchedule, QuickIsThePatternAndItsComplement) {
  EXPECT_EQ(names_of(Level::quick), (std::vector<std::string>{"address", "complement"}));
}

TEST(MemorySchedule, StandardHasEveryPatternOnce) {
  EXPECT_EQ(names_of(Level::standard),
            (std::vector<std::string>{"address", "complement", "moving inversions", "random",
                                      "block move", "walking ones", "walking zeros", "modulo 20",
                                      "retention"}));
}

TEST(MemorySchedule, ThoroughWalksThroughEveryBitAndEveryGroup) {
  const auto round = make_round({Level::thorough, 1, false}, 0);
  for (const auto& pattern : round.patterns) {
    std::set<std::uint64_t> keys;
    for (const auto& step : pattern.steps) keys.insert(step.pattern.key);
    if (pattern.name.starts_with("walking")) {
      EXPECT_EQ(keys.size(), 64u);
    }
    if (pattern.name.starts_with("modulo")) {
      EXPECT_EQ(keys.size(), 20u);
    }
  }
}

TEST(MemorySchedule, EachRoundHasWordsOfItsOwn) {
  const MemorySchedule schedule{Level::standard, 9, false};
  const auto first = make_round(schedule, 0), second = make_round(schedule, 1);
  for (std::size_t i = 0; i < first.patterns.size(); ++i) {
    if (first.patterns[i].name.starts_with("walking")) continue;
    EXPECT_FALSE(first.patterns[i].steps[0].pattern == second.patterns[i].steps[0].pattern);
  }
}

TEST(MemorySchedule, EveryVerifyExpectsWhatWasWrittenLast) {
  for (const Level level : {Level::quick, Level::standard, Level::thorough}) {
    MemoryPattern held;
    for (const auto& pattern : make_round({level, 3, true}, 0).patterns) {
      for (const auto& step : pattern.steps) {
        if (step.kind == MemoryPassKind::write) held = step.pattern;
        if (step.verifies()) {
          EXPECT_TRUE(step.pattern == held) << step.phase;
        }
        if (step.kind == MemoryPassKind::invert) held = held.inverted();
      }
    }
  }
}

// A pass that begins where the one before it ended reads the L2 cache.
TEST(MemorySchedule, NoPassOverAllBeginsWhereTheLastEnded) {
  for (const Level level : {Level::quick, Level::standard, Level::thorough}) {
    unsigned last_quarter = 0;  // that the step before ended in
    for (const auto& pattern : make_round({level, 3, false}, 0).patterns)
      for (const auto& step : pattern.steps) {
        if (step.kind == MemoryPassKind::pause) continue;
        const unsigned top = step.first_quarter + step.quarters - 1;
        if (step.quarters == 4 && &step != &pattern.steps.front()) {
          EXPECT_NE(step.descending ? top : step.first_quarter, last_quarter) << step.phase;
        }
        last_quarter = step.descending ? step.first_quarter : top;
      }
  }
}

TEST(PredictedNameSum, IsTheSumOfTheNamesOfAllWords) {
  for (const std::uint64_t kind :
       {kPatternAddress, kPatternRandom, kPatternWalking, kPatternModulo}) {
    for (const std::uint64_t words : {0u, 2u, 7u, 63u, 64u, 79u, 80u, 1000u, 1003u}) {
      for (const std::uint64_t first : {0u, 5u, 78u, 100'000u}) {
        const MemoryPattern pattern{kind, 0xfffffffffffffff0, 7, false};
        const auto p = params_for(pattern);
        std::uint64_t sum = 0;
        for (std::uint64_t i = first; i < first + words; ++i)
          with_pattern(kind, [&](auto made) { sum += made.at(p, i).name; });
        EXPECT_EQ(predicted_name_sum(pattern, first, words), sum) << kind << " " << words;
      }
    }
  }
}

// The address and random patterns have each word once, so a word names its offset.
TEST(NamesOffset, IsTheOffsetOfAWordOfThePattern) {
  constexpr std::uint64_t kWords = 1000;
  for (const std::uint64_t kind :
       {kPatternAddress, kPatternRandom, kPatternWalking, kPatternModulo})
    for (const bool complement : {false, true}) {
      const MemoryPattern pattern{kind, 0xfffffffffffffff0, 7, complement};
      const bool names = kind == kPatternAddress || kind == kPatternRandom;
      std::uint64_t offset = 0;
      for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{17}, kWords - 1}) {
        ASSERT_EQ(names_offset(pattern, pattern_word(pattern, index), kWords, offset), names)
            << kind << " " << index;
        if (names) {
          EXPECT_EQ(offset, index) << kind;
        }
      }
      EXPECT_FALSE(names_offset(pattern, pattern_word(pattern, kWords), kWords, offset)) << kind;
    }
}

TEST(MemoryHints, TellTheCommonBitAndPage) {
  const std::vector<BadWord> words = {{0x5000, 0, 8, "address", true},
                                      {0x5100, 1, 9, "address", true},
                                      {0x5400, 2, 10, "address", true}};
  EXPECT_EQ(describe_relation(words, 3),
            "all in bit 3, all read 1 for 0, all within one page of 4 KiB, all a multiple of 0x100 "
            "bytes apart, read again, 3 of 3 were bad again");
}

TEST(MemoryHints, SayNothingOfOneWord) {
  const std::vector<BadWord> one = {{0x5000, 0, 8, "address", {}}};
  EXPECT_EQ(describe_relation(one, 1), "");
}

Verdict test_host(const TestOptions& options, std::uint64_t bytes) {
  return test_memory(*cpu_with(bytes), options, {});
}

TEST(MemoryLevels, StandardPassesOnGoodMemoryWithTheRateOfEveryPattern) {
  TestOptions options;
  options.level = Level::standard;
  options.copy_traffic_bytes = MiB;
  const Verdict v = test_host(options, MiB);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  for (const auto& pattern : make_round({Level::standard, 1, false}, 0).patterns)
    for (const auto& step : pattern.steps) {
      if (step.rate_name.empty()) continue;
      EXPECT_GT(metric(v, step.rate_name), 0) << step.rate_name;
    }
  EXPECT_GT(metric(v, "pattern_device_time"), 0);
  EXPECT_GE(metric(v, "coverage"), 0.995);
}

TEST(MemoryLevels, ADurationRepeatsRounds) {
  TestOptions options;
  options.duration_s = 0.3;
  options.copy_traffic_bytes = 0;
  const Verdict v = test_host(options, 256 * KiB);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.duration_ms, 300);
  EXPECT_NE(v.reason.find("rounds"), std::string::npos) << v.reason;
}

TEST(MemoryLevels, RepeatedAccessIsNotClaimedWhereItDidNotHappen) {
  TestOptions options;
  options.hammer = true;
  options.copy_traffic_bytes = 0;
  const Verdict v = test_host(options, MiB);
  EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
  EXPECT_NE(v.reason.find("too little"), std::string::npos) << v.reason;
}

TEST(MemoryLevels, RepeatedAccessIsLeftOutOnASharedDevice) {
  TestOptions options;
  options.hammer = true;
  options.reserve_free_bytes = 4096;
  options.copy_traffic_bytes = 0;
  const Verdict v = test_host(options, MiB);
  EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
  EXPECT_NE(v.reason.find("without other users"), std::string::npos) << v.reason;
}

}  // namespace
}  // namespace gpuready
