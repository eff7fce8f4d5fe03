#include "bench/record/conditions.h"

#include <gtest/gtest.h>

namespace gpuready::bench {
namespace {

void add_series(ProbeDocument& heard, const std::string& name, std::vector<double> values,
                const std::string& uuid = "GPU-1") {
  std::vector<double> times;
  for (std::size_t i = 0; i < values.size(); ++i) times.push_back(1000 + 100.0 * i);
  ProbeCall call;
  call.value = {{"uuid", uuid}, {"name", name}, {"t_ms", times}, {"value", values}};
  heard.calls["series(" + uuid + "," + name + ")"] = call;
}

// Samples 0 and 1 end at 1150, 2 and 3 at 1450; each takes 2 ms.
RanRepeat repeat() {
  RanRepeat ran;
  ran.span = {1000, 1500};
  ran.answer.repeat.samples_ns = {2e6, 2e6, 2e6, 2e6};
  ran.answer.sampled_at_ms = {1150, 1150, 1450, 1450};
  return ran;
}

TEST(Conditions, AreMeansWhileSamplesWereTaken) {
  ProbeDocument heard;
  add_series(heard, "sm_clock", {1000, 1000, 1000, 1000, 1000, 1});
  add_series(heard, "memory_used", {1e9, 3e9, 5e9, 5e9, 4e9, 1e9});
  add_series(heard, "sm_clock", {9, 9, 9, 9, 9, 9}, "GPU-2");
  RanRepeat ran = repeat();
  add_conditions(heard, "GPU-1", {&ran, 1});
  const Repeat& r = ran.answer.repeat;
  EXPECT_DOUBLE_EQ(*r.conditions.sm_mhz, 1000);
  EXPECT_EQ(r.memory_peak_bytes, 4'000'000'000u);
  EXPECT_TRUE(r.throttled.empty());
  EXPECT_EQ(r.status, StackStatus::ok);
}

// It is what the process added to what was used when it began; others' use before and after is not
// its own.
TEST(Conditions, ThePeakOfMemoryIsOfTheProcess) {
  const auto peak = [](std::vector<double> used) {
    ProbeDocument heard;
    add_series(heard, "memory_used", std::move(used));  // at 1000, 1100, ...
    RanRepeat ran = repeat();
    ran.span = {1100, 1400};
    add_conditions(heard, "GPU-1", {&ran, 1});
    return ran.answer.repeat.memory_peak_bytes;
  };
  EXPECT_EQ(peak({8e9, 1e9, 3e9, 5e9, 2e9, 9e9}), 4'000'000'000u);
  EXPECT_EQ(peak({8e9, 1e9, 3e9, 2e9, 5e9, 9e9}), 4'000'000'000u);  // at its end
  EXPECT_EQ(peak({8e9, 1e9, 1e9, 1e9, 1e9, 9e9}), 0u);
  EXPECT_EQ(peak({1e9}), std::nullopt);  // no reading while it ran
}

// A reading is the mean of the second before it: what was before the first block is in those until
// 2150 ms, here 900 W of compilation that fades.
std::vector<double> power_until(double last_ms) {
  std::vector<double> watts;
  for (double ms = 1000; ms <= last_ms; ms += 100)
    watts.push_back(ms < 2150 ? 900 - (ms - 1150) / 2 : 400);
  return watts;
}

TEST(Conditions, EnergyIsOfReadingsThatSawTheWorkAlone) {
  ProbeDocument heard;
  add_series(heard, "power", power_until(3000));
  RanRepeat ran = repeat();
  ran.span.end_ms = 3000;
  ran.answer.sampled_at_ms = {1150, 1150, 2650, 2650};
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_DOUBLE_EQ(*ran.answer.repeat.conditions.power_mw, 400e3);
  EXPECT_DOUBLE_EQ(*ran.answer.repeat.energy_mj, 400 * 2);  // 2 ms
  EXPECT_EQ(ran.answer.repeat.no_energy, "");
}

// From a second of timing on, at 2150 ms: 2200 to 2500 are four readings, 2600 is the fifth.
TEST(Conditions, EnergyNeedsFivePowerReadingsOfTheWork) {
  for (const double end_ms : {2550.0, 2650.0}) {
    ProbeDocument heard;
    add_series(heard, "power", power_until(3000));
    RanRepeat ran = repeat();
    ran.span.end_ms = 3000;
    ran.answer.sampled_at_ms = {1150, 1150, end_ms, end_ms};
    add_conditions(heard, "GPU-1", {&ran, 1});
    EXPECT_EQ(ran.answer.repeat.energy_mj.has_value(), end_ms > 2600) << end_ms;
  }
}

TEST(Conditions, TooShortForEnergyIsToldAndNoFigure) {
  ProbeDocument heard;
  add_series(heard, "power", power_until(3000));
  RanRepeat ran = repeat();
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_FALSE(ran.answer.repeat.energy_mj);
  EXPECT_FALSE(ran.answer.repeat.conditions.power_mw);
  EXPECT_EQ(ran.answer.repeat.no_energy,
            "power is read as the mean of a second, so a repeat must be timed for 1.5 s, and was "
            "for 0.3 s; --iters makes it longer");
  RanRepeat silent = repeat();
  silent.answer.sampled_at_ms.clear();
  add_conditions(heard, "GPU-1", {&silent, 1});
  EXPECT_FALSE(silent.answer.repeat.energy_mj);
  EXPECT_EQ(silent.answer.repeat.no_energy,
            "the stack does not say when it was timed (samples_at_ms)");
}

TEST(Conditions, ThermalSlowdownDropsTheSamplesBesideIt) {
  ProbeDocument heard;
  add_series(heard, "clock_event_sw_thermal_slowdown", {0, 0, 0, 1, 0, 0});  // at 1300
  RanRepeat ran = repeat();
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_EQ(ran.answer.repeat.throttled, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(ran.answer.repeat.conditions.throttle_reasons,
            (std::vector<std::string>{"sw_thermal_slowdown"}));
  EXPECT_EQ(ran.answer.repeat.status, StackStatus::ok);
  EXPECT_EQ(ran.answer.repeat.valid_samples().size(), 2u);
}

// What a block's end does not see may be between two readings: the one before it and the one after
// count, too. The blocks are 1000 to 1150 and 1150 to 1450.
TEST(Conditions, ASlowdownNextToABlockCounts) {
  const std::vector<std::uint64_t> first = {0, 1}, second = {2, 3}, both = {0, 1, 2, 3};
  const std::vector<std::pair<std::size_t, std::vector<std::uint64_t>>> cases = {
      {0, first}, {1, both}, {2, both}, {3, second}, {4, second}, {5, second}, {6, {}}};
  for (const auto& [at, throttled] : cases) {
    std::vector<double> values(7, 0);
    values[at] = 1;
    ProbeDocument heard;
    add_series(heard, "clock_event_sw_thermal_slowdown", values);
    RanRepeat ran = repeat();
    add_conditions(heard, "GPU-1", {&ran, 1});
    EXPECT_EQ(ran.answer.repeat.throttled, throttled) << 1000 + 100 * at;
  }
}

TEST(Conditions, APowerCapIsToldAndDropsNothing) {
  ProbeDocument heard;
  add_series(heard, "clock_event_sw_power_cap", {1, 1, 1, 1, 1, 1});
  RanRepeat ran = repeat();
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_TRUE(ran.answer.repeat.throttled.empty());
  EXPECT_EQ(ran.answer.repeat.conditions.throttle_reasons,
            (std::vector<std::string>{"sw_power_cap"}));
}

TEST(Conditions, NoValidSampleIsAnOutcome) {
  ProbeDocument heard;
  add_series(heard, "clock_event_hw_slowdown", {1, 1, 1, 1, 1, 1});
  RanRepeat ran = repeat();
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_EQ(ran.answer.repeat.status, StackStatus::no_valid_samples);
  EXPECT_NE(ran.answer.repeat.reason.find("hw_slowdown"), std::string::npos);
  EXPECT_FALSE(latency_of(ran.answer.repeat).mean_ns);
}

// A stack that does not say when: all of its time counts.
TEST(Conditions, SamplesWithoutTimesAreOfTheWholeProcess) {
  ProbeDocument heard;
  add_series(heard, "clock_event_hw_power_brake", {1, 0, 0, 0, 0, 0});
  RanRepeat ran = repeat();
  ran.answer.sampled_at_ms.clear();
  add_conditions(heard, "GPU-1", {&ran, 1});
  EXPECT_EQ(ran.answer.repeat.status, StackStatus::no_valid_samples);
}

TEST(Conditions, NothingHeardChangesNothing) {
  RanRepeat ran = repeat();
  add_conditions({}, "GPU-1", {&ran, 1});
  EXPECT_FALSE(ran.answer.repeat.energy_mj);
  EXPECT_FALSE(ran.answer.repeat.conditions.power_mw);
}

}  // namespace
}  // namespace gpuready::bench
