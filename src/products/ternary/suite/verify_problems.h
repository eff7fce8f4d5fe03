// What the validation suite multiplies, and the right answers by plain 64-bit sums over plain
// codes: nothing here shares code with what is verified.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "gpuready/ternary.h"

namespace gpuready::ternary {

// What weights and activations are filled with. Small accumulators survive random numbers; they do
// not survive long rows in which every product has the same sign and the greatest size.
enum class Fill { random, all_plus, all_minus, saturating, alternating };
inline constexpr Fill kFills[] = {Fill::random, Fill::all_plus, Fill::all_minus, Fill::saturating,
                                  Fill::alternating};
std::string_view to_string(Fill fill);

// The nearest, halves to even.
std::uint16_t nearest_f16(float value);
std::uint16_t nearest_bf16(float value);

struct ProblemSpec {
  std::int64_t m = 1, n = 1, k = 1;
  Fill fill = Fill::random;
  // Scales and steps over forty orders of magnitude, of both signs: products that are subnormal
  // tell who flushes them to zero.
  bool extreme_scales = false;
};
std::string to_string(const ProblemSpec& spec);

struct Problem {
  ProblemSpec spec;
  Codes weights;                   // a scale a row, or a group
  std::int64_t group = 0;          // of a row's weights that share a scale; 0: all
  std::vector<std::int8_t> y;      // m x k
  std::vector<float> steps;        // m
  std::vector<std::int64_t> sums;  // m x n: the right answers; none with groups
  std::vector<float> values;
  std::vector<std::uint16_t> halves;  // bf16

  void solve();  // from weights, y and steps
};
Problem make_problem(const ProblemSpec& spec, std::uint64_t seed);

// All tails of K within some blocks, all of N and M, and long rows at the limits of int16 and
// int32: hundreds of problems, or more of each.
std::vector<ProblemSpec> problem_list(bool thorough);

// The documented rule for one row of activations, in scalar f32.
struct QuantisedRow {
  std::vector<std::int8_t> codes;
  float step = 0;
};
QuantisedRow quantise_row_plainly(const float* values, std::size_t count);

// Numbers that are the same everywhere.
class Numbers : private SplitMix64 {
 public:
  using SplitMix64::next, SplitMix64::SplitMix64;
  int between(int from, int to) {
    return from + static_cast<int>(next() % static_cast<std::uint64_t>(to - from + 1));
  }
  double normal();  // of mean 0 and deviation 1, nearly: a sum of twelve
};

}  // namespace gpuready::ternary
