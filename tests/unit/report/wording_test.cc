#include <gtest/gtest.h>

#include "report/sampled.h"
#include "report/summary.h"

namespace gpuready {
namespace {

// A GPU's number is what users know it by; an address is for what has no number.
TEST(Wording, AFindingConcernsGpusByNumberAndOtherDevicesByAddress) {
  Finding finding;
  EXPECT_EQ(concerned_text(finding), "");
  finding.pci = {PciAddress{0, 0x17, 0, 0}, PciAddress{0, 0x18, 0, 1}};
  EXPECT_EQ(concerned_text(finding), "0000:17:00.0, 0000:18:00.1");
  finding.gpus = {0, 2};
  EXPECT_EQ(concerned_text(finding), "GPU 0, GPU 2");
}

// Each source by itself.
TEST(Wording, WhatWasLookedAtIsWhatAnswered) {
  EXPECT_EQ(looked_at({}), "the PCI bus");
  const auto with = [](auto change) {
    Machine machine;
    change(machine);
    return looked_at(machine);
  };
  EXPECT_EQ(with([](Machine& m) { m.vulkan.outcome = "completed"; }), "the PCI bus and Vulkan");
  EXPECT_EQ(with([](Machine& m) { m.vulkan.outcome = "crashed"; }), "the PCI bus");
  EXPECT_EQ(with([](Machine& m) { m.nvidia.module_loaded = true; }),
            "the PCI bus and the NVIDIA driver");
  EXPECT_EQ(with([](Machine& m) { m.nvidia.nvml_outcome = "crashed"; }),
            "the PCI bus and the NVIDIA driver");
  EXPECT_EQ(with([](Machine& m) { m.nvidia.nvml_outcome = "completed"; }),
            "the PCI bus, the NVIDIA driver and NVML");
  EXPECT_EQ(with([](Machine& m) { m.nvidia.cuda_outcome = "completed"; }),
            "the PCI bus and the CUDA driver");
  EXPECT_EQ(with([](Machine& m) { m.nvidia.cuda_outcome = "timed_out"; }), "the PCI bus");
  EXPECT_EQ(with([](Machine& m) { m.amd.module_loaded = true; }), "the PCI bus and the AMD driver");
  EXPECT_EQ(with([](Machine& m) { m.amd.kfd_present = true; }), "the PCI bus and the AMD driver");
  EXPECT_EQ(with([](Machine& m) { m.intel.xe_loaded = true; }), "the PCI bus and the Intel driver");
  EXPECT_EQ(with([](Machine& m) { m.intel.i915_loaded = true; }),
            "the PCI bus and the Intel driver");
  EXPECT_EQ(with([](Machine& m) { m.nodes.resize(1); }), "the PCI bus and device files");
  EXPECT_EQ(with([](Machine& m) { m.container.runtime = "docker"; }),
            "the PCI bus and the container's limits");
}

TEST(Wording, LinesOfTheLogThatWereLeftOutAreCounted) {
  Machine machine;
  machine.kernel_log.readable = true;
  EXPECT_EQ(looked_at(machine), "the PCI bus and the kernel log");
  machine.kernel_log.lines.resize(3);
  EXPECT_EQ(looked_at(machine), "the PCI bus and the kernel log");
  machine.kernel_log.lines[1].left_out = 1;
  EXPECT_EQ(looked_at(machine), "the PCI bus and the kernel log (1 repeated lines left out)");
  machine.kernel_log.lines[2].left_out = 9;
  EXPECT_EQ(looked_at(machine), "the PCI bus and the kernel log (10 repeated lines left out)");
  machine.kernel_log.readable = false;
  EXPECT_EQ(looked_at(machine), "the PCI bus");
}

TEST(Wording, WhatHeldAClockBackIsAShareOfTheTime) {
  SampledGpu gpu;
  EXPECT_EQ(held_back_text(gpu), "") << "NVML did not report it";
  gpu.events_known = true;
  EXPECT_EQ(held_back_text(gpu), "nothing");
  SampleSeries cap, unknown;
  cap.name = "clock_event_sw_power_cap";
  unknown.name = "new_event";
  unknown.mean = 0.25;
  gpu.events = {&cap};
  for (const auto& [share, text] : {std::pair(1.0, "SW power cap 100%"),
                                    {0.623, "SW power cap 62%"},
                                    {0.01, "SW power cap 1%"},
                                    {0.0099, "SW power cap <1%"}}) {
    cap.mean = share;
    EXPECT_EQ(held_back_text(gpu), text);
  }
  gpu.events = {&unknown, &cap};
  EXPECT_EQ(held_back_text(gpu), "new_event 25%, SW power cap <1%");
}

}  // namespace
}  // namespace gpuready
