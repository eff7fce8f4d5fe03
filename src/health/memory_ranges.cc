#include "health/memory_ranges.h"

#include <algorithm>

#include "base/units.h"

namespace gpuready {
namespace {

// GPUs map memory in pages of 2 MiB; less than that is asked for only where there is little at all.
constexpr std::uint64_t kLargeGranule = 2 * MiB, kSmallGranule = 4 * KiB;
constexpr std::size_t kMaxAllocations = 4096;

}  // namespace

std::uint64_t launch_reserve_bytes(std::uint64_t free_bytes) {
  return std::min(32 * MiB, free_bytes / 512);  // under the 0.5% that a test may leave out
}

Result<MemoryRanges> allocate_ranges(Device& device, std::uint64_t target_bytes) {
  const std::uint64_t granule = target_bytes >= 512 * kLargeGranule ? kLargeGranule : kSmallGranule;
  const auto whole = [granule](std::uint64_t bytes) { return bytes / granule * granule; };
  MemoryRanges ranges;
  std::uint64_t piece = whole(target_bytes);
  while (piece >= granule && ranges.buffers.size() < kMaxAllocations) {
    auto buffer = DeviceBuffer::make(device, piece);
    if (!buffer) {
      if (device.fault_of(buffer.error()) != DeviceFault::out_of_memory) {
        return std::unexpected(buffer.error());
      }
      piece = whole(piece / 2);
      continue;
    }
    ranges.bytes += piece;
    ranges.buffers.push_back(std::move(*buffer));
    piece = std::min(piece, whole(target_bytes - ranges.bytes));
  }
  return ranges;
}

}  // namespace gpuready
