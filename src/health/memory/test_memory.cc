#include "health/memory/test_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/memory/run.h"

namespace gpuready {

Result<void> MemoryTest::steps() {
  report_bytes(0);
  auto passes = TRY(MemoryPasses::make(
      device_, StreamId{}, options_.max_launch_ms,
      std::clamp<std::size_t>(options_.max_reported, 1, kMemoryBadWordCapacity)));
  passes_.emplace(std::move(passes));
  wrong_warm_up_ = TRY(passes_->warm_up([&] { report_bytes(0); }));

  phase_ = "allocate";
  report_bytes(0);
  auto taken = TRY(take_memory());
  if (!taken) return {};
  if (fault_ && fault_->kind != FaultClass::alias) {
    TRY(passes_->set_faults(memory_fault_table(*fault_, ranges_->words())));
  }

  for (std::size_t round = 0;; ++round) {
    auto finished = TRY(run_round(round));
    if (!finished) return {};
    ++rounds_done_;
    if (options_.duration_s ? time_is_up() : rounds_done_ >= rounds_of(options_.level)) break;
  }
  conclude();
  return {};
}

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
    tell_partial();
    if (number > 0 && i > 0 && time_is_up()) return true;
    // After the first verify the memory is full of a pattern that no one needs any more, and of
    // every kind of word: what is copied there matters to a GPU's power, and so to its rate.
    if (number == 0 && i == 0 && options_.copy_traffic_bytes > 0 && !failed()) {
      TRY(measure_copy_rate());
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

void MemoryTest::tell_partial() {
  if (!hooks_.partial) return;
  Verdict so_far = verdict_;
  findings_.add_to(so_far, options_.max_reported);
  hooks_.partial(so_far);
}

// What may be taken of the free memory, taken. False when there is nothing; then the verdict says
// so.
Result<bool> MemoryTest::take_memory() {
  const auto [memory, target_bytes, take_bytes] = TRY(memory_share(device_, options_));
  verdict_.coverage = Coverage{0, memory.free_bytes, memory.total_bytes, {}};
  if (target_bytes == 0)
    return set(
        VerdictStatus::not_tested,
        fmt::format("only {} are free, and {} must be left to others",
                    format_bytes(memory.free_bytes), format_bytes(options_.reserve_free_bytes)));
  target_bytes_ = target_bytes;
  const bool aliased = fault_ && fault_->kind == FaultClass::alias;
  auto ranges = aliased ? allocate_aliased_ranges(device_, take_bytes, *fault_)
                        : allocate_ranges(device_, take_bytes);
  if (!ranges && aliased && ranges.error().kind == ErrorKind::unsupported)
    return set(VerdictStatus::not_supported, ranges.error().message);
  if (!ranges) return std::unexpected(ranges.error());
  if (ranges->bytes == 0)
    return set(VerdictStatus::not_tested,
               fmt::format("out of memory: {} are free but none of it was granted",
                           format_bytes(memory.free_bytes)));
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
    if (!*finished)
      return set(VerdictStatus::inconclusive,
                 fmt::format("interrupted during {}, {} of {} passes done", phase_, passes_done_,
                             passes_planned_));
    ++passes_done_;
  }
  if (std::find(patterns_done_.begin(), patterns_done_.end(), pattern.name) == patterns_done_.end())
    patterns_done_.push_back(pattern.name);
  return true;
}

Verdict test_memory(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return MemoryTest(device, options, hooks).run();
}

}  // namespace gpuready
