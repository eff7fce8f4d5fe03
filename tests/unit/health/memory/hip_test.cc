// The memory test through the HIP executor and a fake runtime: clean memory passes, and nothing
// else does.
#include "health/memory/test_memory.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

// A GPU of 8 MiB, unless the fake is given another size: larger ones prove nothing more.
Verdict test_fake(const std::string& fake, TestOptions options = {}) {
  options.copy_traffic_bytes = MiB;
  return on_fake_hip(fake + ",memory=8MiB",
                     [&](Device& device) { return test_memory(device, options); });
}

TEST(HipMemoryTest, CleanMemoryPassesWithItsCoverage) {
  const Verdict v = test_fake("");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.coverage->tested_bytes, 8 * MiB / 1000 * 995);
  EXPECT_EQ(v.executor, "hip");
  EXPECT_EQ(v.pci_address, "0000:03:00.0");
  EXPECT_FALSE(v.uuid);
}

TEST(HipMemoryTest, AStuckBitFailsWithItsAddressAndBit) {
  const Verdict v = test_fake("stuck=0x123450:37");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.bad_words.size(), 1u) << v.reason;
  EXPECT_EQ(v.bad_words[0].offset_bytes, 0x123450u);
  EXPECT_EQ(v.bad_words[0].bits(), 1ull << 37);
}

TEST(HipMemoryTest, TwoAddressesOfOneCellFail) {
  const Verdict v = test_fake("alias");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_GT(v.bad_words_total, 1000u);
}

TEST(HipMemoryTest, ALostWriteFails) {
  EXPECT_EQ(test_fake("drop=0x40008").status, VerdictStatus::failed);
}

TEST(HipMemoryTest, AnInjectedBitFlipFailsAndIsMarked) {
  TestOptions options;
  options.inject = Fault{FaultClass::bitflip, 777};
  const Verdict v = test_fake("", options);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_EQ(v.injected_fault, "bitflip");
}

TEST(HipMemoryTest, AKernelThatDoesNothingFails) {
  EXPECT_EQ(test_fake("noop=verify").status, VerdictStatus::failed);
  EXPECT_EQ(test_fake("noop=write").status, VerdictStatus::failed);
}

TEST(HipMemoryTest, SeveralAllocationsServeWhereOneIsRefused) {
  const Verdict v = test_fake("max_alloc=1280KiB");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}

TEST(HipMemoryTest, WhatIsNotGrantedIsNotTested) {
  EXPECT_EQ(test_fake("fail=hipMalloc:2").status, VerdictStatus::not_tested);
}

TEST(HipMemoryTest, ARefusedCodeObjectFails) {
  EXPECT_EQ(test_fake("mach=0x36").status, VerdictStatus::failed);
}

TEST(HipMemoryTest, AMemoryErrorOfTheGpuFailsAndIsNamed) {
  const Verdict v = test_fake("launch_error=214@6");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("hipErrorECCNotCorrectable"), std::string::npos) << v.reason;
}

TEST(HipMemoryTest, AKernelThatEndsInAnErrorFails) {
  EXPECT_EQ(test_fake("launch_error=719@6").status, VerdictStatus::failed);
}

}  // namespace
}  // namespace gpuready
