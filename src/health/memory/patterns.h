// The patterns as the host speaks of them: which, from which numbers, and what a pass over good
// words must add up to.
#pragma once

#include <cstdint>

#include "kernel_abi/memory_params.h"

namespace gpuready {

struct MemoryPattern {
  std::uint64_t kind = kPatternAddress;
  std::uint64_t salt = 0, key = 0;
  bool complement = false;
  MemoryPattern inverted() const { return {kind, salt, key, !complement}; }
  friend bool operator==(const MemoryPattern&, const MemoryPattern&) = default;
};

MemoryPassParams params_for(const MemoryPattern& pattern);
std::uint64_t pattern_word(const MemoryPattern& pattern, std::uint64_t index);
// The offset whose word this is, if the pattern has it: the address and random patterns alone.
bool names_offset(const MemoryPattern& pattern, std::uint64_t word, std::uint64_t words,
                  std::uint64_t& offset);

// The sum of the names of words [first, first + words), mod 2^64.
std::uint64_t predicted_name_sum(const MemoryPattern& pattern, std::uint64_t first,
                                 std::uint64_t words);

}  // namespace gpuready
