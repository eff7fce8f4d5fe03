// The self-test counts what a test finds, and cannot be fooled by one that finds nothing.
#include "health/selftest.h"

#include <algorithm>

#include "health/plan/plan.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

Verdict try_on_cpu(const SelfTestCase& tried, std::uint64_t trials) {
  const auto cpu = cpu_with(GiB);
  TestOptions options = self_test_options(tried, trials, 1);
  options.max_bytes = 1 * MiB;
  Device* const devices[] = {cpu.get()};
  return self_test(devices, options, {});
}

TEST(SelfTest, CountsFaultsFoundAndPlaced) {
  const Verdict v = try_on_cpu({"memory", FaultClass::stuck}, 5);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(metric(v, "trials"), 5);
  EXPECT_EQ(metric(v, "detected"), 5);
  EXPECT_EQ(metric(v, "placed"), 5);
}

TEST(SelfTest, ManyFaultsInOnePassAreEachReported) {
  const Verdict v = try_on_cpu({"memory", FaultClass::coupling, 1000}, 5);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(metric(v, "trials"), 1) << "over everything, once";
}

TEST(SelfTest, CleanRunsMustPass) {
  const Verdict v = try_on_cpu({"memory"}, 3);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_FALSE(v.injected_fault);
}

TEST(SelfTest, ATestThatFindsNothingFailsIt) {
  // The memory test knows no such fault, and so it passes though it must not.
  const Verdict v = try_on_cpu({"memory", FaultClass::copy}, 2);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_EQ(metric(v, "detected"), 0);
}

TEST(SelfTest, CopiesThatChangeABitAndLostLaunchesAreFound) {
  for (const char* test : {"memory", "compute"})
    for (const FaultClass kind : {FaultClass::result_copy, FaultClass::lost_launch}) {
      const Verdict v = try_on_cpu({test, kind}, 20);
      EXPECT_EQ(v.status, VerdictStatus::passed) << test << " " << v.reason;
      EXPECT_EQ(v.injected_fault, to_string(kind));
    }
}

TEST(SelfTest, AFaultOfACallThatIsNotMadeIsNotSupported) {
  EXPECT_EQ(try_on_cpu({"memory", FaultClass::operand_copy}, 2).status,
            VerdictStatus::not_supported);
}

TEST(SelfTest, EveryClassIsTriedWithEachTestThatMustFindIt) {
  const auto cases = self_test_cases();
  for (const FaultClass kind : all_fault_classes())
    for (const std::string_view test : tests_that_find(kind))
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                              [&](const SelfTestCase& c) {
                                return c.test == test && c.fault == kind && c.faults == 1;
                              }))
          << to_string(kind) << " with " << test;
}

TEST(SelfTest, PairsAreTriedWherePairsAre) {
  Machine machine;
  machine.source = "live";
  for (const char* uuid : {"GPU-a0000000", "GPU-b0000000"}) {
    Gpu gpu;
    gpu.index = static_cast<int>(machine.gpus.size());
    gpu.vendor = Vendor::nvidia;
    gpu.uuid = uuid;
    gpu.memory.used_bytes = 0;
    machine.gpus.push_back(gpu);
  }
  SurveyOptions options;
  options.test.seed = 1;
  const auto plan = plan_self_tests(machine, options, {{"peers", FaultClass::peer_copy}}, 10);
  ASSERT_EQ(plan.waves.size(), 1u);
  ASSERT_EQ(plan.waves[0].size(), 1u);
  const TestJob& job = plan.waves[0][0];
  EXPECT_EQ(job.devices.size(), 2u);
  EXPECT_EQ(job.test->devices, 2u);
  EXPECT_EQ(job.options.selftest_of, "peers");
  EXPECT_EQ(job.options.trials, 10u);
  machine.gpus.pop_back();
  EXPECT_TRUE(
      plan_self_tests(machine, options, {{"peers", FaultClass::peer_copy}}, 10).waves.empty());
}

}  // namespace
}  // namespace gpuready
