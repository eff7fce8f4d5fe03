// Repeated access: the same places are read again and again, so often that each read goes to the
// memory itself; how long reads take shows whether they did. Nothing is claimed about rows.
#pragma once

#include <optional>

#include "health/memory/pass.h"

namespace gpuready {

struct HammerResult {
  double reads = 0, ms = 0;
  double memory_ticks = 0, cache_ticks = 0;  // of a read, in the device's own clock
  std::uint64_t regions = 0, rounds = 0;     // each of these parts of the range, this many times
  // Reads that take this much longer than from the cache did not come from it.
  static constexpr double kLeastRatio = 1.3;
  bool reached_memory() const {
    return cache_ticks > 0 && memory_ticks >= kLeastRatio * cache_ticks;
  }
};

// Nothing when cancelled, or when there is too little memory to go past the cache with.
Result<std::optional<HammerResult>> hammer_memory(MemoryPasses& passes, const Device& device,
                                                  const MemoryRanges& ranges,
                                                  const PassProgress& progress);

}  // namespace gpuready
