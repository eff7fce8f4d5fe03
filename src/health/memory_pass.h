// One pass over the memory under test: write the pattern everywhere, or read it back everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "health/memory_ranges.h"
#include "kernels/memory_kernels.h"

namespace gpuready {

struct MemoryPattern {
  std::uint64_t salt = 0;
  bool complement = false;
};

// A wrong bit on purpose: stored by the write pass into one word.
struct MemoryFault {
  std::uint64_t word = 0;  // offset within the tested range
  std::uint64_t bits = 0;  // flipped in that word
};

struct VerifyResult {
  std::uint64_t words = 0;         // verified, as the device counted them
  std::uint64_t position_sum = 0;  // as the device summed it
  std::uint64_t bad_words = 0;
  std::vector<MemoryBadWord> lowest;  // by offset, at most 64
  double ms = 0;
};

// The sum of positions that a pass over `words` good words gives, mod 2^64: sum of (i + salt).
std::uint64_t predicted_position_sum(std::uint64_t words, std::uint64_t salt);

// Called between launches with the bytes done so far in this pass; false cancels the pass.
using PassProgress = std::function<bool(std::uint64_t done_bytes)>;

class MemoryPasses {
 public:
  // `max_launch_ms` splits passes into launches of about that length at most.
  static Result<MemoryPasses> make(Device& device, StreamId stream, double max_launch_ms,
                                   unsigned blocks_per_unit);
  // Loads the kernels and runs each once on nothing, so that nothing is loaded or allocated once
  // the memory is taken.
  Result<void> warm_up();

  // Milliseconds by the device's own events; nothing when cancelled.
  Result<std::optional<double>> write(const MemoryRanges& ranges, const MemoryPattern& pattern,
                                      const std::optional<MemoryFault>& fault,
                                      const PassProgress& progress);
  Result<std::optional<VerifyResult>> verify(const MemoryRanges& ranges,
                                             const MemoryPattern& pattern,
                                             const PassProgress& progress);
  // Copies within the range until `traffic_bytes` (read plus written) have moved, by the driver's
  // copy or by our kernel; bytes per second of traffic. Nothing when the range is too small.
  Result<std::optional<double>> copy_rate(const MemoryRanges& ranges, std::uint64_t traffic_bytes,
                                          bool by_kernel);

 private:
  MemoryPasses(Device& device, StreamId stream, StreamTimer timer, DeviceBuffer results,
               double max_launch_ms, unsigned blocks_per_unit);
  LaunchShape shape_for(std::uint64_t words) const;
  Result<std::optional<double>> run(const Kernel& kernel, const MemoryRanges& ranges,
                                    MemoryPassParams params, std::uint64_t first_word,
                                    std::uint64_t words, const PassProgress& progress);
  Result<void> clear_results();
  Result<MemoryPassResults> read_header();
  Result<std::vector<MemoryBadWord>> read_entries(std::uint64_t recorded);
  Result<std::vector<MemoryBadWord>> find_lowest(const MemoryRanges& ranges,
                                                 const MemoryPassParams& params,
                                                 const MemoryPassResults& header);

  Device* device_;
  StreamId stream_;
  StreamTimer timer_;
  DeviceBuffer results_;
  double max_launch_ms_;
  unsigned blocks_per_unit_;
  double bytes_per_ms_;  // of the slowest launch seen; a low guess before the first
};

}  // namespace gpuready
