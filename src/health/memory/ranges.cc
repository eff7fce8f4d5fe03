#include "health/memory/ranges.h"

#include <algorithm>

#include "base/units.h"
#include "health/memory/faults.h"

namespace gpuready {
namespace {

// GPUs map memory in pages of 2 MiB; less than that is asked for only where there is little at all.
constexpr std::uint64_t kLargeGranule = 2 * MiB, kSmallGranule = 4 * KiB;
constexpr std::size_t kMaxAllocations = 4096;

std::uint64_t granule_of(std::uint64_t target_bytes) {
  return target_bytes >= 512 * kLargeGranule ? kLargeGranule : kSmallGranule;
}

}  // namespace

void MemoryRanges::add(DeviceBuffer buffer) {
  bytes += buffer.bytes();
  buffers.push_back(std::move(buffer));
}

RangePiece MemoryRanges::piece_from(std::uint64_t word, std::uint64_t words) const {
  std::uint64_t start = 0;
  for (const DeviceBuffer& buffer : buffers) {
    const std::uint64_t end = start + buffer.bytes() / 8;
    if (word < end)
      return {buffer.address() + (word - start) * 8, word, std::min(words, end - word)};
    start = end;
  }
  return {};
}

RangePiece MemoryRanges::piece_before(std::uint64_t word, std::uint64_t words) const {
  std::uint64_t start = 0;
  for (const DeviceBuffer& buffer : buffers) {
    const std::uint64_t end = start + buffer.bytes() / 8;
    if (word <= end) {
      const std::uint64_t first = word - std::min(words, word - start);
      return {buffer.address() + (first - start) * 8, first, word - first};
    }
    start = end;
  }
  return {};
}

Result<MemoryRanges> allocate_ranges(Device& device, std::uint64_t target_bytes) {
  const std::uint64_t granule = granule_of(target_bytes);
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
    ranges.add(std::move(*buffer));
    piece = std::min(piece, whole(target_bytes - ranges.bytes));
  }
  return ranges;
}

Result<MemoryRanges> allocate_aliased_ranges(Device& device, std::uint64_t target_bytes,
                                             const Fault& alias) {
  const std::uint64_t granule = granule_of(target_bytes);
  const auto offsets = alias_offsets(alias, target_bytes / 2, granule);
  std::vector<DeviceBuffer> blocks;
  std::uint64_t physical_bytes = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    auto block = TRY(DeviceBuffer::make_aliased(device, granule));
    physical_bytes += block.bytes() / 2;
    blocks.push_back(std::move(block));
  }
  MemoryRanges ranges;
  const auto add_plain = [&](std::uint64_t bytes) -> Result<void> {
    if (bytes == 0) return {};
    auto plain = TRY(allocate_ranges(device, bytes));
    for (DeviceBuffer& buffer : plain.buffers) ranges.add(std::move(buffer));
    return {};
  };
  std::uint64_t plain_bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    TRY(add_plain(offsets[i] - plain_bytes));
    plain_bytes = offsets[i];
    ranges.add(std::move(blocks[i]));
  }
  const std::uint64_t used = plain_bytes + physical_bytes;
  TRY(add_plain(target_bytes - std::min(target_bytes, used)));
  return ranges;
}

}  // namespace gpuready
