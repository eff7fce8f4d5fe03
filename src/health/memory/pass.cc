#include "health/memory/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "base/random.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kHeaderBytes = offsetof(MemoryPassResults, entries);
// Launches are cut at whole tiles of whatever kernel.
constexpr std::uint64_t kTileWords = kMemoryVerifyWork.tile_bytes / 8;
// No launch is made smaller than this (4 ms at 1 GB/s), or its fixed costs would be taken for a
// slow memory, and the next made smaller still.
constexpr std::uint64_t kLeastLaunchBytes = 4 * MiB;
constexpr double kFirstGuessBytesPerMs = 4e6;  // 4 GB/s: slower than any GPU's memory

}  // namespace

MemoryPasses::MemoryPasses(Device& device, StreamId stream, EventTimer timer, SealedResults results,
                           double max_launch_ms, std::size_t max_reported)
    : device_(&device),
      stream_(stream),
      timer_(std::move(timer)),
      results_(std::move(results)),
      max_launch_ms_(max_launch_ms),
      max_reported_(max_reported),
      bytes_per_ms_(kFirstGuessBytesPerMs) {}

Result<MemoryPasses> MemoryPasses::make(Device& device, StreamId stream, double max_launch_ms,
                                        std::size_t max_reported) {
  auto timer = TRY(EventTimer::make(device, stream));
  auto results = TRY(SealedResults::make(device, stream, sizeof(MemoryPassResults)));
  return MemoryPasses(device, stream, std::move(timer), std::move(results), max_launch_ms,
                      max_reported);
}

std::string wrong_pass(const VerifyResult& result, const MemoryPattern& expected, WordSpan span) {
  const std::uint64_t sum = predicted_name_sum(expected, span.first, span.words);
  if (result.bad_words > 0)
    return fmt::format("{} of {} words did not read back as written", result.bad_words, span.words);
  if (result.words != span.words)
    return fmt::format("the device verified {} words where {} were to be verified", result.words,
                       span.words);
  if (result.name_sum != sum)
    return fmt::format(
        "the checksum of the words read is {:#x}, not {:#x}, though none was seen to be bad: reads "
        "do not repeat, or the device counts wrongly",
        result.name_sum, sum);
  return {};
}

// Written, inverted, moved by either way and verified, as the whole memory is afterwards.
Result<std::string> MemoryPasses::warm_up(const std::function<void()>& alive) {
  constexpr std::uint64_t kBytes = 128 * KiB;
  const MemoryRanges little = TRY(allocate_ranges(*device_, kBytes));
  const std::uint64_t quarter = little.words() / 4 / 2 * 2, half = 2 * quarter;
  if (quarter == 0) return {};
  const MemoryPattern written{kPatternAddress, random_u64(), 0, false},
      inverted = written.inverted();
  MemoryPattern moved = inverted;
  moved.salt -= half;
  const PassProgress progress = [&](std::uint64_t) { return alive(), true; };
  TRY(write(little, written, {}, progress));
  const WordSpan all{0, little.words()};
  std::string wrong = wrong_pass(*TRY(invert(little, written, {}, progress)), written, all);
  TRY(move(little, {half, quarter}, 0, true, progress));
  TRY(move(little, {half + quarter, quarter}, quarter, false, progress));
  for (const auto& [pattern, span] :
       {std::pair(inverted, WordSpan{0, half}), std::pair(moved, WordSpan{half, half})}) {
    const auto result = TRY(verify(little, pattern, span, progress));
    if (wrong.empty()) wrong = wrong_pass(*result, pattern, span);
  }
  return wrong;
}

Result<void> MemoryPasses::set_faults(std::span<const MemoryFaultEntry> faults) {
  if (faults.empty()) return {};
  auto buffer = TRY(DeviceBuffer::make(*device_, faults.size_bytes()));
  TRY(device_->copy_to_device(stream_, buffer.address(), faults.data(), faults.size_bytes()));
  faults_.emplace(std::move(buffer));
  fault_count_ = faults.size();
  return device_->synchronize(stream_);
}

