// What the samples come to, GPU by GPU.
#pragma once

#include <string>
#include <vector>

#include "gpuready/samples.h"

namespace gpuready {

struct SampledGpu {
  int gpu = 0;  // index into Machine::gpus
  const SampleSeries* sm_clock = nullptr;
  const SampleSeries* memory_clock = nullptr;
  const SampleSeries* power = nullptr;
  const SampleSeries* gpu_temperature = nullptr;
  const SampleSeries* memory_temperature = nullptr;
  const SampleSeries* utilization = nullptr;
  std::vector<const SampleSeries*> events;    // what held the clocks back, the most first
  std::vector<const SampleSeries*> counters;  // of errors
  bool events_known = false;                  // NVML told whether something did
};

// By GPU; the Samples must outlive it.
std::vector<SampledGpu> sampled_gpus(const Samples& samples);

// "345/1712/1980": least, mean, most; empty for none.
std::string min_mean_max(const SampleSeries* series);
// "SW power cap 62%, HW thermal slowdown 3%" of the time; "nothing"; empty where NVML did not tell.
std::string held_back_text(const SampledGpu& gpu);
// "2 ECC corrected, 1 PCIe replays": what was counted while the tests ran; empty for nothing.
std::string counted_text(const SampledGpu& gpu);
// For people: "SM clock" for "sm_clock"; the name itself where it is not known.
std::string series_title(const SampleSeries& series);

}  // namespace gpuready
