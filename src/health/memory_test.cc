#include "health/memory_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "health/memory_faults.h"
#include "health/memory_findings.h"
#include "health/memory_hammer.h"
#include "health/memory_pass.h"
#include "health/memory_schedule.h"
#include "kernels/memory_patterns.h"

namespace gpuready {
namespace {

constexpr double kLeastCoverage = 0.995;  // of the memory that was free and may be used
constexpr std::uint64_t kLeastCacheMultiple = 4;
constexpr double kPauseSliceMs = 50;

class MemoryTest {
 public:
  MemoryTest(Device& device, const TestOptions& options, const TestHooks& hooks)
      : device_(device), options_(options), hooks_(hooks) {
    verdict_ = begin_verdict("memory", device, options);
    schedule_.level = options.level;
    schedule_.seed = options.seed ? *options.seed : random_u64();
    schedule_.hammer = options.hammer;
    if (options.inject && is_memory_fault(options.inject->kind)) fault_ = options.inject;
  }

  Verdict run() {
    start_ = Clock::now();
    if (auto done = steps(); !done) {
      // Words already seen to be bad stay the verdict, whatever happened after.
      if (verdict_.status != VerdictStatus::failed)
        conclude_with_error(verdict_, device_, done.error(), phase_);
    }
    findings_.add_to(verdict_, options_.max_reported);
    verdict_.duration_ms = elapsed_ms(start_);
    return std::move(verdict_);
  }

 private:
  void set(VerdictStatus status, std::string reason) {
    // What failed first stays the reason.
    if (verdict_.status == VerdictStatus::failed) return;
    verdict_.status = status;
    verdict_.reason = std::move(reason);
  }
  bool failed() const { return verdict_.status == VerdictStatus::failed; }
  bool report(std::uint64_t done_bytes) const {
    if (hooks_.progress) hooks_.progress({phase_, done_bytes, total_bytes_});
    return !hooks_.cancelled();
  }
  void set_metric(std::string name, double value, std::string unit);
  void note_rate(const std::string& name, double bytes, double ms);
  WordSpan span_of(unsigned first_quarter, unsigned quarters) const;

  Result<void> steps();
  Result<bool> run_round(std::size_t round);
  Result<bool> take_memory();
  Result<bool> run_pattern(const NamedPattern& pattern, const MemoryRound& round, bool first_round);
  Result<bool> run_step(const MemoryStep& step, bool faulty);
  Result<bool> write(const MemoryStep& step, bool faulty, const PassProgress& progress);
  Result<bool> verify(const MemoryStep& step, bool faulty, const PassProgress& progress);
  Result<bool> move(const MemoryStep& step, const PassProgress& progress);
  Result<bool> hammer(const PassProgress& progress);
  bool pause(double seconds);
  Result<void> judge(const MemoryStep& step, const VerifyResult& result, WordSpan span,
                     const MemoryPattern& expected);
  Result<void> measure_copy_rate();
  void conclude();

