#include "health/memory_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/random.h"
#include "health/memory_pass.h"
#include "kernels/memory_mix.h"

namespace gpuready {
namespace {

constexpr double kLeastCoverage = 0.995;  // of the memory that was free and may be used
constexpr std::uint64_t kLeastCacheMultiple = 4;

struct Phase {
  std::string_view progress, rate_name, pattern;
  bool complement, verify;
};
constexpr std::array<Phase, 4> kPhases = {{
    {"write", "write_address_rate", "address", false, false},
    {"verify", "verify_address_rate", "address", false, true},
    {"write complement", "write_complement_rate", "complement", true, false},
    {"verify complement", "verify_complement_rate", "complement", true, true},
}};

class MemoryTest {
 public:
  MemoryTest(Device& device, const TestOptions& options, const TestHooks& hooks)
      : device_(device), options_(options), hooks_(hooks) {
    verdict_ = begin_verdict("memory", device, options);
    salt_ = options.seed ? *options.seed : random_u64();
  }

  Verdict run() {
    const auto start = Clock::now();
    if (auto done = steps(); !done) {
      // Words already seen to be bad stay the verdict, whatever happened after.
      if (verdict_.bad_words_total == 0)
        conclude_with_error(verdict_, device_, done.error(), phase_);
    }
    verdict_.duration_ms = elapsed_ms(start);
    return std::move(verdict_);
  }

 private:
  void set(VerdictStatus status, std::string reason) {
    verdict_.status = status;
    verdict_.reason = std::move(reason);
  }
  bool report(std::uint64_t done_bytes) const {
    if (hooks_.progress) hooks_.progress({phase_, done_bytes, total_bytes_});
    return !hooks_.cancelled();
  }
  void add_rate(std::string_view name, double bytes, double ms) {
    if (ms > 0) verdict_.metrics.push_back({std::string(name), bytes / (ms / 1e3), "B/s", {}, {}});
  }

  Result<void> steps();
  Result<std::optional<MemoryRanges>> take_memory();
  Result<bool> run_phase(const Phase& phase, std::uint64_t phases_done);
  bool judge(const Phase& phase, const VerifyResult& result);
  Result<void> measure_copy_rate();
  void conclude();
  std::string describe_bad_words(const VerifyResult& result, bool complement) const;

