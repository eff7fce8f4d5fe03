// The compute test through the HIP executor and a fake runtime: right arithmetic passes, and
// nothing else does.
#include "health/compute/test_compute.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

Verdict test_fake(const std::string& fake, const TestOptions& options = {}) {
  return on_fake_hip(fake, [&](Device& device) { return test_compute(device, options); });
}

TEST(HipComputeTest, RightArithmeticPassesAndClaimsNoUnits) {
  const Verdict v = test_fake("");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.executor, "hip");
  EXPECT_FALSE(v.units) << "HIP does not tell which units did the work";
  EXPECT_TRUE(v.digests.empty()) << "it has no special functions";
  EXPECT_NE(v.reason.find("45 operations on each of 416 work groups"), std::string::npos)
      << v.reason;
}

TEST(HipComputeTest, WhatIsNotTestedIsTold) {
  const std::string reason = test_fake("").reason;
  for (const char* what : {"HIP does not report which units", "fp64", "fp16", "special functions"})
    EXPECT_NE(reason.find(what), std::string::npos) << reason;
}

TEST(HipComputeTest, AWrongResultIsFoundAtItsPlace) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Verdict v = test_fake("", {.inject = Fault{FaultClass::wrong_sm, seed}});
    EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
    EXPECT_EQ(v.mismatches_total, 1u) << v.reason;
    EXPECT_NE(v.reason.find("work group"), std::string::npos) << v.reason;
    EXPECT_EQ(v.reason.find("checksum"), std::string::npos) << v.reason;
  }
}

TEST(HipComputeTest, ANanIsFound) {
  const Verdict v = test_fake("", {.inject = Fault{FaultClass::nan, 1}});
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
  EXPECT_NE(v.reason.find("fp32"), std::string::npos) << v.reason;
}

TEST(HipComputeTest, ASlowUnitCannotBeSeen) {
  const Verdict v = test_fake("", {.inject = Fault{FaultClass::slow_sm, 1}});
  EXPECT_EQ(v.status, VerdictStatus::not_supported) << v.reason;
  EXPECT_NE(v.reason.find("HIP"), std::string::npos) << v.reason;
}

TEST(HipComputeTest, AKernelThatDoesNothingFails) {
  EXPECT_EQ(test_fake("noop=compute").status, VerdictStatus::failed);
}

TEST(HipComputeTest, AKernelThatEndsInAnErrorFails) {
  EXPECT_EQ(test_fake("launch_error=719@2").status, VerdictStatus::failed);
}

TEST(HipComputeTest, ARefusedCodeObjectFails) {
  EXPECT_EQ(test_fake("mach=0x36").status, VerdictStatus::failed);
}

}  // namespace
}  // namespace gpuready
