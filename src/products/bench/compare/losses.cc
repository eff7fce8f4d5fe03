#include "bench/compare/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gpuready::bench {
namespace {

enum Kind { kFailed, kOtherWork, kNotBelievable, kUnavailable, kEmpty, kMissing, kKinds };

struct KindText {
  const char *one, *more;
};
constexpr std::array<KindText, kKinds> kTexts = {{{"failed", "failed"},
                                                  {"did other work", "did other work"},
                                                  {"cannot be true", "cannot be true"},
                                                  {"could not be run", "could not be run"},
                                                  {"has no valid sample", "have no valid sample"},
                                                  {"is missing", "are missing"}}};

Kind kind_of(StackStatus status) {
  switch (status) {
    case StackStatus::error:
      return kFailed;
    case StackStatus::different_work:
      return kOtherWork;
    case StackStatus::not_believable:
      return kNotBelievable;
    case StackStatus::unavailable:
      return kUnavailable;
    case StackStatus::ok:
    case StackStatus::no_valid_samples:
      break;
  }
  return kEmpty;
}

// How often something of a kind was lost, and the first reason that was given.
struct Tally {
  std::uint64_t count = 0;
  std::string reason;
  void add(const std::string& why, std::uint64_t number = 1) {
    count += number;
    if (reason.empty()) reason = why;
  }
};
using Tallies = std::array<Tally, kKinds>;

void tell(Losses& losses, const Tallies& tallies, std::uint64_t all, const char* what,
          std::string_view stack) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const auto& [count, reason] = tallies[kind];
    if (count == 0) continue;
    losses.reasons.push_back(fmt::format(
        "{} of {} {}{} of {} {}{}{}", count, all, what, all == 1 ? "" : "s", stack,
        count == 1 ? kTexts[kind].one : kTexts[kind].more, reason.empty() ? "" : ": ", reason));
    if (kind == kFailed || kind == kOtherWork || kind == kNotBelievable) losses.failures += count;
  }
}

bool has_figures(const Repeat& repeat) {
  return repeat.status == StackStatus::ok &&
         (repeat.samples_ns.empty() ? repeat.reported.p50_ns || repeat.reported.mean_ns
                                    : !repeat.valid_samples().empty());
}

}  // namespace

Losses losses_of(std::span<const RunRecord> runs, std::string_view stack) {
  Losses losses;
  Tallies of_runs, of_repeats;
  std::uint64_t samples = 0;
  losses.runs = runs.size();
  for (const auto& run : runs) {
    const StackResult* result = run.stack(stack);
    const std::uint64_t there = result == nullptr ? 0 : result->repeats.size();
    const std::uint64_t asked = std::max(run.repeats_due().value_or(there), there);
    losses.repeats += asked;
    const bool counts = result != nullptr && result->status == StackStatus::ok &&
                        std::ranges::any_of(result->repeats, has_figures);
    if (!counts) {
      ++losses.lost_runs;
      losses.lost_repeats += asked;
      if (result == nullptr)
        of_runs[kMissing].add("");
      else
        of_runs[kind_of(result->status)].add(result->reason);
      continue;  // its repeats are reported with it
    }
    for (const auto& repeat : result->repeats) {
      samples += repeat.samples_ns.size();
      losses.throttled_samples += repeat.throttled.size();
      if (has_figures(repeat)) continue;
      ++losses.lost_repeats;
      of_repeats[kind_of(repeat.status)].add(repeat.reason);
    }
    losses.lost_repeats += asked - there;
    if (asked > there) of_repeats[kMissing].add("", asked - there);
  }
  tell(losses, of_runs, losses.runs, "run", stack);
  tell(losses, of_repeats, losses.repeats, "repeat", stack);
  if (losses.throttled_samples > 0)
    losses.reasons.push_back(fmt::format("{} of {} samples of {} were taken under throttling",
                                         losses.throttled_samples, samples, stack));
  return losses;
}

}  // namespace gpuready::bench
