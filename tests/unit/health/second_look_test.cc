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

TEST(SecondLook, WhatNobodyElseCanCauseStaysAFailure) {
  Machine now = two_gpus();
  now.gpus[0].processes.push_back({4711, "train", 20 * GiB, "compute"});
  Verdict bad = slow_compute(), mismatch = slow_compute(), error = slow_compute();
  bad.bad_words_total = 1;
  mismatch.mismatches_total = 1;
  error.error_code = 218;
  for (const Verdict& verdict : {bad, mismatch, error})
    EXPECT_EQ(looked_at_again(now, verdict), VerdictStatus::failed);
  Verdict good = slow_compute(), degraded = slow_compute();
  good.status = degraded.status = VerdictStatus::passed;
  EXPECT_EQ(looked_at_again(now, good), VerdictStatus::passed);
  degraded.metrics.push_back({"slow_share", 0.3, "1", 0.1, "the load"});
  EXPECT_EQ(looked_at_again(now, degraded), VerdictStatus::inconclusive);
}

}  // namespace
}  // namespace gpuready