LaunchShape memory_launch_shape(const Device& device, const Kernel& kernel, std::uint64_t bytes) {
  const std::uint64_t most_blocks = device.info().max_blocks.value_or(0x7fffffff);
  const MemoryBlockWork& work = &kernel == &kMemoryWrite    ? kMemoryWriteWork
                                : &kernel == &kMemoryCopy   ? kMemoryCopyWork
                                : &kernel == &kMemoryInvert ? kMemoryInvertWork
                                                            : kMemoryVerifyWork;
  LaunchShape shape;
  shape.threads = kMemoryKernelThreads;
  shape.blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / work.bytes(), 1, most_blocks));
  return shape;
}

// Runs `kernel` over `span`, launch by launch, in the direction that params tell.
Result<std::optional<double>> MemoryPasses::run(const Kernel& kernel, const MemoryRanges& ranges,
                                                MemoryPassParams params, WordSpan span,
                                                const PassProgress& progress) {
  params.results_address = results_.address();
  double total_ms = 0;
  std::uint64_t done_words = 0, unsynchronized_bytes = 0;
  bool running = false;
  const auto finish_launches = [&]() -> Result<void> {
    auto ms = TRY(timer_.stop_ms());
    total_ms += ms;
    // Learn from work that is long enough to say something, and never trust more than half of it.
    if (ms > 1) bytes_per_ms_ = static_cast<double>(unsynchronized_bytes) / ms / 2;
    running = false;
    unsynchronized_bytes = 0;
    return {};
  };
  const bool down = params.descending != 0;
  while (done_words < span.words) {
    const auto budget_bytes =
        std::max(kLeastLaunchBytes, static_cast<std::uint64_t>(bytes_per_ms_ * max_launch_ms_));
    const std::uint64_t left_bytes = budget_bytes - std::min(budget_bytes, unsynchronized_bytes);
    const std::uint64_t fitting =
        std::max(left_bytes / 8 / kTileWords, std::uint64_t{1}) * kTileWords;
    const std::uint64_t left_words = std::min(span.words - done_words, fitting);
    const RangePiece piece =
        down ? ranges.piece_before(span.first + span.words - done_words, left_words)
             : ranges.piece_from(span.first + done_words, left_words);
    params.words = piece.words;
    params.first_index = piece.first;
    params.base_address = piece.address;
    if (!running) {
      TRY(timer_.start());
      running = true;
    }
    TRY(device_->launch(stream_, kernel, memory_launch_shape(*device_, kernel, params.words * 8),
                        &params, sizeof params));
    done_words += params.words;
    unsynchronized_bytes += params.words * 8;
    if (unsynchronized_bytes + kTileWords * 8 > budget_bytes && done_words < span.words) {
      TRY(finish_launches());
      if (progress && !progress(done_words * 8)) return std::optional<double>();
    }
  }
  if (running) {
    TRY(finish_launches());
  }
  if (progress && !progress(done_words * 8)) return std::optional<double>();
  return std::optional(total_ms);
}

void MemoryPasses::add_options(MemoryPassParams& params, const PassOptions& options) const {
  params.select = options.select;
  params.descending = options.descending ? 1 : 0;
  if (options.faulty && faults_) {
    params.faults_address = faults_->address();
    params.fault_count = fault_count_;
  }
}

Result<std::optional<double>> MemoryPasses::write(const MemoryRanges& ranges,
                                                  const MemoryPattern& pattern,
                                                  const PassOptions& options,
                                                  const PassProgress& progress) {
  MemoryPassParams params = params_for(pattern);
  add_options(params, options);
  return run(kMemoryWrite, ranges, params, {0, ranges.words()}, progress);
}

Result<std::optional<VerifyResult>> MemoryPasses::verify(const MemoryRanges& ranges,
                                                         const MemoryPattern& pattern,
                                                         WordSpan span,
                                                         const PassProgress& progress) {
  return run_verify(kMemoryVerify, ranges, params_for(pattern), span, progress);
}

Result<std::optional<VerifyResult>> MemoryPasses::invert(const MemoryRanges& ranges,
                                                         const MemoryPattern& pattern,
                                                         const PassOptions& options,
                                                         const PassProgress& progress) {
  MemoryPassParams params = params_for(pattern);
  add_options(params, options);
  return run_verify(kMemoryInvert, ranges, params, {0, ranges.words()}, progress);
}

