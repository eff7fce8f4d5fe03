// The memory test against the fake CUDA driver: clean memory passes, and nothing else does.
#include "health/memory/test_memory.h"

#include "health/memory/faults.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

// A GPU of 8 MiB, unless the fake is given another size: larger ones prove nothing more.
Verdict test_fake(const std::string& fake, TestOptions options = {}) {
  options.copy_traffic_bytes = MiB;
  return on_fake_cuda(fake + ",memory=8MiB",
                      [&](Device& device) { return test_memory(device, options); });
}

TEST(MemoryTest, CleanMemoryPassesWithItsCoverageAndRates) {
  const Verdict v = test_fake("");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.coverage->tested_bytes, 8 * MiB / 1000 * 995);
  EXPECT_EQ(v.coverage->free_bytes, 8 * MiB);
  EXPECT_EQ(v.uuid, kFakeGpu0);
  EXPECT_EQ(v.pci_address, "0000:17:00.0");
  for (const char* name : {"write_address_rate", "verify_address_rate", "write_complement_rate",
                           "verify_complement_rate", "copy_rate", "slowest_pass_to_copy"}) {
    EXPECT_GT(metric(v, name), 0) << name;
  }
}

TEST(MemoryTest, AStuckBitFailsWithItsAddressAndBit) {
  const Verdict v = test_fake("stuck=0x123450:37");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.bad_words.size(), 1u) << "of the pattern that this seed gives first";
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0x123450u);
  EXPECT_EQ(v.bad_words[0].bits(), 1ull << 37);
}

// Of a child that is killed this is all that is known.
TEST(MemoryTest, WhatWasFoundIsToldBeforeTheEnd) {
  const Verdict v = on_fake_cuda("stuck=0x123450:37,memory=8MiB", [](Device& device) {
    Verdict told;
    TestHooks hooks;
    hooks.partial = [&](const Verdict& so_far) { told = so_far; };
    test_memory(device, {.seed = 0, .copy_traffic_bytes = MiB}, hooks);
    return told;
  });
  ASSERT_EQ(v.bad_words.size(), 1u) << "of the pattern that this seed gives first";
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0x123450u);
  ASSERT_TRUE(v.coverage);
  EXPECT_EQ(v.coverage->free_bytes, 8 * MiB);
}

TEST(MemoryTest, AStuckBitIsFoundWhateverTheSalt) {
  for (std::uint64_t salt : {0ull, 1ull, 0x8000000000000000ull, ~0ull}) {
    TestOptions options;
    options.seed = salt;
    EXPECT_EQ(test_fake("stuck=0x80000:0", options).status, VerdictStatus::failed) << salt;
  }
}

TEST(MemoryTest, TwoAddressesOfOneCellFailAndAreNamed) {
  const Verdict v = test_fake("alias");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_GT(v.bad_words_total, 1000u);
  ASSERT_EQ(v.bad_words.size(), 64u);
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0u) << "the lowest ones are listed, in order";
  EXPECT_EQ(v.bad_words[63].offset_bytes, 63u * 8);
  EXPECT_TRUE(says(v, "the word of offset 0x400000: two addresses share one cell")) << v.reason;
}

TEST(MemoryTest, ALostWriteFailsAndIsToldAsSuch) {
  const Verdict v = test_fake("drop=0x40008");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.bad_words.size(), 1u);
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0x40008u);
  EXPECT_EQ(v.bad_words[0].phase, "complement");
  EXPECT_TRUE(says(v, "the write was lost")) << v.reason;
}

TEST(MemoryTest, AKernelThatDoesNothingFails) {
  const Verdict no_verify = test_fake("noop=verify");
  EXPECT_EQ(no_verify.status, VerdictStatus::failed);
  EXPECT_TRUE(says(no_verify, "verified 0 words")) << no_verify.reason;
  EXPECT_EQ(no_verify.coverage->tested_bytes, 0u);
  EXPECT_EQ(test_fake("noop=write").status, VerdictStatus::failed);
}

TEST(MemoryTest, AnInjectedBitFlipFailsAndIsMarked) {
  TestOptions options;
  options.inject = Fault{FaultClass::bitflip, 777};
  const Verdict v = test_fake("", options);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_EQ(v.injected_fault, "bitflip");
  ASSERT_EQ(v.bad_words.size(), 1u);
  const auto expected = faulty_words(*options.inject, v.coverage->tested_bytes / 8);
  EXPECT_EQ(v.bad_words[0].offset_bytes, expected[0].word * 8);
  EXPECT_EQ(v.bad_words[0].bits(), expected[0].bits);
}

TEST(MemoryTest, SeveralAllocationsServeWhereOneIsRefused) {
  const Verdict v = test_fake("max_alloc=1280KiB");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.coverage->tested_bytes, 8 * MiB / 1000 * 995);
}

