// The compute test while it runs.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "health/compute/clock_tally.h"
#include "health/compute/launch.h"
#include "health/compute/speed.h"
#include "health/compute/tally.h"
#include "health/sm_rates.h"
#include "health/test_run.h"

namespace gpuready {

// An SM is slow when its best time is above this share of the median's best. The SMs of a GPU share
// one clock and count its cycles. Threads of a CPU share cores and caches with the rest of the
// machine, so that there more is allowed and more repeats are taken.
struct SlowRule {
  double ratio;
  std::size_t least_runs, most_runs;
};
inline constexpr SlowRule kGpuRule{1.10, 3, 10}, kCpuRule{1.5, 3, 24};

// One run of the test: test_compute.cc and launch.cc do the work, conclude.cc writes the verdict.
class ComputeTest final : public TestRun {
 public:
  ComputeTest(Device& device, const TestOptions& options, const TestHooks& hooks)
      : TestRun("compute", device, options, hooks),
        cpu_(device.info().executor == "cpu"),
        unnamed_units_(units_are_unnamed(device.info())),
        rule_(cpu_ ? kCpuRule : kGpuRule) {
    if (!unnamed_units_) verdict_.units = UnitCoverage{0, device.info().units};
    seed_ = options.seed ? *options.seed : random_u64();
  }

 private:
  Result<void> steps() override;
  Result<void> census();
  Result<void> round(std::uint64_t seed);
  Result<void> exact_round(std::uint64_t seed);
  Result<void> special_round(std::uint64_t seed, bool digest);
  Result<void> check_bounds(const ComputeWork& work, unsigned op, unsigned unit,
                            std::uint64_t checksum);
  Result<void> locate(const ComputeWork& work);
  Result<void> measure_speed();
  void note_clock(const std::map<unsigned, std::uint64_t>& ticks);
  Result<void> watch_slow_clock();
  Result<std::vector<std::uint64_t>> reference_of(const ComputeWork& work, const WrongSum& wrong);
  void judge_times(const UnitTimes& times);
  bool conclude();  // always false
  std::string describe_failure() const;

  bool go_on() {
    interrupted_ = !report(rounds_, rounds_total_) || interrupted_;
    return !interrupted_;
  }
  void add_mismatch(const Mismatch& mismatch) {
    ++verdict_.mismatches_total;
    if (verdict_.mismatches.size() < options_.max_reported) verdict_.mismatches.push_back(mismatch);
  }
  std::string unit_name(unsigned unit) const {
    return fmt::format("{} {}", cpu_ ? "CPU thread" : unnamed_units_ ? "work group" : "SM", unit);
  }
  std::string units_name() const {
    return cpu_ ? "CPU threads" : unnamed_units_ ? "work groups" : "SMs";
  }
  unsigned units_total() const { return launcher_ ? launcher_->blocks() : device_.info().units; }
  // Others' work on the same GPU may take its turn on some SMs and not on others.
  bool alone() const { return options_.reserve_free_bytes == 0; }
  // All of the GPU, which no comparison of its SMs shows.
  bool all_slow() const { return speed_rule_ && fma_per_cycle_ < speed_rule_->least(); }
  bool found_wrong() const {
    return !tally_.wrong.empty() || verdict_.mismatches_total > 0 || !slow_.empty() || all_slow() ||
           silent_blocks() + tally_.incomplete > 0;
  }
  // Of all launches, whatever they were for: one that did nothing is not tried again.
  std::uint64_t silent_blocks() const {
    return (launcher_ ? launcher_->silent_blocks() : 0) + silent_speeds_;
  }
  double seconds_wanted() const;

  const bool cpu_;
  const bool unnamed_units_;  // units are work groups, on whichever SM, and keep no time
  const SlowRule rule_;
  std::uint64_t seed_ = 0;
  std::optional<ComputeLauncher> launcher_;
  std::vector<unsigned> units_;  // seen by the census
  std::vector<unsigned> exact_ops_, special_ops_;
  std::optional<ComputeFault> fault_;
  ComputeTally tally_;
  std::vector<unsigned> slow_;
  ClockTally clock_;
  std::optional<SpeedMeter> speed_;
  std::optional<SmRateRule> speed_rule_;  // where it was measured and is judged
  double fma_per_cycle_ = 0;              // of the fastest SM
  std::uint64_t silent_speeds_ = 0;       // blocks of the speed's launches that left no record
  UnitTimes::Spread worst_;               // of the round with the largest ratio
  double largest_error_ = 0;
  std::size_t unrepeated_ = 0;
  std::uint64_t rounds_ = 0, rounds_total_ = 0;
  bool interrupted_ = false;
};

}  // namespace gpuready
