#include "health/clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

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
    gpu.clocks.sm_mhz = 345;
    gpu.power.limit_mw = 700'000;
    machine.gpus.push_back(gpu);
    Verdict verdict;
    verdict.test = "tensor";
    verdict.uuid = "GPU-1";
    verdict.started_ms = 1000;
    verdict.duration_ms = 5000;
    verdicts.push_back(verdict);
    add("sm_clock", clock_mhz, 345);
  }
  // `loaded` while the test runs, `idle` before and after; or only until `end_ms`, and then
  // `after`.
  void add(std::string name, double loaded, double idle = 0, double end_ms = 6000,
           std::optional<double> after = std::nullopt) {
    SampleSeries series;
    series.gpu = 0;
    series.name = std::move(name);
    for (double t = 0; t < 8000; t += 100) {
      series.t_ms.push_back(t);
      const bool ends = t > end_ms && t <= 6000 && after;
      series.value.push_back(ends ? *after : t >= 1200 && t <= 6000 ? loaded : idle);
    }
    series.min = std::ranges::min(series.value);
    series.max = std::ranges::max(series.value);
    std::erase_if(samples.series, [&](const auto& old) { return old.name == series.name; });
    samples.series.push_back(series);
  }
  // What the SMs counted, in a test that takes 0.2 s: too short for samples.
  void count(double mhz, double slow_share) {
    Verdict& verdict = verdicts[0];
    verdict.test = "compute";
    verdict.duration_ms = 200;
    verdict.metrics = {{"sm_clock_measured", mhz, "MHz", {}, {}},
                       {"sm_clock_mean", mhz, "MHz", {}, {}},
                       {"sm_clock_slow_share", slow_share, "1", {}, {}}};
  }
  const Metric& metric(std::string_view name) const {
    static Verdict verdict;
    verdict = judged();
    const auto found = std::ranges::find(verdict.metrics, name, &Metric::name);
    EXPECT_NE(found, verdict.metrics.end()) << name;
    return *found;
  }
  Verdict judged() const {
    const auto all = judge_clocks(machine, samples, verdicts);
    return all.empty() ? Verdict{} : all.front();
  }
};

TEST(Clocks, TheLinkIsReadUnderLoadOnly) {
  LoadedRun run(1755);
  run.machine.gpus[0].link_max.generation = 5;
  run.add("link_generation", 4, 1);
  EXPECT_EQ(run.metric("link_generation").value, 4);
  EXPECT_EQ(run.metric("link_generation").threshold, 5);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed);

  run.machine.system.hypervisor = "kvm";  // what is read there may be the emulated port's
  EXPECT_EQ(std::ranges::count(run.judged().metrics, "link_generation", &Metric::name), 0);
}

TEST(Clocks, AGpuAtItsClockPasses) {
  const LoadedRun run(1755);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_EQ(run.judged().reason, "1755 of 1980 MHz while loaded");
  EXPECT_EQ(run.metric("sm_clock").value, 1755e6);
  EXPECT_EQ(run.metric("sm_clock").unit, "Hz");
  EXPECT_EQ(run.metric("sm_clock").threshold, 0.75 * 1980e6);
  EXPECT_EQ(run.metric("slow_share").value, 0);
}

TEST(Clocks, AThirdOfTheClockWithoutACauseFails) {
  const Verdict verdict = LoadedRun(660).judged();
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_EQ(verdict.reason,
            "SM clock below 0.75 of 1980 MHz for 100% of the load: NVML names no cause");
}

// From 1.3 s to 6 s, 48 samples.
TEST(Clocks, TheShareOfTheLoadThatIsSlowCounts) {
  for (const auto& [slow_until, status, degraded] :
       {std::tuple(1600.0, VerdictStatus::passed, false),
        std::tuple(2000.0, VerdictStatus::passed, true),
        std::tuple(4600.0, VerdictStatus::failed, true)}) {
    LoadedRun run(1980);
    run.add("sm_clock", 345, 345, slow_until, 1980);
    EXPECT_EQ(run.judged().status, status) << slow_until << ": " << run.judged().reason;
    const Metric& slow = run.metric("slow_share");
    EXPECT_EQ(slow.threshold.has_value(), degraded) << slow_until;
    EXPECT_EQ(slow.value > slow.threshold.value_or(1), degraded) << slow_until;
  }
}

