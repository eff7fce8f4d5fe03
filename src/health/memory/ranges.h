// The memory under test: as many allocations as it takes, in one order, seen as one range of words.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "health/fault.h"

namespace gpuready {

// Words that lie in one allocation.
struct RangePiece {
  DeviceAddress address = 0;
  std::uint64_t first = 0, words = 0;  // first: offset within the tested range
};

struct MemoryRanges {
  std::vector<DeviceBuffer> buffers;
  std::uint64_t bytes = 0;
  std::uint64_t words() const { return bytes / 8; }
  void add(DeviceBuffer buffer);
  // At most `words` words from `word` on, or before `word`, without leaving an allocation.
  RangePiece piece_from(std::uint64_t word, std::uint64_t words) const;
  RangePiece piece_before(std::uint64_t word, std::uint64_t words) const;
};

// Allocates up to `target_bytes`: in one piece where the device grants that, else in ever smaller
// ones until nothing more is granted. Being granted less, even nothing, is not an error; anything
// but "out of memory" is.
Result<MemoryRanges> allocate_ranges(Device& device, std::uint64_t target_bytes);
// The same with blocks in it that are one physical memory at two addresses, at places that the
// fault tells: their second halves come on top of what is asked for.
Result<MemoryRanges> allocate_aliased_ranges(Device& device, std::uint64_t target_bytes,
                                             const Fault& alias);

}  // namespace gpuready
