// What is added to products, and outputs of each type, by every tier that this CPU has.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "reference.h"
#include "ternary/floats.h"
#include "tier_parameters.h"

namespace gpuready::ternary {
namespace {

constexpr FloatType kTypes[] = {FloatType::f32, FloatType::f16, FloatType::bf16};

std::uint32_t rounded(float value, FloatType type) {
  const bool nan = std::isnan(value);
  if (type == FloatType::f32) return nan ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(value);
  if (nan) return 0x7FFF;
  if (type == FloatType::f16) return f32_to_f16(value);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF;
}
std::uint32_t element(const std::vector<std::byte>& bytes, std::size_t i, FloatType type) {
  std::uint32_t value = 0;
  const std::size_t size = bytes_of(type);
  std::memcpy(&value, bytes.data() + i * size, size);
  return value;
}
std::vector<std::byte> as_type(const std::vector<float>& values, FloatType type) {
  std::vector<std::byte> bytes(values.size() * bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = rounded(values[i], type);
    std::memcpy(bytes.data() + i * bytes_of(type), &bits, bytes_of(type));
  }
  return bytes;
}
std::vector<float> as_floats(const FloatView& view) {
  std::vector<float> values(view.bytes.size() / bytes_of(view.type));
  read_floats(view, 0, values.size(), values.data());
  return values;
}

// A product whose f32 values are the given ones, `rows` a value each, and 37 columns.
struct Given {
  static constexpr std::size_t kCols = 37;
  PackedWeights weights;
  Activations activations;
  explicit Given(const std::vector<float>& values)
      : weights(
            *PackedWeights::pack(Codes{{kCols, 1}, std::vector<std::int8_t>(kCols, 1), 0, {1}})),
        activations(*Activations::from_int8(std::vector<std::int8_t>(values.size(), 1),
                                            static_cast<std::int64_t>(values.size()), 1, values)) {}
};

class TernaryEpilogue : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    auto made = CpuEngine::create({GetParam(), true, 2});
    if (!made) GTEST_SKIP() << made.error().message;
    engine_.emplace(std::move(*made));
  }
  std::optional<CpuEngine> engine_;
};

// Every f16 number, and the middle between it and the next, which goes to the even one.
TEST_P(TernaryEpilogue, EveryValueOfF16IsTheNearest) {
  std::vector<float> values;
  for (unsigned half = 0; half < 0x7C00; ++half) {
    const float value = f16_to_f32(static_cast<std::uint16_t>(half));
    const float next = half == 0x7BFF ? 65536 : f16_to_f32(static_cast<std::uint16_t>(half + 1));
    const float middle = (value + next) / 2;
    const float sign = half % 2 == 0 ? 1.0f : -1.0f;
    if (half % 7 == 0) values.push_back(sign * value);
    values.push_back(sign * middle);
    if (half % 5 == 0) values.push_back(sign * std::nextafter(middle, 0.0f));
  }
  values.push_back(1e30f);
  values.push_back(-1e-30f);
  const Given p(values);
  std::vector<std::byte> out(values.size() * Given::kCols * 2);
  ASSERT_TRUE(engine_->multiply(p.weights, p.activations, FloatType::f16, out));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size() * Given::kCols; ++i)
    wrong += element(out, i, FloatType::f16) != f32_to_f16(values[i / Given::kCols]);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(TernaryEpilogue, AddsInOrderAndRoundsEachSum) {
  unsigned seed = 40;
  for (const auto& [m, n, k] : {std::array{1, 300, 130}, {1, 17, 64}, {37, 50, 300}}) {
    auto p = reference::make(m, n, k, reference::Fill::random, ++seed);
    const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
    for (const std::int64_t group : {0, 32}) {
      std::vector<float> scales(static_cast<std::size_t>(n) *
                                static_cast<std::size_t>(group == 0 ? 1 : (k + 31) / 32));
      for (std::size_t i = 0; i < scales.size(); ++i)
        scales[i] = 0.01f * static_cast<float>(i % 13 + 1);
      const auto packed = PackedWeights::pack(p.weights.values, {p.n, p.k},
                                              {std::span<const float>(scales), group});
      ASSERT_TRUE(packed && y);
      const auto count = static_cast<std::size_t>(m * n);
      std::vector<float> plain(count);
      ASSERT_TRUE(engine_->multiply(*packed, *y, plain));
      std::vector<float> bias(static_cast<std::size_t>(n)), residual(count);
      for (std::size_t i = 0; i < bias.size(); ++i)
        bias[i] = 0.37f * static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
      for (std::size_t i = 0; i < count; ++i)
        residual[i] = 1e3f / static_cast<float>(static_cast<int>(i * 5 % 29) - 14);
      bias[3] = std::numeric_limits<float>::infinity();
      residual[5] = std::numeric_limits<float>::quiet_NaN();
      residual[3] = -std::numeric_limits<float>::infinity();  // a NaN with the bias
      for (const FloatType type : kTypes)
        for (const FloatType given : kTypes)
          for (int with = 0; with < 4; ++with) {
            const auto bias_bytes = as_type(bias, given), residual_bytes = as_type(residual, type);
            Addends addends;
            if ((with & 1) != 0) addends.bias = {given, bias_bytes};
            // The residual is the output itself.
            std::vector<std::byte> out = residual_bytes;
            if ((with & 2) != 0) addends.residual = {type, out};
            const auto b = as_floats({given, bias_bytes}), r = as_floats({type, residual_bytes});
            ASSERT_TRUE(engine_->multiply(*packed, *y, type, out, addends));
            for (std::size_t i = 0; i < count; ++i) {
              float value = plain[i];
              if ((with & 1) != 0) value = value + b[i % static_cast<std::size_t>(n)];
              if ((with & 2) != 0) value = value + r[i];
              ASSERT_EQ(element(out, i, type), rounded(value, type))
                  << i << " of " << m << " x " << n << ", group " << group << ", with " << with;
            }
          }
    }
  }
}