  Device& device_;
  const TestOptions& options_;
  const TestHooks& hooks_;
  Verdict verdict_;
  MemorySchedule schedule_;
  std::optional<Fault> fault_;
  Clock::time_point start_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0, target_bytes_ = 0;
  std::string phase_ = "start", pattern_name_;
  std::optional<MemoryPasses> passes_;
  std::optional<MemoryRanges> ranges_;
  MemoryFindings findings_;
  MemoryPattern before_;  // what the memory held before it was last written
  MemoryPattern held_;    // what it holds
  bool anything_held_ = false, before_known_ = false, fully_verified_ = false;
  std::size_t passes_done_ = 0, passes_planned_ = 0, rounds_done_ = 0;
  std::map<std::string, std::pair<double, double>> part_rates_;  // bytes and ms so far of a name
  std::vector<std::string> patterns_done_;
  double copy_rate_ = 0, slowest_rate_ = 0, device_ms_ = 0;
};

void MemoryTest::set_metric(std::string name, double value, std::string unit) {
  for (Metric& metric : verdict_.metrics) {
    if (metric.name != name) continue;
    metric.value = value;
    return;
  }
  verdict_.metrics.push_back({std::move(name), value, std::move(unit), {}, {}});
}

// The rate of a name is that of all its passes of a round; of several rounds the slowest.
void MemoryTest::note_rate(const std::string& name, double bytes, double ms) {
  device_ms_ += ms;
  auto& [all_bytes, all_ms] = part_rates_[name];
  all_bytes += bytes;
  all_ms += ms;
  if (all_ms > 0) set_metric(name, all_bytes / (all_ms / 1e3), "B/s");
}

// Quarters of whole groups of words, so that every part is even; the few words that are left over
// belong to no quarter.
WordSpan MemoryTest::span_of(unsigned first_quarter, unsigned quarters) const {
  if (quarters == 4) return {0, ranges_->words()};
  const std::uint64_t quarter = ranges_->words() / 4 / 2 * 2;
  return {first_quarter * quarter, quarters * quarter};
}

Result<void> MemoryTest::steps() {
  report(0);
  auto passes =
      MemoryPasses::make(device_, StreamId{}, options_.max_launch_ms,
                         std::clamp<std::size_t>(options_.max_reported, 1, kMemoryBadWordCapacity));
  if (!passes) return std::unexpected(passes.error());
  passes_.emplace(std::move(*passes));
  if (auto warm = passes_->warm_up(); !warm) return warm;

  phase_ = "allocate";
  report(0);
  auto taken = take_memory();
  if (!taken) return std::unexpected(taken.error());
  if (!*taken) return {};
  if (fault_ && fault_->kind != FaultClass::alias) {
    auto set = passes_->set_faults(memory_fault_table(*fault_, ranges_->words()));
    if (!set) return set;
  }

  for (std::size_t round = 0;; ++round) {
    auto finished = run_round(round);
    if (!finished) return std::unexpected(finished.error());
    if (!*finished) return {};
    ++rounds_done_;
    const bool time_left = options_.duration_s && elapsed_ms(start_) < *options_.duration_s * 1e3;
    if (options_.duration_s ? !time_left : rounds_done_ >= rounds_of(options_.level)) break;
  }
  conclude();
  return {};
}

// False ends the test; the verdict is then set.
Result<bool> MemoryTest::run_round(std::size_t number) {
  const MemoryRound round = make_round(schedule_, number);
  part_rates_.clear();
  done_bytes_ = total_bytes_ = passes_planned_ = passes_done_ = 0;
  for (const NamedPattern& pattern : round.patterns) {
    for (const MemoryStep& step : pattern.steps) {
      total_bytes_ += span_of(step.first_quarter, step.quarters).words * 8;
      ++passes_planned_;
    }
  }
  const double ms_before = device_ms_;
  for (std::size_t i = 0; i < round.patterns.size(); ++i) {
    auto finished = run_pattern(round.patterns[i], round, number == 0);
    if (!finished || !*finished) return finished;
    // The complement is read even where the pattern was bad: a stuck bit may show in either.
    if (failed() && i > 0) return false;
    if (hooks_.partial) {
      Verdict so_far = verdict_;
      findings_.add_to(so_far, options_.max_reported);
      hooks_.partial(so_far);
    }
    if (number > 0 && i > 0 && options_.duration_s &&
        elapsed_ms(start_) >= *options_.duration_s * 1e3)
      return true;
    // After the first verify the memory is full of a pattern that nobody needs any more, and of
    // every kind of word: what is copied there matters to a GPU's power, and so to its rate.
    if (number == 0 && i == 0 && options_.copy_traffic_bytes > 0) {
      if (auto done = measure_copy_rate(); !done) return std::unexpected(done.error());
    }
  }
  if (number == 0) set_metric("pattern_device_time", device_ms_ - ms_before, "ms");
  for (const auto& [name, part] : part_rates_) {
    if (part.second <= 0) continue;
    const double rate = part.first / (part.second / 1e3);
    slowest_rate_ = slowest_rate_ == 0 ? rate : std::min(slowest_rate_, rate);
  }
  return true;
}

// What may be taken of the free memory, taken. False when there is nothing; then the verdict says
// so.
Result<bool> MemoryTest::take_memory() {
  auto memory = device_.memory();
  if (!memory) return std::unexpected(memory.error());
  verdict_.coverage = Coverage{0, memory->free_bytes, memory->total_bytes, {}};
  if (memory->free_bytes <= options_.reserve_free_bytes) {
    set(VerdictStatus::not_tested,
        fmt::format("only {} are free, and {} must be left to others",
                    format_bytes(memory->free_bytes), format_bytes(options_.reserve_free_bytes)));
    return false;
  }
  target_bytes_ = memory->free_bytes - options_.reserve_free_bytes;
  std::uint64_t ask_bytes = target_bytes_ - launch_reserve_bytes(target_bytes_);
  if (options_.max_bytes && *options_.max_bytes < ask_bytes) {
    target_bytes_ = ask_bytes = *options_.max_bytes;
  }
  auto ranges = fault_ && fault_->kind == FaultClass::alias
                    ? allocate_aliased_ranges(device_, ask_bytes, *fault_)
                    : allocate_ranges(device_, ask_bytes);
  if (!ranges) return std::unexpected(ranges.error());
  if (ranges->bytes == 0) {
    set(VerdictStatus::not_tested,
        fmt::format("out of memory: {} are free but none of it was granted",
                    format_bytes(memory->free_bytes)));
    return false;
  }
  ranges_ = std::move(*ranges);
  return true;
}

Result<bool> MemoryTest::run_pattern(const NamedPattern& pattern, const MemoryRound& round,
                                     bool first_round) {
  pattern_name_ = pattern.name;
  const auto chosen = fault_ ? faulty_write(*fault_, round.writes) : std::nullopt;
  for (const MemoryStep& step : pattern.steps) {
    const bool faulty = fault_ && (!chosen || (first_round && *chosen == step.write));
    phase_ = step.phase;
    auto finished = run_step(step, faulty);
    if (!finished) return finished;
    if (!*finished) {
      set(VerdictStatus::inconclusive, fmt::format("interrupted during {}, {} of {} passes done",
                                                   phase_, passes_done_, passes_planned_));
      return false;
    }
    ++passes_done_;
  }
  if (std::find(patterns_done_.begin(), patterns_done_.end(), pattern.name) == patterns_done_.end())
    patterns_done_.push_back(pattern.name);
  return true;
}

// False when cancelled.
Result<bool> MemoryTest::run_step(const MemoryStep& step, bool faulty) {
  const PassProgress progress = [&](std::uint64_t done) { return report(done_bytes_ + done); };
  if (!report(done_bytes_)) return false;
  Result<bool> finished = true;
  switch (step.kind) {
    case MemoryPassKind::write:
      finished = write(step, faulty, progress);
      break;
    case MemoryPassKind::verify:
    case MemoryPassKind::invert:
      finished = verify(step, faulty, progress);
      break;
    case MemoryPassKind::move_engine:
    case MemoryPassKind::move_kernel:
      finished = move(step, progress);
      break;
    case MemoryPassKind::hammer:
      finished = hammer(progress);
      break;
    case MemoryPassKind::pause:
      finished = pause(step.pause_s);
      break;
  }
  done_bytes_ += span_of(step.first_quarter, step.quarters).words * 8;
  return finished;
}

Result<bool> MemoryTest::write(const MemoryStep& step, bool faulty, const PassProgress& progress) {
  auto ms =
      passes_->write(*ranges_, step.pattern, {step.select, step.descending, faulty}, progress);
  if (!ms) return std::unexpected(ms.error());
  if (!*ms) return false;
  if (step.select != kWriteOthers) {
    before_ = held_;
    before_known_ = anything_held_;
    held_ = step.pattern;
    anything_held_ = true;
  }
  constexpr double kOthers = (kModuloGroups - 1.0) / kModuloGroups;
  const double share = step.select == kWriteOthers ? kOthers : 1;
  note_rate(step.rate_name, share * static_cast<double>(ranges_->bytes), **ms);
  return true;
}

Result<bool> MemoryTest::verify(const MemoryStep& step, bool faulty, const PassProgress& progress) {
  const WordSpan span = span_of(step.first_quarter, step.quarters);
  MemoryPattern expected = step.pattern;
  // Words that were moved are those of the place that they came from.
  if (step.quarters != 4)
    expected.salt += span_of(step.source_quarter, step.quarters).first - span.first;
  const bool inverts = step.kind == MemoryPassKind::invert;
  auto result =
      inverts ? passes_->invert(*ranges_, expected, {kWriteAll, step.descending, faulty}, progress)
              : passes_->verify(*ranges_, expected, span, progress);
  if (!result) return std::unexpected(result.error());
  if (!*result) return false;
  const double bytes = static_cast<double>(span.words) * 8;
  note_rate(step.rate_name, inverts ? 2 * bytes : bytes, (*result)->ms);
  if (auto judged = judge(step, **result, span, expected); !judged)
    return std::unexpected(judged.error());
  if (inverts) {
    before_ = held_;
    before_known_ = anything_held_;
    held_ = expected.inverted();
    anything_held_ = true;
  }
  return true;
}

Result<bool> MemoryTest::move(const MemoryStep& step, const PassProgress& progress) {
  const WordSpan target = span_of(step.first_quarter, step.quarters);
  auto ms = passes_->move(*ranges_, target, span_of(step.source_quarter, step.quarters).first,
                          step.kind == MemoryPassKind::move_kernel, progress);
  if (!ms) return std::unexpected(ms.error());
  if (!*ms) return false;
  note_rate(step.rate_name, static_cast<double>(target.words) * 16, **ms);
  return true;
}

Result<bool> MemoryTest::hammer(const PassProgress& progress) {
  if (options_.reserve_free_bytes > 0) {
    set(VerdictStatus::inconclusive,
        "repeated access is for a GPU that is used by nobody else; it was left out");
    return true;
  }
  auto result = hammer_memory(*passes_, device_, *ranges_, progress);
  if (!result) return std::unexpected(result.error());
  if (hooks_.cancelled()) return false;
  if (!*result) {
    set(VerdictStatus::inconclusive,
        "repeated access was asked for, but the memory is too little to go past the cache with");
    return true;
  }
  const HammerResult& hammered = **result;
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

// False when cancelled.
bool MemoryTest::pause(double seconds) {
  const auto from = Clock::now();
  while (elapsed_ms(from) < seconds * 1e3) {
    if (!report(done_bytes_)) return false;
    const double left_ms = std::clamp(seconds * 1e3 - elapsed_ms(from), 0.0, kPauseSliceMs);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(left_ms));
  }
  return true;
}

// Holds what the device counted and summed against what a good pass must give.
Result<void> MemoryTest::judge(const MemoryStep& step, const VerifyResult& result, WordSpan span,
                               const MemoryPattern& expected) {
  const bool whole = step.quarters == 4;
  std::uint64_t& tested = verdict_.coverage->tested_bytes;
  // Coverage is what every pass over the whole has read.
  if (whole) tested = fully_verified_ ? std::min(tested, result.words * 8) : result.words * 8;
  fully_verified_ = fully_verified_ || whole;
  const std::uint64_t sum = predicted_name_sum(expected, span.first, span.words);
  if (result.bad_words > 0) {
    std::vector<std::uint64_t> again;
    if (step.kind == MemoryPassKind::verify) {
      auto read = passes_->read_again(*ranges_, result.lowest);
      if (!read) return std::unexpected(read.error());
      again = std::move(*read);
    }
    findings_.add(pattern_name_, result, again, expected,
                  before_known_ ? std::optional(before_) : std::nullopt);
    set(VerdictStatus::failed, findings_.describe(ranges_->words()));
  } else if (result.words != span.words) {
    set(VerdictStatus::failed,
        fmt::format("{}: the device verified {} words where {} were to be verified", phase_,
                    result.words, span.words));
  } else if (result.name_sum != sum) {
    set(VerdictStatus::failed,
        fmt::format(
            "{}: the checksum of the words read is {:#x}, not {:#x}, though none was seen to "
            "be bad: reads do not repeat, or the device counts wrongly",
            phase_, result.name_sum, sum));
  }
  if (findings_.any()) verdict_.reason = findings_.describe(ranges_->words());
  return {};
}

Result<void> MemoryTest::measure_copy_rate() {
  phase_ = "copy rate";
  report(done_bytes_);
  constexpr std::array<std::pair<bool, const char*>, 2> kWays = {
      {{false, "copy_rate_driver"}, {true, "copy_rate_kernel"}}};
  for (const auto& [by_kernel, name] : kWays) {
    auto rate = passes_->copy_rate(*ranges_, options_.copy_traffic_bytes, by_kernel);
    if (!rate) return std::unexpected(rate.error());
    if (!*rate) continue;
    set_metric(name, **rate, "B/s");
    copy_rate_ = std::max(copy_rate_, **rate);
  }
  if (copy_rate_ > 0) set_metric("copy_rate", copy_rate_, "B/s");
  return {};
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
  // A small range that is asked for may be rounded to whole allocation units.
  const bool enough =
      fraction >= kLeastCoverage || target_bytes_ - coverage.tested_bytes < 64 * KiB;
  if (!enough) {
    set(VerdictStatus::inconclusive,
        fmt::format("no error, but only {} of {} that should have been free were granted",
                    format_bytes(coverage.tested_bytes), format_bytes(target_bytes_)));
    return;
  }
  const std::string tested = format_bytes(coverage.tested_bytes);
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
