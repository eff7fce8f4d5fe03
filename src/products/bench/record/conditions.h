// What was sampled on the GPU while stacks ran (host/xid_listener.h), laid over their repeats:
// clocks, power, temperature, memory, and which samples were taken while something held the clocks
// back.
#pragma once

#include <span>
#include <string_view>

#include "bench/run/session.h"
#include "host/probe_document.h"

namespace gpuready::bench {

// Fills in Repeat::conditions, throttled, energy_mj and memory_peak_bytes of repeats that are ok;
// one without a valid sample becomes no_valid_samples. `uuid`: of the GPU that they ran on.
void add_conditions(const ProbeDocument& heard, std::string_view uuid,
                    std::span<RanRepeat> repeats);

}  // namespace gpuready::bench
