// Copies within the memory under test.
#include <algorithm>

#include "base/units.h"
#include "health/memory/pass.h"

namespace gpuready {

Result<void> MemoryPasses::copy(bool by_kernel, const MemoryCopyParams& params) {
  if (by_kernel)
    return device_->launch(stream_, kMemoryCopy,
                           memory_launch_shape(*device_, kMemoryCopy, params.bytes), &params,
                           sizeof params);
  return device_->copy_on_device(stream_, params.target_address, params.source_address,
                                 params.bytes);
}

Result<std::optional<double>> MemoryPasses::move(const MemoryRanges& ranges, WordSpan target,
                                                 std::uint64_t source, bool by_kernel,
                                                 const PassProgress& progress) {
  double total_ms = 0;
  for (std::uint64_t done = 0; done < target.words;) {
    const auto budget_bytes =
        std::max(64 * MiB, static_cast<std::uint64_t>(bytes_per_ms_ * max_launch_ms_));
    TRY(timer_.start());
    for (std::uint64_t moved_bytes = 0; moved_bytes < budget_bytes && done < target.words;) {
      const std::uint64_t words =
          std::min(target.words - done, (budget_bytes - moved_bytes) / 16 * 2);
      const RangePiece to = ranges.piece_from(target.first + done, words),
                       from = ranges.piece_from(source + done, to.words);
      TRY(copy(by_kernel, {to.address, from.address, from.words * 8}));
      done += from.words;
      moved_bytes += std::max<std::uint64_t>(from.words * 8, 16);
    }
    auto ms = TRY(timer_.stop_ms());
    total_ms += ms;
    if (progress && !progress(done * 8)) return std::optional<double>();
  }
  return std::optional(total_ms);
}

}  // namespace gpuready
