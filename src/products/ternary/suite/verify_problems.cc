#include "ternary/suite/verify_problems.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gpuready::ternary {
namespace {

std::int8_t weight(Fill fill, std::size_t i, Numbers& numbers) {
  switch (fill) {
    case Fill::all_plus:
      return 1;
    case Fill::all_minus:
      return -1;
    case Fill::alternating:
      return i % 2 ? 1 : -1;
    case Fill::random:
    case Fill::saturating:
      break;
  }
  return static_cast<std::int8_t>(numbers.between(-1, 1));
}

std::int8_t activation(Fill fill, std::size_t i, std::size_t row, Numbers& numbers) {
  switch (fill) {
    case Fill::random:
      return static_cast<std::int8_t>(numbers.between(-128, 127));
    case Fill::all_plus:  // one row of the greatest, the next of the least
      return row % 2 == 0 ? 127 : -128;
    case Fill::all_minus:
      return -128;
    case Fill::saturating:
      return numbers.next() % 2 == 0 ? 127 : -128;
    case Fill::alternating:  // with the weights: every product has the same sign
      return i % 2 ? 127 : -128;
  }
  return 0;
}

}  // namespace

double Numbers::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1p-53;
  return sum;
}

std::string_view to_string(Fill fill) {
  constexpr std::string_view kNames[] = {"random", "all +1", "all -1", "saturating", "alternating"};
  return kNames[static_cast<int>(fill)];
}

std::string to_string(const ProblemSpec& spec) {
  return "M " + std::to_string(spec.m) + ", N " + std::to_string(spec.n) + ", K " +
         std::to_string(spec.k) + ", " + std::string(to_string(spec.fill)) +
         (spec.extreme_scales ? ", extreme scales" : "");
}

namespace {

std::int64_t dot(const std::int8_t* a, const std::int8_t* w, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * w[i];
  return sum;
}

// A row's product with one scale, each operation rounded.
float value_of_row(std::int64_t sum, float step, float scale) {
  const float unit = step * scale;
  return static_cast<float>(sum) * unit;
}

// With a scale a group, in the documented order: terms of the groups as their columns follow. A row
// whose scales are one is a row of one scale, as long as its sums are exact in f32.
float value_by_group(const std::int8_t* a, const std::int8_t* w, std::span<const float> scales,
                     std::size_t count, std::size_t group, float step) {
  const auto same = [&](float scale) {
    return std::bit_cast<std::uint32_t>(scale) == std::bit_cast<std::uint32_t>(scales[0]);
  };
  if (count <= 131072 && std::ranges::all_of(scales, same))
    return value_of_row(dot(a, w, count), step, scales[0]);
  float value = 0;
  for (std::size_t first = 0; first < count; first += group) {
    const auto sum = dot(a + first, w + first, std::min(group, count - first));
    const float term = static_cast<float>(sum) * scales[first / group];
    value = value + term;
  }
  return value * step;
}

}  // namespace

std::uint16_t nearest_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::uint16_t nearest_f16(float value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);  // whose exponent is 0
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7C00);
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);
  exponent = std::max(exponent, -13);  // below it numbers are subnormal
  const double units = std::nearbyint(std::ldexp(magnitude, 11 - exponent));
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + static_cast<int>(units)));
}

void Problem::solve() {
  const auto m = static_cast<std::size_t>(spec.m), n = static_cast<std::size_t>(spec.n);
  const auto k = static_cast<std::size_t>(spec.k);
  const auto groups = group == 0 ? 0 : (k - 1) / static_cast<std::size_t>(group) + 1;
  sums.assign(group == 0 ? m * n : 0, 0);
  values.resize(m * n);
  halves.resize(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t col = 0; col < n; ++col) {
      const std::int8_t* a = y.data() + row * k;
      const std::int8_t* w = weights.values.data() + col * k;
      const std::size_t at = row * n + col;
      if (group != 0) {
        const auto scales = std::span(weights.scales).subspan(col * groups, groups);
        values[at] = value_by_group(a, w, scales, k, static_cast<std::size_t>(group), steps[row]);
      } else {
        sums[at] = dot(a, w, k);
        values[at] =
            value_of_row(sums[at], steps[row], weights.scales[weights.scale_block == 0 ? 0 : col]);
      }
      halves[at] = nearest_bf16(values[at]);
    }
  }
}

