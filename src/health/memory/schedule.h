// What the memory test does at each level, as data: rounds of named patterns, each a few passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "health/memory/patterns.h"
#include "health/test.h"

namespace gpuready {

enum class MemoryPassKind {
  write,
  verify,
  invert,       // verify, and write the complement in place
  move_engine,  // copy a part of the range to another, by the driver's copy
  move_kernel,  // the same by our kernel
  hammer,       // read places again and again
  pause,        // leave the memory alone
};

struct MemoryStep {
  MemoryPassKind kind = MemoryPassKind::write;
  std::string phase;      // "write complement"
  std::string rate_name;  // "write_complement_rate"
  MemoryPattern pattern = {};
  std::uint64_t select = kWriteAll;
  bool descending = false;
  // The part of the range, in quarters. A move reads from `source_quarter` on.
  unsigned first_quarter = 0, quarters = 4, source_quarter = 0;
  double pause_s = 0;
  // Which of the round's writes this is; the two parts of one share a number. kUnreadWrite: not all
  // that it writes is read before it is overwritten, so that a fault in it alone may leave no
  // trace.
  std::size_t write = 0;
  static constexpr std::size_t kUnreadWrite = ~std::size_t{0};
  bool writes() const { return kind == MemoryPassKind::write || kind == MemoryPassKind::invert; }
  bool verifies() const { return kind == MemoryPassKind::verify || kind == MemoryPassKind::invert; }
};

struct NamedPattern {
  std::string name;  // "moving inversions"
  std::vector<MemoryStep> steps;
};

struct MemoryRound {
  std::vector<NamedPattern> patterns;  // address and complement are the first two
  std::size_t writes = 0;
};

struct MemorySchedule {
  Level level = Level::quick;
  std::uint64_t seed = 0;
  bool hammer = false;
};
std::size_t rounds_of(Level level);
// Round 0, 1, ...: each with words of its own.
MemoryRound make_round(const MemorySchedule& schedule, std::size_t round);

}  // namespace gpuready
