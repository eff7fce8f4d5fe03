// A row's products depend on no other row: whatever rows are packed with it, and in whichever form
// its scales come, they have the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "reference.h"
#include "ternary/packed.h"
#include "tier_parameters.h"

namespace gpuready::ternary {
namespace {

using reference::Fill;
using reference::GroupedProblem;

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

// Rows by turns: of one scale; of others; of one scale but for a block of zeros; of zeros with one
// negative scale; of zeros with several.
GroupedProblem mixed_rows(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                          unsigned seed) {
  GroupedProblem p{reference::make(m, n, k, Fill::random, seed), group, {}, {}};
  std::mt19937 random(seed + 1);
  const auto some = [&] {  // of 24 bits, so that products are rounded
    return std::ldexp(static_cast<float>((random() >> 8) | 1), -24) - 0.5f;
  };
  const auto zeros = [&](std::int64_t row, std::int64_t first, std::int64_t last) {
    const auto begin = p.plain.weights.values.begin() + row * k;
    std::fill(begin + first, begin + std::min(last, k), std::int8_t{0});
  };
  for (float& step : p.plain.steps) step = some();
  for (std::int64_t row = 0; row < n; ++row) {
    const auto kind = row % 5;
    const float one = kind == 3 ? -std::fabs(some()) : some();
    for (std::int64_t g = 0; g < p.groups(); ++g)
      p.scales.push_back(kind == 1 || kind == 4 ? some() : one);
    const std::int64_t of_zeros = p.groups() / 2;
    if (kind == 2) {
      zeros(row, of_zeros * group, (of_zeros + 1) * group);
      p.scales[static_cast<std::size_t>(row * p.groups() + of_zeros)] = 1;
    }
    if (kind > 2) zeros(row, 0, k);
  }
  p.multiply();
  return p;
}

// The problem of some of its rows, in any order.
GroupedProblem rows_of(const GroupedProblem& p, const std::vector<std::int64_t>& rows) {
  GroupedProblem some = p;
  some.plain.n = static_cast<std::int64_t>(rows.size());
  some.plain.weights.shape.rows = some.plain.n;
  some.plain.weights.values.clear();
  some.scales.clear();
  some.values.clear();
  for (const std::int64_t row : rows) {
    const auto codes = p.plain.weights.values.begin() + row * p.plain.k;
    some.plain.weights.values.insert(some.plain.weights.values.end(), codes, codes + p.plain.k);
    const auto scales = p.scales.begin() + row * p.groups();
    some.scales.insert(some.scales.end(), scales, scales + p.groups());
  }
  for (std::int64_t m = 0; m < p.plain.m; ++m)
    for (const std::int64_t row : rows)
      some.values.push_back(p.values[static_cast<std::size_t>(m * p.plain.n + row)]);
  return some;
}

Codes codes_of(const GroupedProblem& p) {
  return {p.plain.weights.shape, p.plain.weights.values, p.group, p.scales};
}

std::vector<float> product(const CpuEngine& engine, const GroupedProblem& p,
                           const PackedWeights& weights) {
  const auto y = Activations::from_int8(p.plain.y, p.plain.m, p.plain.k, p.plain.steps);
  std::vector<float> out(p.values.size(), -1.0f);
  const auto done = engine.multiply(weights, *y, std::span(out));
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

// As codes with their scales, and as what a file holds, in all forms that take them.
void expect_rows(const CpuEngine& engine, const GroupedProblem& p, const char* what) {
  EXPECT_EQ(reference::wrong(engine, p), "") << what;
  if (p.plain.k % p.group != 0) return;
  bool one_scale_each = true;
  for (std::int64_t row = 0; row < p.plain.n; ++row) one_scale_each &= p.has_one_scale(row);
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    const auto weights = PackedWeights::pack(codes_of(p), form);
    if (form == Form::three_trits && !one_scale_each) {
      ASSERT_FALSE(weights);
      EXPECT_EQ(weights.error().kind, ErrorKind::not_representable);
      continue;
    }
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_EQ(weights->scale_group(), one_scale_each ? 0 : p.group);
    EXPECT_EQ(bits_of(product(engine, p, *weights)), bits_of(p.values)) << what;
  }
}

class TernaryRows : public testing::TestWithParam<Tier> {};

TEST_P(TernaryRows, HaveTheSameBitsInShardsAndStacks) {
  if (!why_not(GetParam()).empty()) GTEST_SKIP() << why_not(GetParam());
  for (const unsigned threads : {1u, 3u}) {
    const auto engine = CpuEngine::create({GetParam(), true, threads});
    if (!engine) GTEST_SKIP() << engine.error().message;
    for (const std::int64_t group : {32, 64, 128, 256})
      for (const auto& [m, k] : {std::pair<std::int64_t, std::int64_t>{1, 4 * group},
                                 {1, 3 * group + 5},
                                 {2, group},
                                 {3, 2 * group + 17},
                                 {40, 3 * group}}) {
        const auto p = mixed_rows(m, 57, k, group, static_cast<unsigned>(group + k));
        expect_rows(*engine, p, "all rows");
        expect_rows(*engine, rows_of(p, {0, 5, 10, 15, 3}), "rows of one scale");
        expect_rows(*engine, rows_of(p, {20, 21, 22, 23, 24, 25, 26, 27, 28, 29}), "a shard");
        for (std::int64_t row = 0; row < 5; ++row)
          expect_rows(*engine, rows_of(p, {row}), "one row");
        std::vector<std::int64_t> stack;
        for (const std::int64_t first : {40, 0, 17})
          for (std::int64_t row = first; row < first + 13; ++row) stack.push_back(row);
        expect_rows(*engine, rows_of(p, stack), "a stack");
      }
  }
}

// Sums of 131072 weights are exact in f32; beyond, scales by group are multiplied by group.
TEST_P(TernaryRows, OfMoreWeightsFollowTheRuleOfGroups) {
  if (!why_not(GetParam()).empty()) GTEST_SKIP() << why_not(GetParam());
  const auto engine = CpuEngine::create({GetParam(), true, 1});
  if (!engine) GTEST_SKIP() << engine.error().message;
  for (const std::int64_t k : {131072, 131072 + 256, 131072 + 300})
    for (const std::int64_t group : {32, 256})
      for (const std::int64_t m : {1, 2}) {
        auto p = mixed_rows(m, 6, k, group, 3);
        const auto first = p.plain.weights.values.begin();  // the greatest sum, but for one
        std::fill(first, first + k, std::int8_t{1});
        std::fill(p.plain.y.begin(), p.plain.y.end(), std::int8_t{-128});
        p.plain.y[7] = 127;
        p.multiply();
        EXPECT_EQ(reference::wrong(*engine, p), "") << k;
        const auto one = rows_of(p, {0});
        EXPECT_EQ(reference::wrong(*engine, one), "") << k;
        const auto weights = PackedWeights::pack(codes_of(one));
        if (k % group != 0) {
          ASSERT_FALSE(weights);
          EXPECT_EQ(weights.error().kind, ErrorKind::not_representable);
          continue;
        }
        ASSERT_TRUE(weights) << weights.error().message;
        EXPECT_EQ(weights->scale_group(), k <= 131072 ? 0 : group);
        EXPECT_EQ(bits_of(product(*engine, one, *weights)), bits_of(one.values)) << k;
      }
}

INSTANTIATE_TEST_SUITE_P(Every, TernaryRows, every_tier(), name_of_tier);

// By hand, with u = 2^-23: a scale and a step of 1 + u and a sum of 3 give 3 + 6u by the rule of
// rows, 3 (1 + 2u), and 3 + 8u by that of groups, (3 + 4u) (1 + u).
TEST(TernaryRows, ABlockOfZerosCountsWithTheScaleThatIsStored) {
  constexpr float u = 0x1p-23f;
  GroupedProblem p{reference::make(1, 2, 64, Fill::all_plus, 1), 32, {1 + u, 1 + u, 1 + u, 2}, {}};
  for (std::int64_t row = 0; row < 2; ++row)
    std::fill_n(p.plain.weights.values.begin() + row * 64 + 32, 32, std::int8_t{0});
  std::fill(p.plain.y.begin(), p.plain.y.end(), std::int8_t{0});
  std::fill_n(p.plain.y.begin(), 3, std::int8_t{1});
  p.plain.steps = {1 + u};
  p.values = {3 + 6 * u, 3 + 8 * u};
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  expect_rows(*engine, p, "both");
  expect_rows(*engine, rows_of(p, {0}), "one scale");
  expect_rows(*engine, rows_of(p, {1}), "a block of zeros with another");
}

TEST(TernaryRows, OfAFileAreThoseOfItsCodesAndScales) {
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  auto p = mixed_rows(3, 23, 1024, 256, 9);
  for (float& scale : p.scales) scale = std::ldexp(std::round(scale * 1024), -10);  // f16 numbers
  p.multiply();
  const auto file = encode(codes_of(p), FormatId::tq2_0);
  ASSERT_TRUE(file) << file.error().message;
  constexpr std::size_t kRowBytes = 1024 / 256 * 66;
  const auto expect = [&](const GroupedProblem& want, EncodedView from) {
    const auto weights = PackedWeights::pack(from);
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_EQ(bits_of(product(*engine, want, *weights)), bits_of(want.values));
    EXPECT_EQ(reference::wrong(*engine, want), "");
  };
  expect(p, *file);
  for (std::size_t row = 0; row < 23; ++row) {
    EncodedView one = *file;
    one.shape.rows = 1;
    one.bytes = one.bytes.subspan(row * kRowBytes, kRowBytes);
    expect(rows_of(p, {static_cast<std::int64_t>(row)}), one);
  }
}

// What is stored beside the packed weights gives back each scale as it was, and so does a saved
// form.
TEST(TernaryRows, KeepTheirScales) {
  auto p = mixed_rows(1, 21, 300, 64, 4);
  p.scales[0] = 0.0f, p.scales[1] = -0.0f;
  const auto packed = PackedWeights::pack(p.plain.weights.values, p.plain.weights.shape,
                                          {std::span<const float>(p.scales), 64});
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(bits_of(packed->group_scales()), bits_of(p.scales));
  std::vector<std::byte> room(packed->saved_bytes() + 64);
  const std::size_t at = -std::bit_cast<std::uintptr_t>(room.data()) % 64;
  const std::span<std::byte> saved(room.data() + at, packed->saved_bytes());
  ASSERT_TRUE(packed->save(saved));
  // The scales as they were given are its last bytes: by panels of 16 rows, then by group.
  float last = 0;
  std::memcpy(&last, saved.data() + saved.size() - 12 * 4, 4);
  EXPECT_EQ(last, p.scales[20 * 5 + 4]);
  const auto viewed = PackedWeights::view(saved);
  ASSERT_TRUE(viewed) << viewed.error().message;
  EXPECT_EQ(bits_of(viewed->group_scales()), bits_of(p.scales));
  p.multiply();
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  EXPECT_EQ(bits_of(product(*engine, p, *viewed)), bits_of(p.values));
}

// A row of one scale is refused where it would be by itself, and others where their sums could be
// infinite.
TEST(TernaryRows, AreRefusedAsTheyAreByThemselves) {
  const std::vector<std::int8_t> codes(2 * 64, 1), y(64, 127);
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  const auto fits = [&](const std::vector<float>& scales, float step) -> std::string {
    const auto rows = static_cast<std::int64_t>(scales.size() / 2);
    const auto weights = PackedWeights::pack(std::span(codes).first(scales.size() * 32), {rows, 64},
                                             {std::span<const float>(scales), 32});
    if (!weights) return "packing: " + std::string(to_string(weights.error().kind));
    const auto given = Activations::from_int8(y, 1, 64, std::vector<float>{step});
    std::vector<float> out(static_cast<std::size_t>(rows));
    const auto done = engine->multiply(*weights, *given, std::span(out));
    return done ? "fits" : std::string(to_string(done.error().kind));
  };
  EXPECT_EQ(fits({1e30f, 1e30f}, 1e5f), "fits");
  EXPECT_EQ(fits({1, 2, 1e30f, 1e30f}, 1e5f), "fits");
  EXPECT_EQ(fits({1e34f, 1e34f}, 1e5f), "not_finite");
  EXPECT_EQ(fits({1, 2, 1e34f, 1e34f}, 1e5f), "not_finite");
  EXPECT_EQ(fits({1, 2, 3e38f, 3e38f}, 1e-9f), "fits");
  EXPECT_EQ(fits({1, 2, 3e38f, 1e38f}, 1e-9f), "packing: not_finite");
  EXPECT_EQ(fits({1e30f, 2e30f}, 1e5f), "not_finite");
}

}  // namespace
}  // namespace gpuready::ternary
