#include <gtest/gtest.h>

#include <algorithm>

#include "base/units.h"
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

TEST(GpuFacts, EachAmountOfMemoryThatIsKnownIsShown) {
  Gpu gpu = healthy_gpu(0);
  gpu.memory = {};
  for (const auto* label : {"Total", "Free", "Used", "Kept by the driver", "BAR1"})
    EXPECT_EQ(fact(gpu, label), "") << label;
  gpu.memory.total_bytes = 80 * GiB;
  EXPECT_EQ(fact(gpu, "Total"), "80 GiB");
  EXPECT_EQ(fact(gpu, "Free"), "");
  gpu.memory.free_bytes = 60 * GiB;
  gpu.memory.used_bytes = 19 * GiB;
  gpu.memory.reserved_bytes = GiB;
  gpu.memory.bar1_total_bytes = 128 * GiB;
  EXPECT_EQ(fact(gpu, "Free"), "60 GiB");
  EXPECT_EQ(fact(gpu, "Used"), "19 GiB");
  EXPECT_EQ(fact(gpu, "Kept by the driver"), "1 GiB");
  EXPECT_EQ(fact(gpu, "BAR1"), "128 GiB");
}

TEST(GpuFacts, TheThresholdOfSramErrorsIsToldWhereItIsKnown) {
  Gpu gpu = healthy_gpu(0);
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "");
  gpu.ecc.sram_threshold_exceeded = false;
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "not reached");
  gpu.ecc.sram_threshold_exceeded = true;
  EXPECT_EQ(fact(gpu, "SRAM error threshold"), "exceeded");
}

TEST(GpuFacts, ClocksPowerAndHeatAreThoseOfNow) {
  Gpu gpu = healthy_gpu(0);
  gpu.clocks.sm_mhz = 1980;
  gpu.clocks.memory_mhz = 2619;
  gpu.clocks.max_sm_mhz = 2100;
  gpu.clock_event_reasons = 0x4;
  gpu.power.draw_mw = 350'400;
  gpu.power.limit_mw = 700'000;
  gpu.power.default_limit_mw = 700'000;  // named only if it differs
  gpu.power.max_limit_mw = 750'000;
  gpu.thermal.gpu_celsius = 41;
  gpu.thermal.slowdown_celsius = 87;
  gpu.utilization_percent = 93;
  EXPECT_EQ(fact(gpu, "Clocks now"), "SM 1980 MHz, memory 2619 MHz");
  EXPECT_EQ(fact(gpu, "Clocks at most"), "SM 2100 MHz");
  EXPECT_EQ(fact(gpu, "Clocks held by"), "software power cap");
  EXPECT_EQ(fact(gpu, "Power"), "350 W drawn, limit 700 W, at most 750 W");
  EXPECT_EQ(fact(gpu, "Temperature"), "GPU 41 C");
  EXPECT_EQ(fact(gpu, "Limits"), "slows at 87 C");
  EXPECT_EQ(fact(gpu, "Utilisation"), "93%");
}

TEST(GpuFacts, ErrorsOfNvlinksAreSummedOverTheCountersThatAreKnown) {
  Gpu gpu = healthy_gpu(0);
  gpu.nvlinks.resize(3);
  gpu.nvlinks[0].up = gpu.nvlinks[1].up = true;
  for (NvLink& link : gpu.nvlinks) link.version = 4;
  EXPECT_EQ(fact(gpu, "NVLink"), "2 of 3 up, version 4");
  gpu.nvlinks[1].replay_errors = 0;
  EXPECT_EQ(fact(gpu, "NVLink"), "2 of 3 up, version 4, 0 link errors");
  gpu.nvlinks[0].replay_errors = 1;
  gpu.nvlinks[1].recovery_errors = 20;
  gpu.nvlinks[2].crc_errors = 300;
  EXPECT_EQ(fact(gpu, "NVLink"), "2 of 3 up, version 4, 321 link errors");
}

TEST(GpuFacts, LimitsOfCudaAreThoseThatItReports) {
  Gpu gpu = healthy_gpu(0);
  gpu.cuda.emplace();
  EXPECT_EQ(fact(gpu, "Threads"), "");
  gpu.cuda->max_threads_per_block = 1024;
  gpu.cuda->max_threads_per_multiprocessor = 2048;
  gpu.cuda->warp_size = 32;
  gpu.cuda->max_blocks_per_multiprocessor = 24;
  gpu.cuda->shared_memory_per_block_bytes = 48 * KiB;
  gpu.cuda->managed_memory = true;
  gpu.cuda->multicast = false;
  EXPECT_EQ(fact(gpu, "Threads"), "1024 a block, 2048 an SM, warps of 32");
  EXPECT_EQ(fact(gpu, "Blocks an SM"), "24");
  EXPECT_EQ(fact(gpu, "Shared memory"), "48 KiB a block");
  EXPECT_EQ(fact(gpu, "Has"), "managed memory");
}

}  // namespace
}  // namespace gpuready