Result<std::optional<VerifyResult>> MemoryPasses::run_verify(const Kernel& kernel,
                                                             const MemoryRanges& ranges,
                                                             const MemoryPassParams& params,
                                                             WordSpan span,
                                                             const PassProgress& progress) {
  TRY(clear_results());
  auto ms = TRY(run(kernel, ranges, params, span, progress));
  if (!ms) return std::optional<VerifyResult>();
  MemoryPassResults header{};
  TRY(read_header(header));
  VerifyResult result;
  result.ms = *ms;
  for (const MemoryCountSlot& slot : header.slots) {
    result.words += slot.words_verified;
    result.name_sum += slot.name_sum;
  }
  result.bad_words = header.bad_words;
  if (header.recorded > 0) {
    result.lowest = TRY(find_lowest(ranges, params, span, header, &kernel == &kMemoryVerify));
  }
  return std::optional(std::move(result));
}

Result<void> MemoryPasses::clear_results() {
  return results_.reset(kHeaderBytes, offsetof(MemoryPassResults, first_bad_index));
}

Result<void> MemoryPasses::read_header(MemoryPassResults& results) {
  return results_.read(&results, kHeaderBytes);
}

Result<std::vector<MemoryBadWord>> MemoryPasses::read_entries(std::uint64_t recorded) {
  std::vector<MemoryBadWord> entries(std::min<std::uint64_t>(recorded, kMemoryBadWordCapacity));
  TRY(results_.read(entries.data(), entries.size() * sizeof(MemoryBadWord), kHeaderBytes));
  return entries;
}

// The bad words with the lowest offsets. Where more were bad than the buffer holds, it holds any of
// them: then windows that start at the first bad word are read again, until enough are known. What
// an inverting pass has read is gone; the lowest that it recorded must do.
Result<std::vector<MemoryBadWord>> MemoryPasses::find_lowest(const MemoryRanges& ranges,
                                                             const MemoryPassParams& params,
                                                             WordSpan span,
                                                             const MemoryPassResults& header,
                                                             bool read_again) {
  auto entries = read_entries(header.recorded);
  if (!entries) return entries;
  std::map<unsigned long long, MemoryBadWord> by_offset;
  for (const MemoryBadWord& word : *entries) by_offset.emplace(word.index, word);

  if (header.recorded > kMemoryBadWordCapacity && read_again) {
    constexpr int kMaxWindows = 64;
    // Even, as the kernels want it; a window of this size cannot overflow the buffer.
    const std::uint64_t end = span.first + span.words;
    std::uint64_t start = header.first_bad_index / 2 * 2, window = kMemoryBadWordCapacity;
    std::size_t found = 0;
    for (int i = 0; i < kMaxWindows && found < max_reported_ && start < end; ++i) {
      const std::uint64_t size = std::min(window, end - start);
      TRY(clear_results());
      TRY(run(kMemoryVerify, ranges, params, {start, size}, nullptr));
      MemoryPassResults seen{};
      TRY(read_header(seen));
      if (seen.recorded > kMemoryBadWordCapacity) {
        window = kMemoryBadWordCapacity;  // too many at once: this part again, in small steps
        continue;
      }
      auto more = read_entries(seen.recorded);
      if (!more) return more;
      for (const MemoryBadWord& word : *more) by_offset.emplace(word.index, word);
      found += more->size();
      start += size;
      window *= 2;
    }
  }
  std::vector<MemoryBadWord> lowest;
  for (const auto& [offset, word] : by_offset) {
    if (lowest.size() == max_reported_ && header.recorded > kMemoryBadWordCapacity) break;
    lowest.push_back(word);
  }
  return lowest;
}

Result<std::vector<std::uint64_t>> MemoryPasses::read_again(const MemoryRanges& ranges,
                                                            std::span<const MemoryBadWord> words) {
  std::vector<std::uint64_t> values(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    TRY(device_->copy_to_host(stream_, &values[i], ranges.piece_from(words[i].index, 1).address,
                              8));
  }
  TRY(device_->synchronize(stream_));
  return values;
}

}  // namespace gpuready
