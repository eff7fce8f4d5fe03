// The plain reference: 64-bit sums over plain codes, and inputs that break kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/workers.h"

namespace gpuready::ternary::reference {

// The products of tests are small: all threads take part in them none the less.
inline const bool every_thread = [] {
  thread_costs().share_ns = 0;
  thread_costs().wake_ns = 0;
  return true;
}();

struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
  Codes weights;                   // one scale
  std::vector<std::int8_t> y;      // m x k
  std::vector<float> steps;        // m
  std::vector<std::int64_t> sums;  // m x n, exact

  void multiply() {
    sums.assign(static_cast<std::size_t>(m * n), 0);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int8_t* a = y.data() + i * k;
        const std::int8_t* w = weights.values.data() + j * k;
        std::int64_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a[l] * w[l];
        sums[static_cast<std::size_t>(i * n + j)] = sum;
      }
    }
  }
};

// What the weights and activations are filled with.
enum class Fill { random, all_plus, all_minus, saturating, alternating };
inline constexpr Fill kFills[] = {Fill::random, Fill::all_plus, Fill::all_minus, Fill::saturating,
                                  Fill::alternating};

inline Problem make(std::int64_t m, std::int64_t n, std::int64_t k, Fill fill, unsigned seed) {
  Problem p{m, n, k, {}, {}, {}, {}};
  std::mt19937 random(seed);
  const auto at_random = [&](int from, int to) {
    return static_cast<std::int8_t>(
        static_cast<int>(random() % static_cast<unsigned>(to - from + 1)) + from);
  };
  p.weights.shape = {n, k};
  p.weights.scales = {0.0123f + static_cast<float>(seed % 7) * 0.25f};
  p.weights.values.resize(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < p.weights.values.size(); ++i) {
    p.weights.values[i] = fill == Fill::all_plus      ? std::int8_t{1}
                          : fill == Fill::all_minus   ? std::int8_t{-1}
                          : fill == Fill::alternating ? static_cast<std::int8_t>(i % 2 ? 1 : -1)
                                                      : at_random(-1, 1);
  }
  p.y.resize(static_cast<std::size_t>(m * k));
  for (std::size_t i = 0; i < p.y.size(); ++i) {
    switch (fill) {
      case Fill::random:
        p.y[i] = at_random(-128, 127);
        break;
      case Fill::all_plus:  // one row of the greatest, the next of the least
        p.y[i] = i / static_cast<std::size_t>(k) % 2 == 0 ? 127 : -128;
        break;
      case Fill::all_minus:
        p.y[i] = -128;
        break;
      case Fill::saturating:
        p.y[i] = random() % 2 == 0 ? 127 : -128;
        break;
      case Fill::alternating:  // with the weights: every product has the same sign
        p.y[i] = i % 2 ? 127 : -128;
        break;
    }
  }
  for (std::int64_t i = 0; i < m; ++i) p.steps.push_back(0.5f / static_cast<float>(i + 3));
  p.multiply();
  return p;
}

inline std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Scales of groups of a row's weights, and what the documented rules give: that of row scales where
// a row of at most 131072 weights has one scale, and else that of groups.
struct GroupedProblem {
  Problem plain;
  std::int64_t group = 0;
  std::vector<float> scales;  // [n][ceil(k / group)]
  std::vector<float> values;  // m x n

  std::int64_t groups() const { return (plain.k + group - 1) / group; }
  bool has_one_scale(std::int64_t row) const {
    bool one = true;
    for (std::int64_t at = row * groups(); at < (row + 1) * groups(); ++at)
      one &= std::bit_cast<std::uint32_t>(scales[static_cast<std::size_t>(at)]) ==
             std::bit_cast<std::uint32_t>(scales[static_cast<std::size_t>(row * groups())]);
    return one;
  }
  std::int64_t sum(std::int64_t i, std::int64_t j, std::int64_t first, std::int64_t last) const {
    std::int64_t sum = 0;
    for (std::int64_t l = first; l < std::min(plain.k, last); ++l) {
      sum += plain.y[static_cast<std::size_t>(i * plain.k + l)] *
             plain.weights.values[static_cast<std::size_t>(j * plain.k + l)];
    }
    return sum;
  }
  float value(std::int64_t i, std::int64_t j) const {  // each operation is rounded by itself
    const float* of_row = scales.data() + j * groups();
    const float step = plain.steps[static_cast<std::size_t>(i)];
    if (plain.k <= 131072 && has_one_scale(j)) {
      volatile float scale = step * of_row[0];
      return static_cast<float>(sum(i, j, 0, plain.k)) * scale;
    }
    volatile float total = 0;
    for (std::int64_t g = 0; g < groups(); ++g) {
      volatile float term = static_cast<float>(sum(i, j, g * group, (g + 1) * group));
      term = term * of_row[g];
      total = total + term;
    }
    return total * step;
  }
  void multiply() {
    values.clear();
    for (std::int64_t i = 0; i < plain.m; ++i)
      for (std::int64_t j = 0; j < plain.n; ++j) values.push_back(value(i, j));
  }
};

