#include "health/memory_pass.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kHeaderBytes = offsetof(MemoryPassResults, entries);
constexpr std::uint64_t kTileWords = kMemoryKernelThreads * 4 * 2;
constexpr std::size_t kReportedBadWords = 64;
// No launch is made smaller than this (4 ms at 1 GB/s), or its fixed costs would be taken for a
// slow memory, and the next made smaller still.
constexpr std::uint64_t kLeastLaunchBytes = 4 * MiB;
constexpr double kFirstGuessBytesPerMs = 4e6;  // 4 GB/s: slower than any GPU's memory

MemoryPassParams params_for(const MemoryPattern& pattern) {
  MemoryPassParams params{};
  params.salt = pattern.salt;
  params.invert = pattern.complement ? ~0ull : 0;
  return params;
}

}  // namespace

std::uint64_t predicted_position_sum(std::uint64_t words, std::uint64_t salt) {
  const std::uint64_t a = words % 2 == 0 ? words / 2 : words;
  const std::uint64_t b = words % 2 == 0 ? words - 1 : (words - 1) / 2;
  return a * b + words * salt;
}

MemoryPasses::MemoryPasses(Device& device, StreamId stream, StreamTimer timer, DeviceBuffer results,
                           double max_launch_ms, unsigned blocks_per_unit)
    : device_(&device),
      stream_(stream),
      timer_(std::move(timer)),
      results_(std::move(results)),
      max_launch_ms_(max_launch_ms),
      blocks_per_unit_(blocks_per_unit),
      bytes_per_ms_(kFirstGuessBytesPerMs) {}

Result<MemoryPasses> MemoryPasses::make(Device& device, StreamId stream, double max_launch_ms,
                                        unsigned blocks_per_unit) {
  auto timer = StreamTimer::make(device, stream);
  if (!timer) return std::unexpected(timer.error());
  auto results = DeviceBuffer::make(device, sizeof(MemoryPassResults));
  if (!results) return std::unexpected(results.error());
  return MemoryPasses(device, stream, std::move(*timer), std::move(*results), max_launch_ms,
                      blocks_per_unit);
}

Result<void> MemoryPasses::warm_up() {
  MemoryPassParams nothing{};
  nothing.results_address = results_.address();
  const MemoryCopyParams no_copy{};
  if (auto done = timer_.start(); !done) return done;
  if (auto done = clear_results(); !done) return done;
  for (const Kernel* kernel : {&kMemoryWrite, &kMemoryVerify}) {
    auto done = device_->launch(stream_, *kernel, shape_for(0), &nothing, sizeof nothing);
    if (!done) return done;
  }
  if (auto done = device_->launch(stream_, kMemoryCopy, shape_for(0), &no_copy, sizeof no_copy);
      !done) {
    return done;
  }
  const DeviceAddress half = results_.address() + sizeof(MemoryPassResults) / 2;
  if (auto done = device_->copy_on_device(stream_, results_.address(), half, 1024); !done) {
    return done;
  }
  if (auto done = timer_.stop_ms(); !done) return std::unexpected(done.error());
  if (auto header = read_header(); !header) return std::unexpected(header.error());
  return {};
}

LaunchShape MemoryPasses::shape_for(std::uint64_t words) const {
  LaunchShape shape;
  shape.threads = kMemoryKernelThreads;
  const std::uint64_t most = std::uint64_t{device_->info().units} * blocks_per_unit_;
  shape.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(words / kTileWords, 1, most));
  return shape;
}

