// Repeated access: the same places are read again and again, so often that each read goes to the
// memory itself; how long reads take shows whether they did. Nothing is claimed about rows.
#include <algorithm>
#include <optional>

#include "base/units.h"
#include "health/memory/run.h"

namespace gpuready {
namespace {

// Each place is in another DRAM page than the one before, as far as a program can choose.
constexpr std::uint64_t kStrideBytes = 4 * KiB;
constexpr std::uint64_t kCacheLineBytes = 128;
constexpr std::uint64_t kCacheMultiple = 2;  // of the cache's lines are in turn
constexpr std::uint64_t kDefaultCacheBytes = 64 * MiB;
constexpr std::uint64_t kRounds = 512, kRoundsPerLaunch = 64;
// Few enough to lie in any L2, but more than one.
constexpr std::uint64_t kCachedLines = 64, kTimedLines = 2048;

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

}  // namespace

Result<MemoryHammerResults> MemoryPasses::hammer(const MemoryHammerParams& params, double& ms) {
  MemoryHammerParams complete = params;
  complete.results_address = results_.address();
  TRY(results_.reset(sizeof(MemoryHammerResults)));
  LaunchShape shape;
  shape.threads = kMemoryKernelThreads;
  shape.blocks = params.timed ? 1 : device_->info().units * 8;
  TRY(timer_.start());
  TRY(device_->launch(stream_, kMemoryHammer, shape, &complete, sizeof complete));
  auto took = TRY(timer_.stop_ms());
  ms = took;
  MemoryHammerResults results{};
  TRY(results_.read(&results, sizeof results));
  return results;
}

// Nothing when cancelled, or when there is too little memory to go past the cache with.
static Result<std::optional<HammerResult>> hammer_memory(MemoryPasses& passes, const Device& device,
                                                         const MemoryRanges& ranges,
                                                         const PassProgress& progress) {
  const std::uint64_t lines =
      kCacheMultiple * device.info().l2_cache_bytes.value_or(kDefaultCacheBytes) / kCacheLineBytes;
  const std::uint64_t region_bytes = lines * kStrideBytes;
  HammerResult result;
  result.rounds = kRounds;
  std::uint64_t before_bytes = 0;
  for (const DeviceBuffer& buffer : ranges.buffers) {
    for (std::uint64_t at = 0; at + region_bytes <= buffer.bytes(); at += region_bytes) {
      MemoryHammerParams params{};
      params.base_address = buffer.address() + at;
      params.stride_bytes = kStrideBytes;
      params.lines = lines;
      params.rounds = kRoundsPerLaunch;
      double ms = 0;
      for (std::uint64_t round = 0; round < kRounds; round += kRoundsPerLaunch) {
        auto read = TRY(passes.hammer(params, ms));
        if (read.reads != lines * kRoundsPerLaunch)
          return fail(ErrorKind::device, "the device did not count as many reads as it was to do");
        result.reads += static_cast<double>(read.reads);
        result.ms += ms;
        if (progress && !progress(before_bytes + at)) return std::optional<HammerResult>();
      }
      if (result.regions++ > 0) continue;
      // The first places of those just read in turn; then few of them, again and again.
      params.timed = 1, params.rounds = 0, params.lines = std::min(lines, kTimedLines);
      auto timed = passes.hammer(params, ms);
      if (!timed) return std::unexpected(timed.error());
      result.memory_ticks = static_cast<double>(timed->ticks) / static_cast<double>(params.lines);
      params.rounds = 4, params.lines = kCachedLines;
      timed = passes.hammer(params, ms);
      if (!timed) return std::unexpected(timed.error());
      result.cache_ticks = static_cast<double>(timed->ticks) / static_cast<double>(params.lines);
    }
    before_bytes += buffer.bytes();
  }
  if (result.regions == 0) return std::optional<HammerResult>();
  return std::optional(result);
}

Result<bool> MemoryTest::hammer(const PassProgress& progress) {
  if (options_.reserve_free_bytes > 0) {
    set(VerdictStatus::inconclusive,
        "repeated access needs a GPU without other users; it was left out");
    return true;
  }
  auto result = TRY(hammer_memory(*passes_, device_, *ranges_, progress));
  if (hooks_.cancelled()) return false;
  if (!result) {
    set(VerdictStatus::inconclusive,
        "repeated access was asked for, but the memory is too little to go past the cache with");
    return true;
  }
  const HammerResult& hammered = *result;
  set_metric("hammer_reads", hammered.reads, "1");
  set_metric("hammer_time", hammered.ms, "ms");
  if (hammered.cache_ticks > 0) {
    verdict_.metrics.push_back(
        {"hammer_latency_to_cache", hammered.memory_ticks / hammered.cache_ticks, "1",
         HammerResult::kLeastRatio,
         "the memory test's own rule: a read that the cache answers takes 1"});
    set_metric("hammer_latency", hammered.memory_ticks, "ticks");
  }
  if (!hammered.reached_memory())
    set(VerdictStatus::inconclusive,
        "repeated access was asked for, but its reads took no longer than from the cache: they did "
        "not reach the memory");
  return true;
}

}  // namespace gpuready
