// Faults on purpose on host memory: every class is found whatever the seed, and reported exactly.
#include "health/memory/faults.h"

#include <algorithm>
#include <set>

#include "health/memory/test_memory.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

constexpr FaultClass kClasses[] = {FaultClass::bitflip, FaultClass::stuck,
                                   FaultClass::dropped_write, FaultClass::alias,
                                   FaultClass::coupling};

Verdict test_with(const TestOptions& options, std::uint64_t bytes = 256 * KiB) {
  return test_memory(*cpu_with(bytes), options, {});
}

TestOptions options_of(FaultClass kind, std::uint64_t seed, std::uint64_t count = 1) {
  TestOptions options;
  options.copy_traffic_bytes = 0;
  options.max_reported = 4096;
  options.inject = Fault{kind, seed, count};
  return options;
}

TEST(MemoryFaults, EveryClassIsFoundAtTheQuickLevelWhateverTheSeed) {
  for (const FaultClass kind : kClasses) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      TestOptions options = options_of(kind, seed);
      options.seed = seed * 77;
      const Verdict v = test_with(options);
      ASSERT_EQ(v.status, VerdictStatus::failed) << to_string(kind) << " " << seed << v.reason;
      EXPECT_EQ(v.injected_fault, to_string(kind));
    }
  }
}

// The pass that goes wrong is drawn from the seed, so that these pass through every pattern's
// write.
TEST(MemoryFaults, OneFaultInAnyPassOfTheStandardLevelIsReportedExactly) {
  std::set<std::string> patterns;
  for (const FaultClass kind : {FaultClass::bitflip, FaultClass::dropped_write}) {
    for (std::uint64_t seed = 0; seed < 14; ++seed) {
      TestOptions options = options_of(kind, seed);
      options.level = Level::standard;
      const Verdict v = test_with(options);
      ASSERT_EQ(v.status, VerdictStatus::failed) << to_string(kind) << " " << seed << v.reason;
      ASSERT_EQ(v.bad_words.size(), 1u) << v.reason;
      const auto expected = faulty_words(*options.inject, v.coverage->tested_bytes / 8).at(0);
      EXPECT_EQ(v.bad_words[0].offset_bytes, expected.word * 8);
      if (kind == FaultClass::bitflip) {
        EXPECT_EQ(v.bad_words[0].bits(), expected.bits);
      }
      patterns.insert(v.bad_words[0].phase);
    }
  }
  EXPECT_GE(patterns.size(), 5u);
}

TEST(MemoryFaults, AThousandFaultsAreEachReportedExactly) {
  for (const FaultClass kind : kClasses) {
    if (kind == FaultClass::alias) continue;
    const TestOptions options = options_of(kind, 5, 1000);
    const Verdict v = test_with(options, MiB);
    const auto expected = faulty_words(*options.inject, v.coverage->tested_bytes / 8);
    ASSERT_EQ(v.bad_words_total, 1000u) << to_string(kind) << v.reason;
    ASSERT_EQ(v.bad_words.size(), 1000u);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(v.bad_words[i].offset_bytes, expected[i].word * 8) << to_string(kind);
      if (expected[i].bits != 0) {
        ASSERT_EQ(v.bad_words[i].bits(), expected[i].bits);
      }
      ASSERT_EQ(v.bad_words[i].repeats, true);
    }
  }
}

TEST(MemoryFaults, AnAliasIsNamedWithTheOffsetThatSharesTheCell) {
  const Verdict v = test_with(options_of(FaultClass::alias, 3, 2));
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("two addresses share one cell"), std::string::npos) << v.reason;
}

TEST(MemoryFaults, ADroppedWriteIsToldAsSuch) {
  const Verdict v = test_with(options_of(FaultClass::dropped_write, 8));
  EXPECT_NE(v.reason.find("the write was lost"), std::string::npos) << v.reason;
}

TEST(MemoryFaults, OnlyAsManyAsWantedAreListedAndAllAreCounted) {
  TestOptions options = options_of(FaultClass::bitflip, 5, 1000);
  options.max_reported = 10;
  const Verdict v = test_with(options);
  EXPECT_EQ(v.bad_words_total, 1000u);
  EXPECT_EQ(v.bad_words.size(), 10u);
}

TEST(MemoryFaults, AFaultOfAnotherTestLeavesTheMemoryAlone) {
  EXPECT_EQ(test_with(options_of(FaultClass::wrong_sm, 1)).status, VerdictStatus::passed);
}

TEST(MemoryFaultPlaces, AreDifferentWordsAllOverTheRange) {
  for (const FaultClass kind : kClasses) {
    if (kind == FaultClass::alias) continue;
    const auto words = faulty_words({kind, 99, 1000}, 1'000'003);
    ASSERT_EQ(words.size(), 1000u);
    for (std::size_t i = 1; i < words.size(); ++i) ASSERT_LT(words[i - 1].word, words[i].word);
    EXPECT_LT(words.back().word, 1'000'003u);
    EXPECT_GT(words.back().word, 990'000u);
  }
}

TEST(MemoryFaultPlaces, AnAggressorIsTheLogicalNeighbourWithinTheRange) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const auto& fault : memory_fault_table({FaultClass::coupling, seed, 2}, 4)) {
      EXPECT_LT(fault.aggressor, 4u);
      EXPECT_EQ(std::max(fault.aggressor, fault.word) - std::min(fault.aggressor, fault.word), 1u);
    }
  }
}

TEST(MemoryFaultPlaces, TheFirstWriteIsNeverDropped) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(faulty_write({FaultClass::dropped_write, seed}, 2), 1u);
    EXPECT_LT(faulty_write({FaultClass::bitflip, seed}, 12).value(), 12u);
    EXPECT_FALSE(faulty_write({FaultClass::stuck, seed}, 12));
  }
}

}  // namespace
}  // namespace gpuready