// Runs `kernel` over words [first_word, first_word + words) of the ranges.
Result<std::optional<double>> MemoryPasses::run(const Kernel& kernel, const MemoryRanges& ranges,
                                                MemoryPassParams params, std::uint64_t first_word,
                                                std::uint64_t words, const PassProgress& progress) {
  params.results_address = results_.address();
  double total_ms = 0;
  std::uint64_t done_words = 0, range_start = 0, unsynchronized_bytes = 0;
  bool running = false;
  const auto finish_launches = [&]() -> Result<void> {
    auto ms = timer_.stop_ms();
    if (!ms) return std::unexpected(ms.error());
    total_ms += *ms;
    // Learn from work that is long enough to say something, and never trust more than half of it.
    if (*ms > 1) bytes_per_ms_ = static_cast<double>(unsynchronized_bytes) / *ms / 2;
    running = false;
    unsynchronized_bytes = 0;
    return {};
  };
  for (const DeviceBuffer& buffer : ranges.buffers) {
    const std::uint64_t range_words = buffer.bytes() / 8;
    std::uint64_t at = std::max(first_word, range_start);
    const std::uint64_t end = std::min(first_word + words, range_start + range_words);
    while (at < end) {
      const auto budget_bytes =
          std::max(kLeastLaunchBytes, static_cast<std::uint64_t>(bytes_per_ms_ * max_launch_ms_));
      const std::uint64_t left_bytes = budget_bytes - std::min(budget_bytes, unsynchronized_bytes);
      const std::uint64_t fitting =
          std::max(left_bytes / 8 / kTileWords, std::uint64_t{1}) * kTileWords;
      params.words = std::min(end - at, fitting);
      params.first_index = at;
      params.base_address = buffer.address() + (at - range_start) * 8;
      if (!running) {
        if (auto started = timer_.start(); !started) return std::unexpected(started.error());
        running = true;
      }
      auto launched =
          device_->launch(stream_, kernel, shape_for(params.words), &params, sizeof params);
      if (!launched) return std::unexpected(launched.error());
      at += params.words;
      done_words += params.words;
      unsynchronized_bytes += params.words * 8;
      if (unsynchronized_bytes + kTileWords * 8 > budget_bytes && done_words < words) {
        if (auto finished = finish_launches(); !finished) return std::unexpected(finished.error());
        if (progress && !progress(done_words * 8)) return std::optional<double>();
      }
    }
    range_start += range_words;
  }
  if (running) {
    if (auto finished = finish_launches(); !finished) return std::unexpected(finished.error());
  }
  if (progress && !progress(done_words * 8)) return std::optional<double>();
  return std::optional(total_ms);
}

Result<std::optional<double>> MemoryPasses::write(const MemoryRanges& ranges,
                                                  const MemoryPattern& pattern,
                                                  const std::optional<MemoryFault>& fault,
                                                  const PassProgress& progress) {
  MemoryPassParams params = params_for(pattern);
  if (fault) {
    params.fault_index = fault->word;
    params.fault_bits = fault->bits;
  }
  return run(kMemoryWrite, ranges, params, 0, ranges.words(), progress);
}

Result<std::optional<VerifyResult>> MemoryPasses::verify(const MemoryRanges& ranges,
                                                         const MemoryPattern& pattern,
                                                         const PassProgress& progress) {
  const MemoryPassParams params = params_for(pattern);
  if (auto cleared = clear_results(); !cleared) return std::unexpected(cleared.error());
  auto ms = run(kMemoryVerify, ranges, params, 0, ranges.words(), progress);
  if (!ms) return std::unexpected(ms.error());
  if (!*ms) return std::optional<VerifyResult>();
  auto header = read_header();
  if (!header) return std::unexpected(header.error());
  VerifyResult result;
  result.ms = **ms;
  result.words = header->words_verified;
  result.position_sum = header->position_sum;
  result.bad_words = header->bad_words;
  if (header->recorded > 0) {
    auto lowest = find_lowest(ranges, params, *header);
    if (!lowest) return std::unexpected(lowest.error());
    result.lowest = std::move(*lowest);
  }
  return std::optional(std::move(result));
}

Result<void> MemoryPasses::clear_results() {
  static const MemoryPassResults kCleared = [] {
    MemoryPassResults results{};
    results.first_bad_index = ~0ull;
    return results;
  }();
  return device_->copy_to_device(stream_, results_.address(), &kCleared, kHeaderBytes);
}

Result<MemoryPassResults> MemoryPasses::read_header() {
  MemoryPassResults results{};
  auto copied = device_->copy_to_host(stream_, &results, results_.address(), kHeaderBytes);
  if (!copied) return std::unexpected(copied.error());
  if (auto done = device_->synchronize(stream_); !done) return std::unexpected(done.error());
  return results;
}

