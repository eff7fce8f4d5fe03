// The health tests with the kernels that ship, executed on the host for every architecture that has
// images of its own: clean memory and units pass, faults are found, and nothing is reached beyond
// what was allocated.
#include <gtest/gtest.h>

#include <ostream>
#include <set>

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

// ---- faults of copies and launches ----

struct ChangedCall {
  std::string_view test;
  FaultClass kind;
  const char* gpu;
  unsigned trials;  // a run of the compute test takes seconds here
  friend std::ostream& operator<<(std::ostream& out, const ChangedCall& call) {  // the test's name
    return out << call.test << ", " << to_string(call.kind);
  }
};
class PtxCalls : public testing::TestWithParam<ChangedCall> {};
TEST_P(PtxCalls, EachChangedOneIsFound) {
  const auto& [test, kind, gpu, trials] = GetParam();
  for (std::uint64_t seed = 1; seed <= trials; ++seed) {
    TestOptions tried = options(kind);
    tried.inject->seed = seed;
    const Verdict v = on(gpu, [&](Device& device) {
      Device* const one = &device;
      return find_health_test(test)->run({&one, 1}, tried, {});
    });
    EXPECT_EQ(v.status, VerdictStatus::failed) << test << " " << seed << " " << v.reason;
    EXPECT_EQ(v.injected_fault, to_string(kind));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Every, PtxCalls,
    testing::Values(ChangedCall{"memory", FaultClass::result_copy, "9.0", 12},
                    ChangedCall{"memory", FaultClass::lost_launch, "9.0", 12},
                    ChangedCall{"compute", FaultClass::result_copy, "7.0", 2},
                    ChangedCall{"compute", FaultClass::lost_launch, "7.0", 2},
                    ChangedCall{"tensor", FaultClass::result_copy, "8.0", 4},
                    ChangedCall{"tensor", FaultClass::operand_copy, "8.0", 4},
                    ChangedCall{"tensor", FaultClass::lost_launch, "8.0", 4},
                    ChangedCall{"bandwidth", FaultClass::result_copy, "9.0", 12},
                    ChangedCall{"bandwidth", FaultClass::operand_copy, "9.0", 12},
                    ChangedCall{"bandwidth", FaultClass::lost_launch, "9.0", 12}));

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

// ---- drivers that are older than some of the images ----

struct OldDriver {
  std::string what;                  // "8.9,cuda=12.2"
  VerdictStatus tensor;              // memory and compute pass on all
  std::set<std::string> not_judged;  // of compute and tensor
  std::string told;                  // by the tensor test
};
void PrintTo(const OldDriver& driver, std::ostream* out) { *out << driver.what; }

class PtxOldDriver : public testing::TestWithParam<OldDriver> {};
TEST_P(PtxOldDriver, RunsWhatItCompilesAndNamesTheRest) {
  const OldDriver& driver = GetParam();
  EXPECT_EQ(on<test_memory>(driver.what, options()).status, VerdictStatus::passed);
  const Verdict compute = on<test_compute>(driver.what, options());
  EXPECT_EQ(compute.status, VerdictStatus::passed) << compute.reason;
  const Verdict tensor = on<test_tensor>(driver.what, options());
  EXPECT_EQ(tensor.status, driver.tensor) << tensor.reason;
  std::set<std::string> parts;
  for (const Verdict* verdict : {&compute, &tensor})
    for (const std::string& part : verdict->not_judged)
      parts.insert(part.substr(0, part.find(':')));
  EXPECT_EQ(parts, driver.not_judged);
  EXPECT_TRUE(says(tensor, driver.told)) << tensor.reason;
}
using enum VerdictStatus;
const std::set<std::string> kFp8 = {"fp8 e4m3 mma", "fp8 e5m2 mma"};
INSTANTIATE_TEST_SUITE_P(
    Every, PtxOldDriver,
    testing::Values(
        OldDriver{"5.0,cuda=9.0", not_supported, {}, "no tensor cores"},
        OldDriver{"6.1,cuda=9.0", not_supported, {}, "no tensor cores"},
        OldDriver{"7.0,cuda=9.0", not_tested, {"fp16 mma"}, "too old"},
        OldDriver{"7.0,cuda=10.1", passed, {}, "fp16 mma as a burn"},
        OldDriver{"7.5,cuda=10.0", not_tested, {"tanh.approx", "fp16 mma", "int8 mma"}, "too old"},
        OldDriver{"7.5,cuda=10.1", passed, {"tanh.approx", "fp16 mma", "int8 mma"}, "no burn"},
        OldDriver{"7.5,cuda=10.2", passed, {"tanh.approx"}, "fp16 mma as a burn"},
        OldDriver{"8.0,cuda=11.0", passed, {}, "bf16 mma as a burn"},
        OldDriver{"8.9,cuda=12.2", passed, kFp8, "bf16 mma as a burn"},
        OldDriver{"8.9,cuda=12.4", passed, {}, "bf16 mma as a burn"},
        OldDriver{"9.0,cuda=11.8",
                  passed,
                  {"bf16 wgmma", "fp16 wgmma", "tf32 wgmma", "int8 wgmma", "fp8 e4m3 wgmma",
                   "fp8 e5m2 wgmma"},
                  "no burn"},
        OldDriver{"12.0,cuda=9.0",
                  not_tested,
                  {"tanh.approx", "bf16 mma", "fp16 mma", "tf32 mma", "int8 mma", "fp8 e4m3 mma",
                   "fp8 e5m2 mma"},
                  "too old"}));

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
