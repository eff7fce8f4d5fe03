#include "health/second_look.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

Machine two_gpus() {
  Machine machine;
  machine.gpus.resize(2);
  for (int i = 0; i < 2; ++i) {
    machine.gpus[static_cast<std::size_t>(i)].index = i;
    machine.gpus[static_cast<std::size_t>(i)].uuid = "GPU-" + std::to_string(i);
  }
  return machine;
}

Verdict slow_compute() {
  Verdict verdict;
  verdict.test = "compute";
  verdict.uuid = "GPU-0";
  verdict.status = VerdictStatus::failed;
  verdict.reason = "all SMs are slow";
  verdict.metrics.push_back({"fma_per_sm_cycle", 50, "1", 100, "the table"});
  return verdict;
}

VerdictStatus looked_at_again(const Machine& now, Verdict verdict) {
  std::vector<Verdict> verdicts = {std::move(verdict)};
  excuse_busy(now, 1234, verdicts);
  if (verdicts[0].status == VerdictStatus::inconclusive) {
    EXPECT_TRUE(says(verdicts[0], "busy since 1.2 s")) << verdicts[0].reason;
    EXPECT_TRUE(says(verdicts[0], "pid 4711")) << verdicts[0].reason;
  }
  return verdicts[0].status;
}

TEST(SecondLook, OnlyAGpuThatOthersUseIsExcused) {
  Machine now = two_gpus();
  EXPECT_EQ(looked_at_again(now, slow_compute()), VerdictStatus::failed);
  now.gpus[1].processes.push_back({4711, "train", 20 * GiB, "compute"});
  EXPECT_FALSE(others_use_what_failed(now, {slow_compute()}));
  EXPECT_EQ(looked_at_again(now, slow_compute()), VerdictStatus::failed);
  now.gpus[0].processes = now.gpus[1].processes;
  EXPECT_TRUE(others_use_what_failed(now, {slow_compute()}));
  EXPECT_EQ(looked_at_again(now, slow_compute()), VerdictStatus::inconclusive);
}

TEST(SecondLook, AReasonNamesANeighbourOnce) {
  Machine now = two_gpus();
  now.gpus[0].processes.push_back({4711, "train", 20 * GiB, "compute"});
  std::vector<Verdict> verdicts = {slow_compute()};
  excuse_busy(now, 1234, verdicts);
  const std::string once = verdicts[0].reason;
  excuse_busy(now, 2345, verdicts);
  EXPECT_EQ(verdicts[0].reason, once);
}

// Processes on GPU 0, counted each 100 ms of a test that ran from 1 s to 2 s.
VerdictStatus counted(std::vector<double> processes, Machine machine = two_gpus(),
                      Verdict verdict = slow_compute()) {
  verdict.started_ms = 1000;
  verdict.duration_ms = 1000;
  SampleSeries series;
  series.gpu = 0;
  series.name = "processes";
  for (std::size_t i = 0; i < processes.size(); ++i)
    series.t_ms.push_back(900 + 100 * static_cast<double>(i));
  series.value = std::move(processes);
  Samples samples;
  samples.series.push_back(std::move(series));
  // The clocks are judged over the tests that loaded the GPU.
  std::vector<Verdict> verdicts = {std::move(verdict)};
  if (verdicts[0].test == "clocks") {
    verdicts.push_back(verdicts[0]);
    verdicts[0].started_ms.reset();
    verdicts[1].test = "compute";
    verdicts[1].status = VerdictStatus::passed;
  }
  excuse_shared(machine, samples, verdicts);
  if (verdicts[0].status == VerdictStatus::inconclusive) {
    EXPECT_TRUE(says(verdicts[0], "busy from 1.1 s to 1.2 s after the run began"))
        << verdicts[0].reason;
  }
  return verdicts[0].status;
}

TEST(SecondLook, OthersThatCameAndWentDuringTheTestAreCounted) {
  using enum VerdictStatus;
  EXPECT_EQ(counted({1, 1, 2, 2, 1}), inconclusive);
  EXPECT_EQ(counted({1, 1, 1, 1, 1}), failed) << "the test's own";
  EXPECT_EQ(counted({1, 1, 2, 1, 1}), failed) << "one sample: a process that ends";
  EXPECT_EQ(counted({3, 2, 1, 1, 1}), failed) << "before the test, but for one sample";
  EXPECT_EQ(counted({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2}), failed) << "after it";
  EXPECT_EQ(counted({}), failed);
  Verdict wrong = slow_compute();
  wrong.mismatches_total = 1;
  EXPECT_EQ(counted({1, 1, 2, 2, 1}, two_gpus(), wrong), failed);
  std::vector<double> two_of_ten(30, 1.0);
  Verdict clocks = slow_compute();
  clocks.test = "clocks";
  clocks.metrics = {{"slow_share", 0.25, "1", 0.1, "the load"}};
  two_of_ten[2] = two_of_ten[3] = 2;
  EXPECT_EQ(counted(two_of_ten, two_gpus(), clocks), inconclusive);
  clocks.metrics[0].value = 0.35;
  EXPECT_EQ(counted(two_of_ten, two_gpus(), clocks), failed) << "slow without them, too";
  Machine sliced = two_gpus();
  sliced.gpus[0].mig.resize(2);
  EXPECT_EQ(counted({1, 1, 2, 2, 1}, sliced), failed) << "workers of two instances";
  Verdict other = slow_compute();
  other.uuid = "GPU-1";
  EXPECT_EQ(counted({1, 1, 2, 2, 1}, two_gpus(), other), failed);
}

TEST(SecondLook, WhatNobodyElseCanCauseStaysAFailure) {
  Machine now = two_gpus();
  now.gpus[0].processes.push_back({4711, "train", 20 * GiB, "compute"});
  // Copies that are not what the device summed: no count and no code say so.
  Verdict bad = slow_compute(), mismatch = slow_compute(), error = slow_compute(),
          corrupt = slow_compute(), even = slow_compute(), unlimited = slow_compute();
  corrupt.metrics.clear();
  even.metrics[0].value = 100;
  bad.bad_words_total = 1;
  mismatch.mismatches_total = 1;
  error.error_code = 218;
  unlimited.test = "clocks";
  unlimited.metrics = {{"slow_share", 0.3, "1", std::nullopt, ""}};
  for (const Verdict& verdict : {bad, mismatch, error, corrupt, even, unlimited})
    EXPECT_EQ(looked_at_again(now, verdict), VerdictStatus::failed);
  Verdict good = slow_compute(), degraded = slow_compute();
  good.status = degraded.status = VerdictStatus::passed;
  degraded.test = "clocks";
  EXPECT_EQ(looked_at_again(now, good), VerdictStatus::passed);
  degraded.metrics.push_back({"slow_share", 0.3, "1", 0.1, "the load"});
  EXPECT_EQ(looked_at_again(now, degraded), VerdictStatus::inconclusive);
  // Neither a brake nor an NVML that the SMs contradict is another's work.
  Verdict braked = degraded, lied = degraded;
  braked.status = lied.status = VerdictStatus::failed;
  braked.metrics.push_back({"hardware_share", 1, "1", 0.1, "the load"});
  lied.metrics = {{"sm_clock_counted_to_told", 0.5, "1", 0.75, "NVML's clock"}};
  EXPECT_EQ(looked_at_again(now, braked), VerdictStatus::failed);
  EXPECT_EQ(looked_at_again(now, lied), VerdictStatus::failed);
}

}  // namespace
}  // namespace gpuready
