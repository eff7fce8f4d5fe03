#include "health/samples.h"

#include <gtest/gtest.h>

#include "health/throttle.h"

namespace gpuready {
namespace {

constexpr const char* kUuid = "GPU-7f3c1e20-0000-4b7a-9d11-000000000000";
const Clock::time_point kBegan{std::chrono::milliseconds(1'000'000)};

Machine machine() {
  Machine out;
  out.source = "live";
  Gpu& gpu = out.gpus.emplace_back();
  gpu.vendor = Vendor::nvidia;
  gpu.uuid = kUuid;
  gpu.pci = parse_pci_address("0000:17:00.0");
  return out;
}

std::vector<Verdict> tested() {
  Verdict verdict;
  verdict.test = "tensor";
  verdict.uuid = kUuid;
  verdict.status = VerdictStatus::failed;
  verdict.started_ms = 1000;
  verdict.duration_ms = 1000;
  verdict.reason = "too slow.";
  verdict.metrics = {{"rate", 500e12, "FLOP/s", 700e12, "siblings"}};
  return {verdict};
}

ProbeDocument heard() {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  document.calls["nvmlInit_v2()"] = {};
  document.calls["series(0,power)"].value = {{"pci", "00000000:17:00.0"},
                                             {"uuid", kUuid},
                                             {"name", "power"},
                                             {"unit", "W"},
                                             {"taken", 3},
                                             {"min", 70},
                                             {"mean", 400},
                                             {"max", 700},
                                             {"last", 430},
                                             {"t_ms", {1'000'100.0, 1'001'500.0, 1'003'000.0}},
                                             {"value", {70, 700, 430}}};
  return document;
}

SampleSeries series(const char* name, std::vector<double> t_ms, std::vector<double> value) {
  SampleSeries out;
  out.gpu = 0;
  out.uuid = kUuid;
  out.name = name;
  out.unit = "1";
  out.t_ms = std::move(t_ms);
  out.value = std::move(value);
  return out;
}

// Sampled every 100 ms from 1000 to 2000: held back in the first `held` samples of ten.
Samples held_back(const char* name, int held) {
  Samples out;
  SampleSeries& event = out.series.emplace_back(series(name, {}, {}));
  for (int i = -5; i < 15; ++i) {
    event.t_ms.push_back(1050 + 100 * i);
    event.value.push_back(i >= 0 && i < held);
  }
  return out;
}

TEST(Samples, TimesCountFromWhenTheRunBegan) {
  const Samples samples = samples_from(heard(), machine(), tested(), kBegan);
  ASSERT_EQ(samples.series.size(), 1u);
  EXPECT_EQ(samples.series[0].gpu, 0);
  EXPECT_EQ(samples.series[0].t_ms, (std::vector<double>{100, 1500, 3000}));
  EXPECT_EQ(samples.series[0].value, (std::vector<double>{70, 700, 430}));
  EXPECT_EQ(samples.series[0].max, 700);
  EXPECT_TRUE(samples.absent.empty());
}

TEST(Samples, GpuOnWhichNothingRanIsLeftOut) {
  auto verdicts = tested();
  verdicts[0].started_ms.reset();
  const Samples samples = samples_from(heard(), machine(), verdicts, kBegan);
  EXPECT_TRUE(samples.series.empty());
  EXPECT_TRUE(samples.absent.empty());
}

TEST(Samples, XidHasItsTimeAndItsGpu) {
  ProbeDocument document = heard();
  document.calls["nvmlEventSetWait_v2(0)"].value = {
      {"pci", "00000000:17:00.0"}, {"xid", 94}, {"at_ms", 1'001'200.0}};
  const Samples samples = samples_from(document, machine(), tested(), kBegan);
  ASSERT_EQ(samples.sampled_xids.size(), 1u);
  EXPECT_EQ(samples.sampled_xids[0].gpu, 0);
  EXPECT_EQ(samples.sampled_xids[0].at_ms, 1200);
  EXPECT_EQ(samples.sampled_xids[0].xid, 94u);
}

TEST(Samples, SaysWhyNothingWasSampled) {
  ProbeDocument none;
  none.outcome = ProbeOutcome::no_library;
  none.library_error = "libnvidia-ml.so.1: cannot open shared object file";
  EXPECT_EQ(samples_from(none, machine(), tested(), kBegan).absent.at(0),
            "NVML is not here: libnvidia-ml.so.1: cannot open shared object file");
  ProbeDocument refused;
  refused.outcome = ProbeOutcome::completed;
  refused.calls["nvmlInit_v2()"].code = 9;
  EXPECT_NE(samples_from(refused, machine(), tested(), kBegan)
                .absent.at(0)
                .find("NVML_ERROR_DRIVER_NOT_LOADED"),
            std::string::npos);
  ProbeDocument hung;
  hung.outcome = ProbeOutcome::completed;
  EXPECT_EQ(samples_from(hung, machine(), tested(), kBegan).absent.at(0),
            "NVML did not answer nvmlInit_v2()");
}

TEST(Samples, CounterThatMayNotBeReadIsToldAndOneThatIsNotThereIsNot) {
  ProbeDocument document = heard();
  document.calls["nvmlDeviceGetTotalEccErrors(0,corrected,volatile)"].code = 4;
  document.calls["nvmlDeviceGetTotalEccErrors(1,corrected,volatile)"].code = 4;
  document.calls["nvmlDeviceGetUtilizationRates(0)"].code = 3;
  const Samples samples = samples_from(document, machine(), tested(), kBegan);
  ASSERT_EQ(samples.absent.size(), 1u);
  EXPECT_TRUE(samples.absent[0].starts_with("ECC errors: ")) << samples.absent[0];
}

TEST(Samples, MalformedSeriesAreLeftOut) {
  for (const Json& change :
       {Json{{"t_ms", {1, 2}}}, Json{{"t_ms", {3, 2, 1}}}, Json{{"t_ms", {"a", "b", "c"}}},
        Json{{"name", 3}}, Json{{"mean", nullptr}}, Json{{"uuid", "GPU-x"}, {"pci", "?"}}}) {
    ProbeDocument document = heard();
    document.calls["series(0,power)"].value.update(change);
    EXPECT_TRUE(samples_from(document, machine(), tested(), kBegan).series.empty()) << change;
  }
}

TEST(Samples, MachineWithoutAGpuNeedsNone) {
  Machine bare;
  bare.source = "live";
  EXPECT_FALSE(not_sampled(bare));
  EXPECT_TRUE(not_sampled(machine()));
}

TEST(Throttle, CauseOfALowFigureIsNamedWithItsShareOfTheTest) {
  auto verdicts = tested();
  Samples samples = held_back("clock_event_hw_thermal_slowdown", 6);
  samples.series.push_back(series("gpu_temperature", {1500, 2500}, {91, 99}));
  samples.series.back().unit = "C";
  explain_low_figures(machine(), samples, verdicts);
  EXPECT_EQ(verdicts[0].reason,
            "too slow; clocks were held back: HW thermal slowdown during 60% of the test "
            "(up to 91 C)");
}

TEST(Throttle, FigureThatIsNotLowNeedsNoCause) {
  auto verdicts = tested();
  verdicts[0].metrics[0].value = 701e12;
  explain_low_figures(machine(), held_back("clock_event_sw_power_cap", 10), verdicts);
  EXPECT_EQ(verdicts[0].reason, "too slow.");
  verdicts[0].metrics = {{"coverage", 0.5, "1", 0.995, "rule"}};
  explain_low_figures(machine(), held_back("clock_event_sw_power_cap", 10), verdicts);
  EXPECT_EQ(verdicts[0].reason, "too slow.") << "clocks change no coverage";
}

TEST(Throttle, LessThanATenthOfTheTestExplainsNothing) {
  auto verdicts = tested();
  explain_low_figures(machine(), held_back("clock_event_sw_power_cap", 0), verdicts);
  EXPECT_EQ(verdicts[0].reason, "too slow.");
}

TEST(Throttle, WhatHappenedBeforeOrAfterTheTestIsNotItsCause) {
  auto verdicts = tested();
  const Samples samples = held_back("clock_event_sw_power_cap", 10);
  verdicts[0].started_ms = 2100;
  explain_low_figures(machine(), samples, verdicts);
  EXPECT_EQ(verdicts[0].reason, "too slow.");
}

TEST(Throttle, TheMostFrequentOfSeveralComesFirst) {
  Samples samples = held_back("clock_event_hw_power_brake", 3);
  samples.series.push_back(held_back("clock_event_sw_power_cap", 9).series[0]);
  EXPECT_EQ(throttling_during(tested()[0], 0, samples),
            "SW power cap during 90% of the test, HW power brake during 30% of the test");
}

TEST(Throttle, PairNamesWhichGpuWasHeldBack) {
  auto verdicts = tested();
  verdicts[0].peer_uuid = "GPU-other";
  Samples samples = held_back("clock_event_sw_power_cap", 9);
  samples.series.push_back(series("clock_event_any", {1500}, {0}));
  samples.series.back().gpu = 1;
  samples.series.back().uuid = "GPU-other";
  Machine two = machine();
  two.gpus.push_back({});
  two.gpus.back().index = 1;
  two.gpus.back().uuid = "GPU-other";
  explain_low_figures(two, samples, verdicts);
  EXPECT_EQ(verdicts[0].reason,
            "too slow; clocks were held back: GPU 0: SW power cap during 90% of the test");
}

}  // namespace
}  // namespace gpuready
