#include <gtest/gtest.h>

#include <algorithm>

#include "report/facts.h"
#include "unit/report/healthy.h"

namespace gpuready {
namespace {

std::string fact(const Gpu& gpu, std::string_view label) {
  for (const FactGroup& group : gpu_facts(gpu))
    for (const Fact& each : group.facts)
      if (each.label == label) return each.value;
  return "";
}

// NVML's API reference, nvmlClocksEventReasons.
TEST(GpuFacts, EachBitOfTheClockEventsIsNamed) {
  EXPECT_EQ(clock_event_text(0), "nothing");
  EXPECT_EQ(clock_event_text(0x1), "idle");
  EXPECT_EQ(clock_event_text(0x4 | 0x8), "software power cap, HW slowdown");
  EXPECT_EQ(clock_event_text(0x1ff),
            "idle, application clocks, software power cap, HW slowdown, sync boost, software "
            "thermal slowdown, HW thermal slowdown, HW power brake, display clocks");
  EXPECT_EQ(clock_event_text(0x200), "other 0x200");
  EXPECT_EQ(clock_event_text(0x600 | 0x2), "application clocks, other 0x600");
}

TEST(GpuFacts, WhatNoSourceReportedIsNoFact) {
  Gpu gpu = healthy_gpu(0);
  gpu.serial = "1650924000000";
  EXPECT_EQ(fact(gpu, "Serial"), "1650924000000");
  for (const auto& nothing : {std::optional<std::string>(), std::optional<std::string>("")}) {
    gpu.serial = nothing;
    for (const FactGroup& group : gpu_facts(gpu)) {
      EXPECT_FALSE(group.facts.empty()) << group.title;
      EXPECT_EQ(std::ranges::count(group.facts, "Serial", &Fact::label), 0);
    }
  }
}

TEST(GpuFacts, TheThresholdOfSramErrorsIsToldWhereItIsKnown) {
  Gpu gpu = healthy_gpu(0);
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "");
  gpu.ecc.sram_threshold_exceeded = false;
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "not reached");
  gpu.ecc.sram_threshold_exceeded = true;
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "exceeded");
}

}  // namespace
}  // namespace gpuready