TEST(Clocks, ThermalSlowdownBySoftwareIsSlowToo) {
  LoadedRun run(1247);
  run.add("clock_event_any", 1);
  run.add("clock_event_sw_thermal_slowdown", 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed);
  EXPECT_EQ(run.judged().reason,
            "SM clock below 0.75 of 1980 MHz for 100% of the load: SW thermal slowdown 96%");
}

TEST(Clocks, APowerLimitExplainsALowClockOnlyAtThatLimit) {
  LoadedRun run(1000);
  run.add("clock_event_sw_power_cap", 1, 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << "the power is not known";
  run.add("power", 690, 690);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_TRUE(contains(run.judged().reason, "SW power cap during 100%")) << run.judged().reason;
  EXPECT_FALSE(run.metric("sm_clock").threshold);
  run.add("power", 76, 76);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << run.judged().reason;
}

TEST(Clocks, AnApplicationClockIsWhatTheDeviceAllows) {
  LoadedRun run(1000);
  run.add("application_clock", 1065, 1065);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << "NVML does not name it as a reason";
  run.add("clock_event_application_clocks", 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  run.add("sm_clock", 345);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << run.judged().reason;
}

// NVML answers 0 where none is set.
TEST(Clocks, AnApplicationClockOutsideWhatTheGpuCanRunAtAllowsNothingElse) {
  for (const double clock_mhz : {0.0, 1980.0, 2000.0}) {
    LoadedRun run(345);
    run.add("application_clock", clock_mhz, clock_mhz);
    run.add("clock_event_application_clocks", 1);
    EXPECT_EQ(run.judged().status, VerdictStatus::failed) << clock_mhz;
    EXPECT_EQ(run.metric("sm_clock").threshold, 0.75 * 1980e6) << clock_mhz;
  }
}

TEST(Clocks, HardwareSlowdownUnderLoadFailsWhateverTheClock) {
  for (const char* event : {"clock_event_hw_thermal_slowdown", "clock_event_hw_power_brake",
                            "clock_event_hw_slowdown"}) {
    LoadedRun run(1700);
    run.add("clock_event_any", 1);
    run.add("clock_event_sw_power_cap", 1);
    run.add(event, 0.5);
    EXPECT_EQ(run.judged().status, VerdictStatus::failed) << event;
    EXPECT_TRUE(contains(run.judged().reason, "check cooling")) << run.judged().reason;
  }
}

TEST(Clocks, FewerCyclesThanTheToldClockMakesFail) {
  LoadedRun run(1980);
  run.verdicts[0].metrics = {{"sm_clock_measured", 1960, "MHz", {}, {}},
                             {"sm_clock_mean", 1960, "MHz", {}, {}}};
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  run.verdicts[0].metrics[0].value = 660;
  EXPECT_EQ(run.judged().status, VerdictStatus::failed);
  EXPECT_TRUE(contains(run.judged().reason, "counted 660 million cycles a second"))
      << run.judged().reason;
  run.verdicts[0].injected_fault = "slow-sm";
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << "of a fault on purpose, not the GPU's";
}

// ---- quick tests ----

TEST(Clocks, AQuickTestIsJudgedByTheSmsOwnCount) {
  LoadedRun run(1980);
  run.count(1975, 0);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_EQ(run.judged().reason, "1975 of 1980 MHz while loaded");
  run.add("sm_clock", 345, 345);
  run.count(345, 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << "345 MHz without a reason";
  EXPECT_EQ(run.metric("sm_clock").value, 345e6);
  run.count(1975, 0.3);
  run.add("sm_clock", 1980, 1980);
  EXPECT_EQ(run.judged().status, VerdictStatus::passed);
  EXPECT_EQ(run.metric("slow_share").value, 0.3);
  EXPECT_EQ(run.metric("slow_share").threshold, 0.1);
}

TEST(Clocks, ABrakeInAQuickTestFails) {
  LoadedRun run(1980);
  run.count(1975, 0);
  run.add("clock_event_any", 1, 1);
  run.add("clock_event_hw_power_brake", 1, 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << run.judged().reason;
  EXPECT_TRUE(contains(run.judged().reason, "HW power brake")) << run.judged().reason;
}

TEST(Clocks, ABrakeThatIsSampledRightAfterAShortLoadFails) {
  LoadedRun run(1980);
  run.count(1975, 0);
  run.verdicts[0].duration_ms = 50;  // one sample in it, and one soon after
  run.add("clock_event_any", 1, 1);
  run.add("clock_event_hw_power_brake", 1, 1);
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << run.judged().reason;
  run.verdicts[0].started_ms = 9000;  // nothing was sampled any more
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_EQ(run.judged().not_judged.size(), 1u);
}

TEST(Clocks, AnNvmlThatTellsLessThanTheSmsCountIsNotBelieved) {
  LoadedRun run(345);
  run.count(1975, 0);
  EXPECT_EQ(run.judged().status, VerdictStatus::inconclusive) << run.judged().reason;
  EXPECT_TRUE(contains(run.judged().reason, "at most 345 MHz")) << run.judged().reason;
}

TEST(Clocks, WithoutAClockOrAGreatestClockItIsNotJudged) {
  LoadedRun no_limit(1980), no_clock(1980);
  no_limit.machine.gpus[0].clocks.max_sm_mhz.reset();
  EXPECT_EQ(no_limit.judged().status, VerdictStatus::inconclusive);
  EXPECT_TRUE(contains(no_limit.judged().reason, "no greatest SM clock"));
  no_clock.count(1975, 0);
  no_clock.machine.gpus[0].clocks.sm_mhz.reset();
  no_clock.samples.series.clear();
  no_clock.machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  EXPECT_EQ(no_clock.judged().status, VerdictStatus::inconclusive);
  EXPECT_TRUE(contains(no_clock.judged().reason, "no SM clock; the SMs counted 1975 MHz"))
      << no_clock.judged().reason;
  no_clock.machine.gpus[0].virtualization = "vgpu";
  EXPECT_EQ(no_clock.judged().status, VerdictStatus::not_supported);
  no_clock.machine.gpus[0].virtualization.reset();
  no_clock.machine.nvidia.nvml_start.reset();
  EXPECT_EQ(no_clock.judged().status, VerdictStatus::not_supported) << "NVML is not here";
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
  LoadedRun copies(660);
  copies.verdicts[0].test = "bandwidth";
  EXPECT_TRUE(judge_clocks(copies.machine, copies.samples, copies.verdicts).empty());
}

TEST(Clocks, ASampleAtMost150MsAfterAShortLoadIsOfIt) {
  LoadedRun run(1980);
  run.count(1975, 0);
  run.add("clock_event_any", 1, 1);
  run.add("clock_event_hw_power_brake", 1, 1);
  run.verdicts[0].started_ms = 1001;  // samples at 1100 and 1200
  run.verdicts[0].duration_ms = 49;
  EXPECT_EQ(run.judged().status, VerdictStatus::failed) << run.judged().reason;
  run.verdicts[0].duration_ms = 48.5;
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
}

TEST(Clocks, AnNvmlThatWasNotAskedDuringTheLoadContradictsNoCount) {
  LoadedRun run(345);
  run.count(1975, 0);
  run.verdicts[0].started_ms = 9000;
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
}

TEST(Clocks, ALoadWithTwoSamplesOfItsOwnEndsWhereItEnds) {
  LoadedRun run(1980);
  run.count(1975, 0);
  run.verdicts[0].duration_ms = 150;  // samples at 1000 and 1100
  run.add("clock_event_any", 1, 1);
  run.add("clock_event_hw_power_brake", 1);  // from 1200 on
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
}

// The SMs count against the greatest clock; how long they were below another is not known.
TEST(Clocks, AQuickTestAtAnApplicationClockIsNotSlow) {
  LoadedRun run(1065);
  run.add("application_clock", 1065, 1065);
  run.add("clock_event_application_clocks", 1, 1);
  run.count(1065, 1);
  run.verdicts[0].started_ms = 2000;
  EXPECT_EQ(run.judged().status, VerdictStatus::passed) << run.judged().reason;
  EXPECT_EQ(run.metric("slow_share").value, 0);
}

}  // namespace
}  // namespace gpuready
