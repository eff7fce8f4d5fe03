// The memory under test: as many allocations as it takes, in one order, seen as one range of words.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"

namespace gpuready {

struct MemoryRanges {
  std::vector<DeviceBuffer> buffers;
  std::uint64_t bytes = 0;
  std::uint64_t words() const { return bytes / 8; }
};

// Allocates up to `target_bytes`: in one piece where the device grants that, else in ever smaller
// ones until nothing more is granted. Being granted less, even nothing, is no error; anything but
// "out of memory" is.
Result<MemoryRanges> allocate_ranges(Device& device, std::uint64_t target_bytes);

// How much of the free memory to leave alone, so that launching a kernel does not itself run out.
std::uint64_t launch_reserve_bytes(std::uint64_t free_bytes);

}  // namespace gpuready
