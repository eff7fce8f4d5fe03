// One pass over the memory under test: write a pattern, read it back, both in one, or move it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "health/event_timer.h"
#include "health/memory/patterns.h"
#include "health/memory/ranges.h"
#include "health/sealed_results.h"
#include "kernels/memory_kernels.h"

namespace gpuready {

// A part of the tested range, in words.
struct WordSpan {
  std::uint64_t first = 0, words = 0;
};

struct PassOptions {
  std::uint64_t select = kWriteAll;
  bool descending = false;
  bool faulty = false;  // with the faults of set_faults()
};

struct VerifyResult {
  std::uint64_t words = 0;     // verified, as the device counted them
  std::uint64_t name_sum = 0;  // as the device summed it
  std::uint64_t bad_words = 0;
  std::vector<MemoryBadWord> lowest;  // by offset, as many as were asked for
  double ms = 0;
};

// What of the result of a pass over good words is not as it must be; empty: nothing.
std::string wrong_pass(const VerifyResult& result, const MemoryPattern& expected, WordSpan span);

// The grid for this many bytes.
LaunchShape memory_launch_shape(const Device& device, const Kernel& kernel, std::uint64_t bytes);

// Called between launches with the bytes done so far in this pass; false cancels the pass.
using PassProgress = std::function<bool(std::uint64_t done_bytes)>;

class MemoryPasses {
 public:
  // `max_launch_ms` splits passes into launches of about that length at most.
  static Result<MemoryPasses> make(Device& device, StreamId stream, double max_launch_ms,
                                   std::size_t max_reported);
  // Runs each kernel on a little memory, so that nothing is loaded or allocated once the memory is
  // taken, and calls `alive` after each. What was wrong there; empty: nothing.
  Result<std::string> warm_up(const std::function<void()>& alive);
  // Faults for the writes that ask for them.
  Result<void> set_faults(std::span<const MemoryFaultEntry> faults);

  // Milliseconds by the device's own events; nothing when cancelled.
  Result<std::optional<double>> write(const MemoryRanges& ranges, const MemoryPattern& pattern,
                                      const PassOptions& options, const PassProgress& progress);
  Result<std::optional<VerifyResult>> verify(const MemoryRanges& ranges,
                                             const MemoryPattern& pattern, WordSpan span,
                                             const PassProgress& progress);
  // Verifies, and writes the complement in place. The words that were bad are gone then.
  Result<std::optional<VerifyResult>> invert(const MemoryRanges& ranges,
                                             const MemoryPattern& pattern,
                                             const PassOptions& options,
                                             const PassProgress& progress);
  // Copies words [source, source + target.words) to `target`, which they do not overlap.
  Result<std::optional<double>> move(const MemoryRanges& ranges, WordSpan target,
                                     std::uint64_t source, bool by_kernel,
                                     const PassProgress& progress);
  // These words as they are now.
  Result<std::vector<std::uint64_t>> read_again(const MemoryRanges& ranges,
                                                std::span<const MemoryBadWord> words);
  // One launch of the hammer kernel.
  Result<MemoryHammerResults> hammer(const MemoryHammerParams& params, double& ms);

 private:
  MemoryPasses(Device& device, StreamId stream, EventTimer timer, SealedResults results,
               double max_launch_ms, std::size_t max_reported);
  Result<void> copy(bool by_kernel, const MemoryCopyParams& params);
  Result<std::optional<double>> run(const Kernel& kernel, const MemoryRanges& ranges,
                                    MemoryPassParams params, WordSpan span,
                                    const PassProgress& progress);
  Result<std::optional<VerifyResult>> run_verify(const Kernel& kernel, const MemoryRanges& ranges,
                                                 const MemoryPassParams& params, WordSpan span,
                                                 const PassProgress& progress);
  void add_options(MemoryPassParams& params, const PassOptions& options) const;
  Result<void> clear_results();
  Result<void> read_header(MemoryPassResults& results);
  Result<std::vector<MemoryBadWord>> read_entries(std::uint64_t recorded);
  Result<std::vector<MemoryBadWord>> find_lowest(const MemoryRanges& ranges,
                                                 const MemoryPassParams& params, WordSpan span,
                                                 const MemoryPassResults& header, bool read_again);

  Device* device_;
  StreamId stream_;
  EventTimer timer_;
  SealedResults results_;
  std::optional<DeviceBuffer> faults_;
  std::uint64_t fault_count_ = 0;
  double max_launch_ms_;
  std::size_t max_reported_;
  double bytes_per_ms_;  // of the slowest launch seen; a low guess before the first
};

}  // namespace gpuready
