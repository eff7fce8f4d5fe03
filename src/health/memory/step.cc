// The steps of the memory test: a pass over the memory each, and what is seen in it judged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "health/memory/run.h"
#include "kernel_abi/memory_patterns.h"

namespace gpuready {
namespace {

constexpr double kPauseSliceMs = 50;

}  // namespace

// Quarters of whole groups of words, so that every part is even; the few words that are left over
// belong to no quarter.
WordSpan MemoryTest::span_of(unsigned first_quarter, unsigned quarters) const {
  if (quarters == 4) return {0, ranges_->words()};
  const std::uint64_t quarter = ranges_->words() / 4 / 2 * 2;
  return {first_quarter * quarter, quarters * quarter};
}

Result<bool> MemoryTest::run_step(const MemoryStep& step, bool faulty) {
  const PassProgress progress = [&](std::uint64_t done) {
    return report_bytes(done_bytes_ + done);
  };
  if (!report_bytes(done_bytes_)) return false;
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
      TRY(passes_->write(*ranges_, step.pattern, {step.select, step.descending, faulty}, progress));
  if (!ms) return false;
  if (step.select != kWriteOthers) now_holds(step.pattern);
  constexpr double kOthers = (kModuloGroups - 1.0) / kModuloGroups;
  const double share = step.select == kWriteOthers ? kOthers : 1;
  note_rate(step.rate_name, share * static_cast<double>(ranges_->bytes), *ms);
  return true;
}

Result<bool> MemoryTest::verify(const MemoryStep& step, bool faulty, const PassProgress& progress) {
  const WordSpan span = span_of(step.first_quarter, step.quarters);
  MemoryPattern expected = step.pattern;
  // Words that were moved are those of the place that they came from.
  if (step.quarters != 4)
    expected.salt += span_of(step.source_quarter, step.quarters).first - span.first;
  const bool inverts = step.kind == MemoryPassKind::invert;
  auto result = TRY(
      inverts ? passes_->invert(*ranges_, expected, {kWriteAll, step.descending, faulty}, progress)
              : passes_->verify(*ranges_, expected, span, progress));
  if (!result) return false;
  const double bytes = static_cast<double>(span.words) * 8;
  note_rate(step.rate_name, inverts ? 2 * bytes : bytes, result->ms);
  TRY(judge(step, *result, span, expected));
  if (inverts) now_holds(expected.inverted());
  return true;
}

Result<bool> MemoryTest::move(const MemoryStep& step, const PassProgress& progress) {
  const WordSpan target = span_of(step.first_quarter, step.quarters);
  auto ms = TRY(passes_->move(*ranges_, target, span_of(step.source_quarter, step.quarters).first,
                              step.kind == MemoryPassKind::move_kernel, progress));
  if (!ms) return false;
  note_rate(step.rate_name, static_cast<double>(target.words) * 16, *ms);
  return true;
}

void MemoryTest::now_holds(const MemoryPattern& pattern) {
  before_ = held_;
  held_ = pattern;
}

bool MemoryTest::pause(double seconds) {
  const auto from = Clock::now();
  while (elapsed_ms(from) < seconds * 1e3) {
    if (!report_bytes(done_bytes_)) return false;
    const double left_ms = std::clamp(seconds * 1e3 - elapsed_ms(from), 0.0, kPauseSliceMs);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(left_ms));
  }
  return true;
}

// The rate of a name is that of all its passes of a round; of several rounds the slowest.
void MemoryTest::note_rate(const std::string& name, double bytes, double ms) {
  device_ms_ += ms;
  auto& [all_bytes, all_ms] = part_rates_[name];
  all_bytes += bytes;
  all_ms += ms;
  if (all_ms > 0) set_metric(name, all_bytes / (all_ms / 1e3), "B/s");
}

// Holds what the device counted and summed against what a good pass must give.
Result<void> MemoryTest::judge(const MemoryStep& step, const VerifyResult& result, WordSpan span,
                               const MemoryPattern& expected) {
  const bool whole = step.quarters == 4;
  std::uint64_t& tested = verdict_.coverage->tested_bytes;
  // Coverage is what every pass over the whole has read.
  if (whole) tested = fully_verified_ ? std::min(tested, result.words * 8) : result.words * 8;
  fully_verified_ = fully_verified_ || whole;
  if (result.bad_words > 0) {
    std::vector<std::uint64_t> again;
    if (step.kind == MemoryPassKind::verify) {
      again = TRY(passes_->read_again(*ranges_, result.lowest));
    }
    findings_.add(pattern_name_, result, again, expected, before_);
    set(VerdictStatus::failed, findings_.describe(ranges_->words()));
  } else if (const std::string wrong = wrong_pass(result, expected, span); !wrong.empty()) {
    set(VerdictStatus::failed, fmt::format("{}: {}", phase_, wrong));
  }
  if (findings_.any()) verdict_.reason = findings_.describe(ranges_->words());
  return {};
}

}  // namespace gpuready