Result<std::vector<MemoryBadWord>> MemoryPasses::read_entries(std::uint64_t recorded) {
  std::vector<MemoryBadWord> entries(std::min<std::uint64_t>(recorded, kMemoryBadWordCapacity));
  auto copied = device_->copy_to_host(stream_, entries.data(), results_.address() + kHeaderBytes,
                                      entries.size() * sizeof(MemoryBadWord));
  if (!copied) return std::unexpected(copied.error());
  if (auto done = device_->synchronize(stream_); !done) return std::unexpected(done.error());
  return entries;
}

// The bad words with the lowest offsets. Where more were bad than the buffer holds, it holds any of
// them: then windows that start at the first bad word are read again, until enough are known.
Result<std::vector<MemoryBadWord>> MemoryPasses::find_lowest(const MemoryRanges& ranges,
                                                             const MemoryPassParams& params,
                                                             const MemoryPassResults& header) {
  auto entries = read_entries(header.recorded);
  if (!entries) return entries;
  std::map<unsigned long long, MemoryBadWord> by_offset;
  for (const MemoryBadWord& word : *entries) by_offset.emplace(word.index, word);

  if (header.recorded > kMemoryBadWordCapacity) {
    constexpr int kMaxWindows = 64;
    // Even, as the kernels want it; a window of this size cannot overflow the buffer.
    std::uint64_t start = header.first_bad_index / 2 * 2, window = kMemoryBadWordCapacity;
    std::size_t found = 0;
    for (int i = 0; i < kMaxWindows && found < kReportedBadWords && start < ranges.words(); ++i) {
      const std::uint64_t size = std::min(window, ranges.words() - start);
      if (auto cleared = clear_results(); !cleared) return std::unexpected(cleared.error());
      auto ran = run(kMemoryVerify, ranges, params, start, size, nullptr);
      if (!ran) return std::unexpected(ran.error());
      auto seen = read_header();
      if (!seen) return std::unexpected(seen.error());
      if (seen->recorded > kMemoryBadWordCapacity) {
        window = kMemoryBadWordCapacity;  // too many at once: this part again, in small steps
        continue;
      }
      auto more = read_entries(seen->recorded);
      if (!more) return more;
      for (const MemoryBadWord& word : *more) by_offset.emplace(word.index, word);
      found += more->size();
      start += size;
      window *= 2;
    }
  }
  std::vector<MemoryBadWord> lowest;
  for (const auto& [offset, word] : by_offset) {
    if (lowest.size() == kReportedBadWords) break;
    lowest.push_back(word);
  }
  return lowest;
}

Result<std::optional<double>> MemoryPasses::copy_rate(const MemoryRanges& ranges,
                                                      std::uint64_t traffic_bytes, bool by_kernel) {
  const auto largest = std::max_element(
      ranges.buffers.begin(), ranges.buffers.end(),
      [](const DeviceBuffer& a, const DeviceBuffer& b) { return a.bytes() < b.bytes(); });
  if (largest == ranges.buffers.end()) return std::optional<double>();
  // Lower half to upper half: each copy reads and writes `bytes`.
  const std::uint64_t half = largest->bytes() / 2 / 4096 * 4096;
  const std::uint64_t bytes = std::min(half, std::max(traffic_bytes / 2 / 4096 * 4096, MiB));
  if (bytes == 0) return std::optional<double>();
  const std::uint64_t repeats = (traffic_bytes + 2 * bytes - 1) / (2 * bytes);
  const MemoryCopyParams params{largest->address() + half, largest->address(), bytes};

  const auto copies = [&](std::uint64_t count) -> Result<double> {
    if (auto started = timer_.start(); !started) return std::unexpected(started.error());
    for (std::uint64_t i = 0; i < count; ++i) {
      auto done = by_kernel ? device_->launch(stream_, kMemoryCopy, shape_for(bytes / 8), &params,
                                              sizeof params)
                            : device_->copy_on_device(stream_, params.target_address,
                                                      params.source_address, bytes);
      if (!done) return std::unexpected(done.error());
    }
    return timer_.stop_ms();
  };
  if (auto warm = copies(1); !warm) return std::unexpected(warm.error());
  auto ms = copies(std::max<std::uint64_t>(repeats, 1));
  if (!ms) return std::unexpected(ms.error());
  if (*ms <= 0) return std::optional<double>();
  return std::optional(static_cast<double>(2 * bytes * std::max<std::uint64_t>(repeats, 1)) /
                       (*ms / 1e3));
}

}  // namespace gpuready