// Scales as files have them: f16 of any size and either sign, subnormals, zeros, the greatest. Each
// third row has one scale.
inline GroupedProblem make_grouped(std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t group, Fill fill, unsigned seed) {
  GroupedProblem p{make(m, n, k, fill, seed), group, {}, {}};
  std::mt19937 random(seed + 1);
  const std::int64_t count = n * ((k + group - 1) / group);
  for (std::int64_t i = 0; i < count; ++i) {
    const float some = (static_cast<float>(random() % 4096) - 2048.0f) / 1024.0f;
    constexpr float kOdd[] = {0.0f, -0.0f, 65504.0f, -65504.0f, 0x1p-24f, -0x1p-24f, 1e-40f, 3e20f};
    p.scales.push_back(random() % 8 == 0 ? kOdd[random() % std::size(kOdd)] : some);
  }
  for (std::int64_t row = 1; row < n; row += 3) {
    const auto of_row = p.scales.begin() + row * p.groups();
    std::fill(of_row, of_row + p.groups(), *of_row);
  }
  p.multiply();
  return p;
}

// What the product of `engine` has wrong, or an empty text.
inline std::string wrong(const CpuEngine& engine, const GroupedProblem& p) {
  const auto packed =
      PackedWeights::pack(p.plain.weights.values, {p.plain.n, p.plain.k},
                          {std::span<const float>(p.scales), p.group}, Form::two_bit, 1);
  const auto y = Activations::from_int8(p.plain.y, p.plain.m, p.plain.k, p.plain.steps);
  if (!packed) return packed.error().message;
  if (!y) return y.error().message;
  std::vector<float> values(p.values.size(), -1.0f);
  std::vector<std::uint16_t> halves(p.values.size(), 0x5555);
  for (const auto& done :
       {engine.multiply(*packed, *y, std::span(values)), engine.multiply_bf16(*packed, *y, halves)})
    if (!done) return done.error().message;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(p.values[i]) &&
        halves[i] == to_bf16(p.values[i]))
      continue;
    char text[200];
    std::snprintf(text, sizeof text,
                  "element %zu of %lld x %lld (K %lld, groups of %lld): %a, not %a", i,
                  static_cast<long long>(p.plain.m), static_cast<long long>(p.plain.n),
                  static_cast<long long>(p.plain.k), static_cast<long long>(p.group),
                  static_cast<double>(values[i]), static_cast<double>(p.values[i]));
    return text;
  }
  return {};
}

// What the product of `engine` has wrong, or an empty text.
inline std::string wrong(const CpuEngine& engine, const Problem& p, const PackedWeights& packed,
                         const Activations& y) {
  const std::size_t count = p.sums.size();
  std::vector<std::int32_t> sums(count, 0x55555555);
  std::vector<float> values(count, -1.0f);
  std::vector<std::uint16_t> halves(count, 0x5555);
  const auto a = engine.multiply(packed, y, std::span(sums));
  const auto b = engine.multiply(packed, y, std::span(values));
  const auto c = engine.multiply_bf16(packed, y, halves);
  for (const auto* result : {&a, &b, &c}) {
    if (!*result) return result->error().message;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = p.steps[i / static_cast<std::size_t>(p.n)] * p.weights.scales[0];
    const float value = static_cast<float>(static_cast<std::int32_t>(p.sums[i])) * scale;
    const bool good =
        sums[i] == p.sums[i] &&
        std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(value) &&
        halves[i] == to_bf16(value);
    if (!good) {
      return "element " + std::to_string(i) + " of " + std::to_string(p.m) + " x " +
             std::to_string(p.n) + " (K " + std::to_string(p.k) + "): sum " +
             std::to_string(sums[i]) + ", not " + std::to_string(p.sums[i]) + "; value " +
             std::to_string(values[i]) + ", not " + std::to_string(value);
    }
  }
  return {};
}

}  // namespace gpuready::ternary::reference