Problem make_problem(const ProblemSpec& spec, std::uint64_t seed) {
  Problem p;
  p.spec = spec;
  Numbers numbers(seed);
  const auto m = static_cast<std::size_t>(spec.m), n = static_cast<std::size_t>(spec.n);
  const auto k = static_cast<std::size_t>(spec.k);
  p.weights.shape = {spec.n, spec.k};
  p.weights.scale_block = spec.k;
  p.weights.values.resize(n * k);
  for (std::size_t i = 0; i < n * k; ++i) p.weights.values[i] = weight(spec.fill, i, numbers);
  p.y.resize(m * k);
  for (std::size_t i = 0; i < m * k; ++i) p.y[i] = activation(spec.fill, i, i / k, numbers);
  const auto magnitude = [&](double least, double most) {  // even in the exponent
    const double part = static_cast<double>(numbers.next() >> 11) * 0x1p-53;
    return static_cast<float>(std::exp2(least + (most - least) * part));
  };
  for (std::size_t col = 0; col < n; ++col) {
    const float scale =
        spec.extreme_scales ? (col % 2 ? -1.0f : 1.0f) * magnitude(-66, 40) : magnitude(-9, 1);
    p.weights.scales.push_back(scale);
  }
  for (std::size_t row = 0; row < m; ++row)
    p.steps.push_back(spec.extreme_scales ? magnitude(-80, 10) : magnitude(-12, -3));
  p.solve();
  return p;
}

std::vector<ProblemSpec> problem_list(bool thorough) {
  std::vector<ProblemSpec> list;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, Fill fill = Fill::random,
                       bool extreme = false) { list.push_back({m, n, k, fill, extreme}); };
  // Every tail of K within a few blocks of all layouts, for a vector and for a few rows.
  for (std::int64_t k = 1; k <= (thorough ? 400 : 170); ++k) {
    add(1, 17, k, Fill::random, k % 8 == 0);
    add(3, 33, k, Fill::random, k % 8 == 4);
  }
  for (const std::int64_t k : {255, 256, 257, 383, 384, 385, 511, 512, 513, 1023, 1025})
    add(2, 18, k);
  // Every tail of N and M.
  for (std::int64_t n = 1; n <= (thorough ? 140 : 70); ++n) add(n % 7 + 1, n, 140);
  for (std::int64_t m = 1; m <= (thorough ? 140 : 70); ++m) add(m, 35, 96);
  for (const std::int64_t m : {127, 128, 129, 257}) add(m, 70, 192, Fill::random, true);
  // Long sums at their limits, which 16-bit accumulators do not survive.
  for (const std::int64_t k : {4096, 5120, 5121, 8640, 32767, 32768}) {
    for (const Fill fill : kFills) {
      add(1, 19, k, fill);
      if (thorough || k <= 5121) add(5, 34, k, fill);
    }
  }
  // Longer than any chunk after which a kernel widens its sums.
  for (const Fill fill : {Fill::saturating, Fill::all_plus, Fill::all_minus})
    add(1, 16, thorough ? 600'011 : 70'001, fill);
  // Enough rows and panels for sums that are looked up, at their limits, and of several groups of
  // panels.
  for (const Fill fill : kFills) add(32, 353, 496, fill);
  add(32, 1601, 40);
  // More rows and more panels than are worked on together.
  add(1061, 45, 70);
  add(515, 613, 41);
  add(70, 300, 4100);
  Numbers numbers(7);
  for (int i = 0; i < (thorough ? 60 : 10); ++i)
    add(numbers.between(1, 90), numbers.between(1, 120), numbers.between(1, 3000));
  return list;
}

QuantisedRow quantise_row_plainly(const float* values, std::size_t count) {
  float greatest = 0;
  for (std::size_t i = 0; i < count; ++i) greatest = std::max(greatest, std::fabs(values[i]));
  const float limit = std::max(1e-5f, greatest), factor = 127.0f / limit;
  QuantisedRow row;
  row.step = limit / 127.0f;
  for (std::size_t i = 0; i < count; ++i)
    row.codes.push_back(
        static_cast<std::int8_t>(std::clamp(std::nearbyint(values[i] * factor), -128.0f, 127.0f)));
  return row;
}

}  // namespace gpuready::ternary
