// The memory test while it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "health/memory/faults.h"
#include "health/memory/findings.h"
#include "health/memory/pass.h"
#include "health/memory/schedule.h"
#include "health/test_run.h"

namespace gpuready {

// test_memory.cc runs the schedule, step.cc each step of it, hammer.cc the repeated access;
// conclude.cc writes the verdict.
class MemoryTest final : public TestRun {
 public:
  MemoryTest(Device& device, const TestOptions& options, const TestHooks& hooks)
      : TestRun("memory", device, options, hooks),
        schedule_{options.level, options.seed ? *options.seed : random_u64(), options.hammer} {
    if (options.inject && is_memory_fault(options.inject->kind)) fault_ = options.inject;
  }

 private:
  Result<void> steps() override;
  void finish() override { findings_.add_to(verdict_, options_.max_reported); }
  Result<bool> run_round(std::size_t round);
  Result<bool> take_memory();
  Result<bool> run_pattern(const NamedPattern& pattern, const MemoryRound& round, bool first_round);
  bool time_is_up() const {
    return options_.duration_s && elapsed_ms(start_) >= *options_.duration_s * 1e3;
  }
  bool report_bytes(std::uint64_t done) const { return report(done, total_bytes_); }
  void tell_partial();

  // False when cancelled.
  Result<bool> run_step(const MemoryStep& step, bool faulty);
  Result<bool> write(const MemoryStep& step, bool faulty, const PassProgress& progress);
  Result<bool> verify(const MemoryStep& step, bool faulty, const PassProgress& progress);
  Result<bool> move(const MemoryStep& step, const PassProgress& progress);
  Result<bool> hammer(const PassProgress& progress);
  bool pause(double seconds);
  void now_holds(const MemoryPattern& pattern);
  WordSpan span_of(unsigned first_quarter, unsigned quarters) const;
  Result<void> judge(const MemoryStep& step, const VerifyResult& result, WordSpan span,
                     const MemoryPattern& expected);
  void note_rate(const std::string& name, double bytes, double ms);
  Result<void> measure_copy_rate();
  void conclude();
  std::string describe_pass() const;

  MemorySchedule schedule_;
  std::optional<Fault> fault_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0, target_bytes_ = 0;
  std::string pattern_name_, wrong_warm_up_;
  std::optional<MemoryPasses> passes_;
  std::optional<MemoryRanges> ranges_;
  MemoryFindings findings_;
  std::optional<MemoryPattern> before_;  // what the memory held before it was last written
  std::optional<MemoryPattern> held_;    // what it holds
  bool fully_verified_ = false;
  std::size_t passes_done_ = 0, passes_planned_ = 0, rounds_done_ = 0;
  std::map<std::string, std::pair<double, double>> part_rates_;  // bytes and ms so far of a name
  std::vector<std::string> patterns_done_;
  double copy_rate_ = 0, slowest_rate_ = 0, device_ms_ = 0;
};

}  // namespace gpuready
