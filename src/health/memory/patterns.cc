#include "health/memory/patterns.h"

#include "kernel_abi/memory_patterns.h"

namespace gpuready {
namespace {

// 0 + 1 + ... + (n - 1), mod 2^64.
std::uint64_t sum_below(std::uint64_t n) { return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n; }

// The sum of the runs' numbers of words [0, n).
std::uint64_t sum_of_runs(std::uint64_t n) {
  constexpr std::uint64_t kRun = std::uint64_t{kModuloGroupWords} * kModuloGroups;
  return kRun * sum_below(n / kRun) + n % kRun * (n / kRun);
}

}  // namespace

MemoryPassParams params_for(const MemoryPattern& pattern) {
  MemoryPassParams params{};
  params.pattern = pattern.kind;
  params.salt = pattern.salt;
  params.key = pattern.key;
  params.invert = pattern.complement ? ~0ull : 0;
  return params;
}

std::uint64_t pattern_word(const MemoryPattern& pattern, std::uint64_t index) {
  return word_at(params_for(pattern), index);
}

bool names_offset(const MemoryPattern& pattern, std::uint64_t word, std::uint64_t words,
                  std::uint64_t& offset) {
  const MemoryPassParams p = params_for(pattern);
  if (pattern.kind == kPatternAddress) {
    offset = AddressPattern::decode(p, p.invert, word) - pattern.salt;
  } else if (pattern.kind == kPatternRandom) {
    offset = RandomPattern::decode(p, p.invert, word) - pattern.salt;
  } else {
    return false;
  }
  return offset < words;
}

std::uint64_t predicted_name_sum(const MemoryPattern& pattern, std::uint64_t first,
                                 std::uint64_t words) {
  if (pattern.kind == kPatternModulo)
    return sum_of_runs(first + words) - sum_of_runs(first) + words * pattern.salt;
  if (pattern.kind != kPatternWalking) return sum_below(words) + words * (first + pattern.salt);
  // 64 words in a row have each bit once: all ones, which is -1.
  std::uint64_t sum = 0 - words / 64;
  for (std::uint64_t i = words / 64 * 64; i < words; ++i)
    sum += 1ull << (first + i + pattern.key) % 64;
  return sum;
}

}  // namespace gpuready
