#include "health/clocks.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

// A GPU that may run at 1980 MHz and was loaded by the tensor test from 1 s to 6 s.
struct LoadedRun {
  Machine machine;
  Samples samples;
  std::vector<Verdict> verdicts;

  explicit LoadedRun(double clock_mhz) {
    Gpu gpu;
    gpu.uuid = "GPU-1";
    gpu.clocks.max_sm_mhz = 1980;
    machine.gpus.push_back(gpu);
    Verdict verdict;
    verdict.test = "tensor";
    verdict.uuid = "GPU-1";
    verdict.started_ms = 1000;
    verdict.duration_ms = 5000;
    verdicts.push_back(verdict);
    add("sm_clock", clock_mhz, 345);
  }
  // `loaded` while the test runs, `idle` before and after.
  void add(std::string name, double loaded, double idle = 0) {
    SampleSeries series;
    series.gpu = 0;
    series.name = std::move(name);
    for (double t = 0; t < 8000; t += 100) {
      series.t_ms.push_back(t);
      series.value.push_back(t >= 1200 && t <= 6000 ? loaded : idle);
    }
    samples.series.push_back(series);
  }
  Verdict judged() const {
    const auto all = judge_clocks(machine, samples, verdicts);
    return all.empty() ? Verdict{} : all.front();
  }
};

TEST(Clocks, AGpuAtItsClockPasses) {
  const Verdict verdict = LoadedRun(1755).judged();
  EXPECT_EQ(verdict.status, VerdictStatus::passed) << verdict.reason;
  EXPECT_EQ(verdict.reason, "1755 of 1980 MHz while loaded");
}

TEST(Clocks, AThirdOfTheClockWithoutACauseFails) {
  const Verdict verdict = LoadedRun(660).judged();
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_TRUE(contains(verdict.reason, "names no cause")) << verdict.reason;
}

TEST(Clocks, ThePowerLimitExplainsALowClock) {
  LoadedRun run(1000);
  run.add("clock_event_sw_power_cap", 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_TRUE(contains(run.judged().reason, "SW power cap during 100%"));
  EXPECT_FALSE(run.judged().metrics.at(0).threshold);
}

TEST(Clocks, HardwareSlowdownUnderLoadFailsWhateverTheClock) {
  for (const char* event : {"clock_event_hw_thermal_slowdown", "clock_event_hw_power_brake",
                            "clock_event_hw_slowdown"}) {
    LoadedRun run(1700);
    run.add("clock_event_sw_power_cap", 1);
    run.add(event, 0.5);
    EXPECT_EQ(run.judged().status, VerdictStatus::failed) << event;
  }
}

TEST(Clocks, FewerCyclesThanTheToldClockMakesFail) {
  LoadedRun run(1980);
  run.verdicts[0].metrics.push_back({"sm_clock_measured", 1960, "MHz", {}, {}});
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  run.verdicts[0].metrics[0].value = 660;
  EXPECT_EQ(run.judged().status, VerdictStatus::failed);
  EXPECT_TRUE(contains(run.judged().reason, "counted 660 million cycles a second"))
      << run.judged().reason;
  run.verdicts[0].injected_fault = "slow-sm";
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << "of a fault on purpose, not the GPU's";
}

// What happened before and after the load is no statement on the load.
TEST(Clocks, OnlyTheLoadedTimeCounts) {
  LoadedRun run(1900);
  run.add("clock_event_hw_power_brake", 0, 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
}

TEST(Clocks, WhatWasNotMeasuredIsNotJudged) {
  LoadedRun short_run(660);
  short_run.verdicts[0].duration_ms = 500;
  EXPECT_TRUE(judge_clocks(short_run.machine, short_run.samples, short_run.verdicts).empty());
  LoadedRun no_limit(660);
  no_limit.machine.gpus[0].clocks.max_sm_mhz.reset();
  EXPECT_TRUE(judge_clocks(no_limit.machine, no_limit.samples, no_limit.verdicts).empty());
  LoadedRun copies(660);
  copies.verdicts[0].test = "bandwidth";
  EXPECT_TRUE(judge_clocks(copies.machine, copies.samples, copies.verdicts).empty());
}

}  // namespace
}  // namespace gpuready
