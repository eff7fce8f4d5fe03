// What compare_with_baseline() and compare_before_and_after() share: the counters that may only
// stand still. change_causes() has their rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/cause.h"

namespace gpuready::doctor {

struct Change {
  std::string_view id;
  std::string source, quote;
  std::uint64_t rise = 0;
};
// How fast the counters of a finding may rise on healthy hardware, and who says so.
struct CounterLimit {
  std::string_view id, counter;  // the beginning of Change::source
  double per_hour;
  std::uint64_t at_once;  // in however short a time
  std::string_view source;
};
std::span<const CounterLimit> counter_limits();
// Counters on the board itself: lifetime ECC, remapped rows, retired pages.
std::vector<Change> lasting_increases(const Gpu& before, const Gpu& after);
// Counters since the driver was loaded or the machine booted: ECC, replays, AER, NVLink, RAS.
std::vector<Change> running_increases(const Gpu& before, const Gpu& after);

}  // namespace gpuready::doctor