TEST(MemoryTest, FaultsAreFoundInEveryAllocation) {
  const Verdict v = test_fake("max_alloc=1280KiB,stuck=0x600000:5");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.bad_words.size(), 1u);
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0x600000u);
}

TEST(MemoryTest, MuchLessMemoryThanToldFreeIsNoPass) {
  const Verdict v = test_fake("memory=4MiB,free=8MiB");
  EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
}

TEST(MemoryTest, NoMemoryGrantedIsNotTested) {
  const Verdict v = test_fake("memory=2KiB,free=8MiB");
  EXPECT_EQ(v.status, VerdictStatus::not_tested) << v.reason;
  EXPECT_TRUE(says(v, "out of memory")) << v.reason;
}

TEST(MemoryTest, ALittleMemoryIsTestedAsWell) {
  const Verdict v = test_fake("memory=1MiB");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}

TEST(MemoryTest, WhatIsLeftToOthersIsNotTaken) {
  TestOptions options;
  options.reserve_free_bytes = 6 * MiB;
  const Verdict v = test_fake("", options);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_LE(v.coverage->tested_bytes, 2 * MiB);
  options.reserve_free_bytes = 8 * MiB;
  EXPECT_EQ(test_fake("", options).status, VerdictStatus::not_tested);
}

TEST(MemoryTest, AnEccErrorMidwayFails) {
  const Verdict v = test_fake("launch_error=214@5");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "memory fault")) << v.reason;
  EXPECT_TRUE(says(v, "CUDA_ERROR_ECC_UNCORRECTABLE (214)")) << v.reason;
}

TEST(MemoryTest, OtherErrorsMidwayAreJudgedByTheirMeaning) {
  EXPECT_EQ(test_fake("launch_error=719@5").status, VerdictStatus::failed);
  EXPECT_EQ(test_fake("launch_error=702@5").status, VerdictStatus::inconclusive);
  EXPECT_EQ(test_fake("launch_error=999@4").status, VerdictStatus::inconclusive);
}

// What the driver claims to load, it must load; what it was told not to load says nothing about it.
TEST(MemoryTest, CodeThatTheDriverRefusesIsJudgedByItsClaim) {
  for (const int code : {200, 209, 218, 221, 222, 300, 700, 719}) {
    const Verdict v = test_fake("fail=cuModuleLoadDataEx:" + std::to_string(code));
    EXPECT_EQ(v.status, VerdictStatus::failed) << code << ": " << v.reason;
    EXPECT_EQ(v.error_code, code);
  }
  EXPECT_EQ(test_fake("fail=cuModuleLoadDataEx:223").status, VerdictStatus::not_tested);
  const Verdict v = test_fake("ptx=5.0");
  EXPECT_EQ(v.status, VerdictStatus::failed) << "it claims to be of CUDA 13.0";
  EXPECT_TRUE(says(v, "refuses code that it must be able to load")) << v.reason;
}

TEST(MemoryTest, ADriverThatIsTooOldIsNotJudged) {
  const Verdict v = test_fake("cuda=8.0");
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_TRUE(says(v, "needs PTX 6.0 (driver 384.81 or newer)")) << v.reason;
}

TEST(MemoryTest, ShortLaunchesCoverTheSame) {
  TestOptions options;
  options.max_launch_ms = 0.5;  // the least that a launch does, 4 MiB
  const Verdict v = test_fake("memory=12MiB", options);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.coverage->tested_bytes, 12 * MiB / 1000 * 995);
}

TEST(MemoryTest, CancellingKeepsWhatIsKnown) {
  const Verdict v = on_fake_cuda("memory=8MiB", [](Device& device) {
    std::atomic<bool> cancel{false};
    TestHooks hooks;
    hooks.cancel = &cancel;
    hooks.progress = [&](const TestProgress& p) { cancel = p.phase == "write complement"; };
    return test_memory(device, {}, hooks);
  });
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_TRUE(says(v, "interrupted during write complement")) << v.reason;
  EXPECT_GT(v.coverage->tested_bytes, 7 * MiB);
}

TEST(MemoryTest, LessThanFourTimesTheCacheMayHaveBeenAnsweredByIt) {
  for (const auto& [bytes, small] :
       {std::pair(2 * MiB, true), {4 * MiB - 4 * KiB, true}, {4 * MiB, false}, {6 * MiB, false}}) {
    TestOptions options;
    options.max_bytes = bytes;  // the fake's L2 is 1 MiB
    const Verdict v = test_fake("", options);
    EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
    EXPECT_EQ(v.coverage->tested_bytes, bytes);
    EXPECT_EQ(says(v, "less than 4 times the L2 cache of 1 MiB"), small) << v.reason;
  }
}

}  // namespace
}  // namespace gpuready