  Device& device_;
  const TestOptions& options_;
  const TestHooks& hooks_;
  Verdict verdict_;
  std::uint64_t salt_ = 0, total_bytes_ = 0, target_bytes_ = 0;
  std::string_view phase_ = "start";
  std::optional<MemoryPasses> passes_;
  std::optional<MemoryRanges> ranges_;
  double copy_rate_ = 0, slowest_rate_ = 0;
};

Result<void> MemoryTest::steps() {
  report(0);
  auto passes = MemoryPasses::make(device_, StreamId{}, options_.max_launch_ms,
                                   std::max(1u, options_.blocks_per_unit));
  if (!passes) return std::unexpected(passes.error());
  passes_.emplace(std::move(*passes));
  if (auto warm = passes_->warm_up(); !warm) return warm;

  phase_ = "allocate";
  report(0);
  auto ranges = take_memory();
  if (!ranges) return std::unexpected(ranges.error());
  if (!*ranges) return {};
  ranges_ = std::move(*ranges);
  total_bytes_ = ranges_->bytes * kPhases.size();

  bool good = true;
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    auto finished = run_phase(kPhases[i], i);
    if (!finished) return std::unexpected(finished.error());
    if (!*finished) {
      good = false;
      break;
    }
    if (hooks_.partial) hooks_.partial(verdict_);
    // After the first verify the memory is full of a pattern that nobody needs any more, and of
    // every kind of word: what is copied there matters to a GPU's power, and so to its rate.
    if (i == 1 && options_.copy_traffic_bytes > 0) {
      if (auto done = measure_copy_rate(); !done) return done;
    }
  }
  if (good) conclude();
  return {};
}

// What may be taken of the free memory, taken. Nothing when there is nothing; then the verdict says
// so.
Result<std::optional<MemoryRanges>> MemoryTest::take_memory() {
  auto memory = device_.memory();
  if (!memory) return std::unexpected(memory.error());
  verdict_.coverage = Coverage{0, memory->free_bytes, memory->total_bytes, {}};
  if (memory->free_bytes <= options_.reserve_free_bytes) {
    set(VerdictStatus::not_tested,
        fmt::format("only {} are free, and {} must be left to others",
                    format_bytes(memory->free_bytes), format_bytes(options_.reserve_free_bytes)));
    return std::optional<MemoryRanges>();
  }
  target_bytes_ = memory->free_bytes - options_.reserve_free_bytes;
  std::uint64_t ask_bytes = target_bytes_ - launch_reserve_bytes(target_bytes_);
  if (options_.max_bytes && *options_.max_bytes < ask_bytes) {
    target_bytes_ = ask_bytes = *options_.max_bytes;
  }
  auto ranges = allocate_ranges(device_, ask_bytes);
  if (!ranges) return std::unexpected(ranges.error());
  if (ranges->bytes == 0) {
    set(VerdictStatus::not_tested,
        fmt::format("out of memory: {} are free but none of it was granted",
                    format_bytes(memory->free_bytes)));
    return std::optional<MemoryRanges>();
  }
  return std::optional(std::move(*ranges));
}

// False ends the test; the verdict is then set.
Result<bool> MemoryTest::run_phase(const Phase& phase, std::uint64_t phases_done) {
  phase_ = phase.progress;
  const std::uint64_t before_bytes = phases_done * ranges_->bytes;
  const auto progress = [&](std::uint64_t done) { return report(before_bytes + done); };
  const MemoryPattern pattern{salt_, phase.complement};
  const auto interrupted = [&] {
    set(VerdictStatus::inconclusive, fmt::format("interrupted during {}, {} of {} passes done",
                                                 phase_, phases_done, kPhases.size()));
    return false;
  };
  if (!report(before_bytes)) return interrupted();

  double ms = 0;
  bool good = true;
  if (phase.verify) {
    auto verified = passes_->verify(*ranges_, pattern, progress);
    if (!verified) return std::unexpected(verified.error());
    if (!*verified) return interrupted();
    ms = (*verified)->ms;
    good = judge(phase, **verified);
  } else {
    std::optional<MemoryFault> fault;
    if (options_.inject && options_.inject->kind == FaultClass::bitflip && !phase.complement)
      fault = MemoryFault{options_.inject->seed % ranges_->words(),
                          std::uint64_t{1} << options_.inject->seed / ranges_->words() % 64};
    auto written = passes_->write(*ranges_, pattern, fault, progress);
    if (!written) return std::unexpected(written.error());
    if (!*written) return interrupted();
    ms = **written;
  }
  const auto bytes = static_cast<double>(ranges_->bytes);
  add_rate(phase.rate_name, bytes, ms);
  if (ms > 0) {
    const double rate = bytes / (ms / 1e3);
    slowest_rate_ = slowest_rate_ == 0 ? rate : std::min(slowest_rate_, rate);
  }
  return good;
}

// Holds what the device counted and summed against what a good pass must give.
bool MemoryTest::judge(const Phase& phase, const VerifyResult& result) {
  const std::uint64_t words = ranges_->words();
  std::uint64_t& tested = verdict_.coverage->tested_bytes;
  // Coverage is what both verify passes have read.
  tested = phase.complement ? std::min(tested, result.words * 8) : result.words * 8;
  verdict_.bad_words_total += result.bad_words;
  for (const MemoryBadWord& word : result.lowest) {
    verdict_.bad_words.push_back(
        {word.index * 8, word.expected, word.actual, std::string(phase.pattern), {}});
  }
  if (result.bad_words > 0) {
    set(VerdictStatus::failed, describe_bad_words(result, phase.complement));
  } else if (result.words != words) {
    set(VerdictStatus::failed,
        fmt::format("{}: the device verified {} words where {} were to be verified", phase_,
                    result.words, words));
  } else if (result.position_sum != predicted_position_sum(words, salt_)) {
    set(VerdictStatus::failed,
        fmt::format(
            "{}: the checksum of the words read is {:#x}, not {:#x}, though none was seen to "
            "be bad: reads do not repeat, or the device counts wrongly",
            phase_, result.position_sum, predicted_position_sum(words, salt_)));
  } else {
    return true;
  }
  return false;
}

std::string MemoryTest::describe_bad_words(const VerifyResult& result, bool complement) const {
  std::string text = fmt::format("{} of {} words did not read back as written", result.bad_words,
                                 ranges_->words());
  if (result.lowest.empty()) return text;
  const MemoryBadWord& first = result.lowest.front();
  text += fmt::format("; the first at offset {:#x}: {:#018x} instead of {:#018x} (bits {:#x})",
                      first.index * 8, first.actual, first.expected, first.actual ^ first.expected);
  // A word that was written for another address tells more than its bits.
  const std::uint64_t owner = unmix_word(first.actual, complement ? ~0ull : 0) - salt_;
  const std::uint64_t old = unmix_word(first.actual, complement ? 0 : ~0ull) - salt_;
  if (owner < ranges_->words()) {
    text +=
        fmt::format("; that is the word of offset {:#x}: two addresses share one cell", owner * 8);
  } else if (complement && old == first.index) {
    text += "; that is what was there before: the write was lost";
  }
  return text;
}

Result<void> MemoryTest::measure_copy_rate() {
  phase_ = "copy rate";
  report(2 * ranges_->bytes);
  constexpr std::array<std::pair<bool, const char*>, 2> kWays = {
      {{false, "copy_rate_driver"}, {true, "copy_rate_kernel"}}};
  for (const auto& [by_kernel, name] : kWays) {
    auto rate = passes_->copy_rate(*ranges_, options_.copy_traffic_bytes, by_kernel);
    if (!rate) return std::unexpected(rate.error());
    if (!*rate) continue;
    verdict_.metrics.push_back({name, **rate, "B/s", {}, {}});
    copy_rate_ = std::max(copy_rate_, **rate);
  }
  if (copy_rate_ > 0) verdict_.metrics.push_back({"copy_rate", copy_rate_, "B/s", {}, {}});
  return {};
}

// Every pass was good; what remains is whether enough was tested.
void MemoryTest::conclude() {
  const Coverage& coverage = *verdict_.coverage;
  const double fraction =
      static_cast<double>(coverage.tested_bytes) / static_cast<double>(target_bytes_);
  verdict_.metrics.push_back({"coverage", fraction, "1", kLeastCoverage,
                              "the memory test's own rule, of the memory that it may take"});
  if (copy_rate_ > 0 && slowest_rate_ > 0) {
    verdict_.metrics.push_back({"slowest_pass_to_copy", slowest_rate_ / copy_rate_, "1", {}, {}});
  }
  // A small range that is asked for may be rounded to whole allocation units.
  const bool enough =
      fraction >= kLeastCoverage || target_bytes_ - coverage.tested_bytes < 64 * KiB;
  if (!enough) {
    set(VerdictStatus::inconclusive,
        fmt::format("no error, but only {} of {} that should have been free were granted",
                    format_bytes(coverage.tested_bytes), format_bytes(target_bytes_)));
    return;
  }
  std::string reason = fmt::format(
      "{} written and read back twice, each word unique to its address, "
      "then its complement",
      format_bytes(coverage.tested_bytes));
  const auto& cache = device_.info().l2_cache_bytes;
  if (cache && coverage.tested_bytes < kLeastCacheMultiple * *cache) {
    reason += fmt::format(
        "; less than {} times the L2 cache of {}, which may have answered for part "
        "of it",
        kLeastCacheMultiple, format_bytes(*cache));
  }
  set(VerdictStatus::passed, std::move(reason));
}

}  // namespace

Verdict test_memory(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return MemoryTest(device, options, hooks).run();
}

}  // namespace gpuready
