// What was sampled on the GPUs while their tests ran: clocks, power, temperatures, what held the
// clocks back, error counters. Times are milliseconds since the run began, as
// Verdict::started_ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::inline v0 {

// One quantity of one GPU. Long runs are thinned: a point then stands for several samples, by their
// mean (a counter: by its last); the statistics are over every sample that was taken.
struct SampleSeries {
  std::optional<int> gpu;           // index into Machine::gpus; absent: none that the machine knows
  std::optional<std::string> uuid;  // as NVML told it
  std::string name;                 // "sm_clock", "power", "clock_event_sw_power_cap", ...
  std::string unit;         // "MHz", "W", "C", "1" (a count, or a share of the time from 0 to 1)
  std::uint64_t taken = 0;  // samples, before thinning
  double min = 0, mean = 0, max = 0, last = 0;
  std::vector<double> t_ms, value;  // of the same length
};

// An Xid that NVML reported, and when.
struct SampledXid {
  std::optional<int> gpu;
  double at_ms = 0;
  std::uint64_t xid = 0;
};

struct Samples {
  double interval_ms = 0;            // between two samples, before thinning
  std::vector<std::string> absent;   // what could not be sampled, and why
  std::vector<SampleSeries> series;  // by GPU, then in the order of the names below
  std::vector<SampledXid> sampled_xids;

  const SampleSeries* find(int gpu, std::string_view name) const {
    for (const SampleSeries& each : series)
      if (each.gpu == gpu && each.name == name) return &each;
    return nullptr;
  }
};

}  // namespace gpuready::inline v0
