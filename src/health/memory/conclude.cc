// What the memory test says in the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "health/memory/run.h"

namespace gpuready {
namespace {

constexpr double kLeastCoverage = 0.995;  // of the memory that was free and may be used
constexpr std::uint64_t kLeastCacheMultiple = 4;

}  // namespace

// The first half is copied into the second, half of it by each way: a part to warm up, the others
// timed. No word is copied twice, and each is verified where it arrived.
Result<void> MemoryTest::measure_copy_rate() {
  phase_ = pattern_name_ = "copy rate";
  report_bytes(done_bytes_);
  constexpr std::uint64_t kPageWords = 4 * KiB / 8;
  constexpr std::array<std::pair<bool, const char*>, 2> kWays = {
      {{false, "copy_rate_driver"}, {true, "copy_rate_kernel"}}};
  const std::uint64_t quarter = ranges_->words() / 4 / kPageWords * kPageWords, half = 2 * quarter;
  const std::uint64_t words =
      std::min(quarter, options_.copy_traffic_bytes / 2 / 8 / kPageWords * kPageWords);
  const std::uint64_t warm_up = words / 8 / kPageWords * kPageWords, timed = words - warm_up;
  if (timed == 0) return {};
  std::uint64_t source = 0;
  for (const auto& [by_kernel, name] : kWays) {
    TRY(passes_->move(*ranges_, {half + source, warm_up}, source, by_kernel, nullptr));
    source += warm_up;
    const auto ms =
        TRY(passes_->move(*ranges_, {half + source, timed}, source, by_kernel, nullptr));
    source += timed;
    if (*ms <= 0) continue;
    const double rate = static_cast<double>(timed) * 16 / (*ms / 1e3);
    set_metric(name, rate, "B/s");
    copy_rate_ = std::max(copy_rate_, rate);
  }
  if (copy_rate_ > 0) set_metric("copy_rate", copy_rate_, "B/s");
  MemoryPattern expected = *held_;
  expected.salt -= half;
  const WordSpan span{half, source};
  MemoryStep step;
  step.kind = MemoryPassKind::verify;
  step.quarters = 2;
  const auto result = TRY(passes_->verify(*ranges_, expected, span, nullptr));
  return judge(step, *result, span, expected);
}

// Every pass was good; what remains is whether enough was tested.
void MemoryTest::conclude() {
  const Coverage& coverage = *verdict_.coverage;
  const double fraction =
      static_cast<double>(coverage.tested_bytes) / static_cast<double>(target_bytes_);
  verdict_.metrics.push_back({"coverage", fraction, "1", kLeastCoverage,
                              "the memory test's own rule, of the memory that it may take"});
  if (copy_rate_ > 0 && slowest_rate_ > 0)
    set_metric("slowest_pass_to_copy", slowest_rate_ / copy_rate_, "1");
  if (verdict_.status == VerdictStatus::inconclusive) return;  // what was asked for was not done
  if (!wrong_warm_up_.empty()) {
    set(VerdictStatus::failed, "before the memory was taken: " + wrong_warm_up_);
    return;
  }
  // A small range that is asked for may be rounded to whole allocation units.
  const bool enough =
      fraction >= kLeastCoverage || target_bytes_ - coverage.tested_bytes < 64 * KiB;
  if (enough)
    set(VerdictStatus::passed, describe_pass());
  else
    set(VerdictStatus::inconclusive,
        fmt::format("no error, but only {} of {} that should have been free were granted",
                    format_bytes(coverage.tested_bytes), format_bytes(target_bytes_)));
}

std::string MemoryTest::describe_pass() const {
  const std::uint64_t tested_bytes = verdict_.coverage->tested_bytes;
  const std::string tested = format_bytes(tested_bytes);
  std::string reason =
      patterns_done_.size() <= 2
          ? fmt::format(
                "{} written and read back twice, each word unique to its address, then "
                "its complement",
                tested)
          : fmt::format("{} written and read back in {} patterns ({})", tested,
                        patterns_done_.size(), join(patterns_done_, ", "));
  if (rounds_done_ > 1) reason += fmt::format(", {} rounds", rounds_done_);
  const auto& cache = device_.info().l2_cache_bytes;
  if (cache && tested_bytes < kLeastCacheMultiple * *cache) {
    reason += fmt::format(
        "; less than {} times the L2 cache of {}, which may have answered for part "
        "of it",
        kLeastCacheMultiple, format_bytes(*cache));
  }
  return reason;
}

}  // namespace gpuready
