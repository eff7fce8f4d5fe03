// What was sampled on the GPU while stacks ran (host/xid_listener.h), laid over their repeats:
// clocks, power, temperature, memory, and which samples were taken while something held the clocks
// back.
#pragma once

#include <span>
#include <string_view>

#include "bench/run/session.h"
#include "host/probe_document.h"

namespace gpuready::bench {

// The rule of throttling: a sample counts as throttled when one of these was active at the reading
// before or after it, or between. The power cap is not among them: the workload itself reaches it,
// and it is reported.
//   clock_event_hw_slowdown, clock_event_hw_thermal_slowdown, clock_event_sw_thermal_slowdown,
//   clock_event_hw_power_brake
bool drops_samples(std::string_view series);

// Fills in Repeat::conditions, throttled, energy_mj and memory_peak_bytes of repeats that are ok;
// one without a valid sample becomes no_valid_samples. `uuid`: of the GPU that they ran on.
void add_conditions(const ProbeDocument& heard, std::string_view uuid,
                    std::span<RanRepeat> repeats);

}  // namespace gpuready::bench