TEST_P(TernaryEpilogue, TheCallersRoundingChangesNothing) {
  const Given p({0.1f, 1.0f / 3, 7e-6f});
  const std::vector<float> bias(Given::kCols, 1e-3f);
  const auto bytes = as_type(bias, FloatType::f32);
  std::vector<std::byte> right(3 * Given::kCols * 2), out = right;
  ASSERT_TRUE(engine_->multiply(p.weights, p.activations, FloatType::f16, right,
                                {{FloatType::f32, bytes}, {}}));
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const bool done =
        engine_
            ->multiply(p.weights, p.activations, FloatType::f16, out, {{FloatType::f32, bytes}, {}})
            .has_value();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(done);
    EXPECT_EQ(out, right);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TernaryEpilogue, every_tier(), name_of_tier);

TEST(TernaryEpilogueSizes, WhatDoesNotFitIsRefused) {
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  const Given p({1.0f, 2.0f});
  std::vector<std::byte> out(2 * Given::kCols * 4), bias(Given::kCols * 4);
  const std::vector<std::byte> before = out;
  const auto kind = [&](FloatType type, std::span<std::byte> to, const Addends& addends) {
    const auto done = engine->multiply(p.weights, p.activations, type, to, addends);
    return done ? std::string("done") : std::string(to_string(done.error().kind));
  };
  const std::span all(out), some(bias);
  EXPECT_EQ(kind(FloatType::f32, all, {{FloatType::f32, some}, {FloatType::f32, all}}), "done");
  std::fill(out.begin(), out.end(), std::byte{});
  EXPECT_EQ(kind(FloatType::f16, all, {}), "wrong_size");
  EXPECT_EQ(kind(FloatType::f32, all.first(out.size() - 1), {}), "wrong_size");
  EXPECT_EQ(kind(FloatType::f16, all.subspan(1, out.size() / 2), {}), "wrong_size");  // unaligned
  EXPECT_EQ(kind(static_cast<FloatType>(9), all, {}), "bad_input");
  EXPECT_EQ(kind(FloatType::f32, all, {{FloatType::f32, some.first(8)}, {}}), "wrong_size");
  EXPECT_EQ(kind(FloatType::f32, all, {{FloatType::f16, some}, {}}), "wrong_size");
  EXPECT_EQ(kind(FloatType::f32, all, {{}, {FloatType::f32, some}}), "wrong_size");
  EXPECT_EQ(kind(FloatType::f32, all, {{static_cast<FloatType>(9), some}, {}}), "bad_input");
  EXPECT_EQ(out, before);
}

TEST(TernaryAddends, MayNotLieInTheProductsButAsTheyAre) {
  const auto engine = CpuEngine::create({{}, false, 1});
  const auto p = reference::make(2, 16, 64, reference::Fill::random, 1);
  const auto packed = PackedWeights::pack(p.weights);
  const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
  ASSERT_TRUE(engine && packed && y);
  std::vector<std::byte> memory(2 * 16 * 4 + 4);
  const std::span<std::byte> out(memory.data(), 2 * 16 * 4);
  const auto kind = [&](const Addends& addends) {
    const auto done = engine->multiply(*packed, *y, FloatType::f32, out, addends);
    return done ? "ok" : std::string(to_string(done.error().kind));
  };
  const auto from = [&](FloatType type, std::size_t first, std::size_t bytes) {
    return FloatView(type, std::span<const std::byte>(memory).subspan(first, bytes));
  };
  EXPECT_EQ(kind({{}, from(FloatType::f32, 0, 128)}), "ok");
  EXPECT_EQ(kind({{}, from(FloatType::f32, 4, 128)}), "bad_input");
  EXPECT_EQ(kind({{}, from(FloatType::bf16, 0, 64)}), "bad_input");
  EXPECT_EQ(kind({from(FloatType::f32, 0, 64), {}}), "bad_input");
}

}  // namespace
}  // namespace gpuready::ternary
