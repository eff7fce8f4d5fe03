// The health tests with the kernels that ship, executed on the host for every architecture that has
// images of its own: clean memory and units pass, faults are found, and nothing is reached beyond
// what was allocated.
#include <gtest/gtest.h>

#include "health/bandwidth/test_bandwidth.h"
#include "health/compute/test_compute.h"
#include "health/memory/test_memory.h"
#include "health/tensor/test_tensor.h"
#include "ptx_gpu.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

using Capability = std::string;

// "8.0", and more that the fake driver is told, "8.0,sms=3".
Verdict on(const Capability& capability, const TestOfDevice& test) {
  return verdict_of(on_ptx_gpu("cc=" + capability + ",sms=1,memory=64MiB",
                               [&](Device& device) { return dump_line(to_json(test(device))); }));
}

TestOptions options(std::optional<FaultClass> fault = std::nullopt) {
  TestOptions o;
  o.seed = 5;
  o.copy_traffic_bytes = MiB / 4;
  o.max_bytes = MiB / 2;
  o.duration_s = 0.001;
  if (fault) o.inject = Fault{*fault, 3};
  return o;
}

template <Verdict (*kTest)(Device&, const TestOptions&, const TestHooks&)>
Verdict on(const Capability& capability, const TestOptions& o) {
  return on(capability, [&](Device& device) { return kTest(device, o, {}); });
}

class PtxOf : public testing::TestWithParam<const char*> {};

// ---- one image for all ----

TEST(PtxMemory, EveryPatternPassesOnCleanMemory) {
  auto o = options();
  o.level = Level::standard;
  const Verdict v = on<test_memory>("9.0", o);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GT(v.coverage->tested_bytes, 400 * KiB);
}

TEST(PtxMemory, EveryFaultIsFound) {
  for (FaultClass fault : {FaultClass::bitflip, FaultClass::stuck, FaultClass::dropped_write,
                           FaultClass::coupling, FaultClass::alias}) {
    const Verdict v = on<test_memory>("9.0", options(fault));
    EXPECT_EQ(v.status, VerdictStatus::failed) << to_string(fault) << ": " << v.reason;
  }
}

TEST(PtxTransfers, CopiesByKernelsArriveWhole) {
  const Verdict v =
      on("9.0", [](Device& device) { return test_bandwidth(device, options(), TestHooks{}); });
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}

// ---- an image for each ----

class PtxCompute : public PtxOf {};
TEST_P(PtxCompute, CleanUnitsPass) {
  const Verdict v = on<test_compute>(GetParam(), options());
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}
TEST_P(PtxCompute, AWrongUnitIsFound) {
  const Verdict v = on<test_compute>(GetParam(), options(FaultClass::wrong_sm));
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
}
INSTANTIATE_TEST_SUITE_P(Every, PtxCompute, testing::Values("5.0", "5.3", "6.1", "7.5"));

TEST(PtxComputeSpeed, SlowUnitsAreFoundWhereAllAreSlow) {
  const Verdict v = on<test_compute>("7.5", options(FaultClass::slow_clock));
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
  EXPECT_TRUE(says(v, "all SMs are slow")) << v.reason;
}

class PtxTensor : public PtxOf {};
TEST_P(PtxTensor, CleanUnitsPass) {
  const Verdict v = on<test_tensor>(GetParam(), options());
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}
TEST_P(PtxTensor, AWrongUnitIsFound) {
  const Verdict v = on<test_tensor>(GetParam(), options(FaultClass::wrong_sm));
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
}
INSTANTIATE_TEST_SUITE_P(Every, PtxTensor, testing::Values("7.0", "7.5", "8.0", "8.9", "9.0"));

// The machine in software takes no time for a product, so that what it does in a cycle stays beyond
// every limit. Warps take their turns often here: each sees how long the others hold it up.
TEST(PtxTensorSpeed, SmsThatIdleDoLessInACycle) {
  const auto speed = [](std::optional<FaultClass> fault) {
    return metric(on<test_tensor>("8.0,slice=64", options(fault)), "burn_operations_per_sm_cycle");
  };
  const double idle = speed(FaultClass::slow_clock), clean = speed(std::nullopt);
  EXPECT_GT(idle, 0);
  EXPECT_LT(idle, clean / 2);
  EXPECT_EQ(on<test_tensor>("7.5", options(FaultClass::slow_clock)).status,
            VerdictStatus::not_supported);
}

}  // namespace
}  // namespace gpuready
