// An Obligation: what a GPU must have shown before it is ready for work, and how that ended.
// The rule is src/report/obligations.h; docs/obligations.md prints its table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/verdict.h"

namespace gpuready::inline v0 {

enum class ObligationKind {
  identity,         // its driver and its management library tell the same memory and SMs
  integrity,        // every word, sum and copy that was checked was right
  coverage,         // nearly all of its memory and all of its SMs were checked
  clock,            // it ran at the clock that it may run at, as fast as its siblings
  host_link,        // its link to the host has its full width and speed
  peer_links,       // its links to other GPUs do
  health_counters,  // its error counters and repairs want nothing
  burn,             // it was loaded up to its power limit
};
std::string_view to_string(ObligationKind kind);  // "host_link"

enum class ObligationStatus { held, degraded, broken, not_judged };
std::string_view to_string(ObligationStatus status);  // "not_judged"

enum class Duty {
  owed,      // not judged is not ready
  hidden,    // the kind of GPU or its surroundings hide it, for good
  not_owed,  // the level, or the tests that were asked for, do not include it
};
std::string_view to_string(Duty duty);  // "not_owed"

struct Obligation {
  ObligationKind kind = ObligationKind::identity;
  ObligationStatus status = ObligationStatus::not_judged;
  Duty duty = Duty::owed;
  std::string reason;            // a clause: what was shown, or why not
  std::optional<Metric> figure;  // with its limit and the limit's source
  bool required = false;         // --require names it
  bool accepted = false;         // degraded, and --accept names it
};

}  // namespace gpuready::inline v0
