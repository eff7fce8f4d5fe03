#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gpuready/ternary.h"
#include "reference.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

std::vector<float> normal(std::size_t count, float deviation = 0.02f) {
  std::mt19937 random(11);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& v : values) v = distribution(random);
  return values;
}

TEST(TernaryQuantise, AbsmeanIsTheRuleOfThePaper) {
  const std::vector<float> values = {0.5f, -1.5f, 1.0f, 0.0f, 0.51f, -0.49f, 2.0f, 2.0f};
  const auto codes = quantise_absmean(FloatView(values), {2, 4});
  ASSERT_TRUE(codes);
  EXPECT_FLOAT_EQ(codes->scales[0], 1.0f);
  // One half goes to zero, which is even.
  EXPECT_EQ(codes->values, (std::vector<std::int8_t>{0, -1, 1, 0, 1, 0, 1, 1}));
}

// Sums are of pieces of 1,024 weights, and of runs of 2^18.
TEST(TernaryQuantise, AbsmeanCountsEveryWeight) {
  for (const std::int64_t count : {1, 2, 1023, 1024, 1025, 2047, 2048, 2049, (1 << 18) - 1, 1 << 18,
                                   (1 << 18) + 1, (1 << 18) + 1025, (2 << 18) + 1}) {
    std::vector<float> values(static_cast<std::size_t>(count), 1.0f);
    for (const bool last : {true, false}) {
      (last ? values.back() : values.front()) = -static_cast<float>(count);
      const auto codes = quantise_absmean(FloatView(values), {1, count});
      ASSERT_TRUE(codes);
      const double mean = static_cast<double>(2 * count - 1) / static_cast<double>(count);
      EXPECT_FLOAT_EQ(codes->scales[0], static_cast<float>(mean)) << count;
      std::ranges::fill(values, 1.0f);
    }
  }
}

TEST(TernaryQuantise, HalfAndBrainFloatGiveWhatTheirValuesGiveAsF32) {
  const std::vector<float> values = normal(512);
  std::vector<std::uint16_t> half, brain;
  std::vector<float> of_half, of_brain;
  for (const float v : values) {
    half.push_back(f32_to_f16(v));
    brain.push_back(reference::to_bf16(v));
    of_half.push_back(f16_to_f32(half.back()));
    of_brain.push_back(bf16_to_f32(brain.back()));
  }
  for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_bitnet_rs, FormatId::tq1_0}) {
    const auto a = quantise({FloatType::f16, std::as_bytes(std::span(half))}, {2, 256}, id);
    const auto b = quantise(FloatView(of_half), {2, 256}, id);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->bytes, b->bytes);
    const auto c = quantise({FloatType::bf16, std::as_bytes(std::span(brain))}, {2, 256}, id);
    const auto d = quantise(FloatView(of_brain), {2, 256}, id);
    ASSERT_TRUE(c && d);
    EXPECT_EQ(c->bytes, d->bytes);
  }
}

TEST(TernaryQuantise, NanAndInfinityAreToldWithTheirPlace) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = normal(1536);
    values[1300] = bad;
    for (const Format& f : formats()) {
      if (f.needs_tiling || f.id == FormatId::i2s_qk256) continue;
      const auto encoded = quantise(FloatView(values), {16, 96}, f.id);
      if (f.id == FormatId::tq1_0 || f.id == FormatId::tq2_0) continue;  // 96 fills no block
      ASSERT_FALSE(encoded) << f.name;
      EXPECT_EQ(encoded.error().kind, ErrorKind::not_finite);
      EXPECT_NE(encoded.error().message.find("1300"), std::string::npos);
    }
    const auto rows = Activations::quantise(FloatView(values), 2, 768);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().kind, ErrorKind::not_finite);
  }
}

TEST(TernaryQuantise, SizesThatDoNotFitTheShapeAreTold) {
  const std::vector<float> values = normal(511);
  EXPECT_EQ(quantise(FloatView(values), {2, 256}, FormatId::i2s_x86).error().kind,
            ErrorKind::truncated);
  EXPECT_EQ(quantise(FloatView(values), {1, 256}, FormatId::i2s_x86).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(Activations::quantise(FloatView(values), 2, 256).error().kind, ErrorKind::wrong_size);
  EXPECT_EQ(Activations::from_int8(std::vector<std::int8_t>(5), 2, 3).error().kind,
            ErrorKind::wrong_size);
}

TEST(TernaryQuantise, ActivationsFollowTheRuleExactly) {
  std::vector<float> values = normal(7 * 300, 3.0f);
  values[0] = 0.5f;
  std::fill(values.begin() + 300, values.begin() + 600, 0.0f);   // a row of zeros
  std::fill(values.begin() + 600, values.begin() + 900, 1e-7f);  // a row below the floor
  const auto rows = Activations::quantise(FloatView(values), 7, 300);
  ASSERT_TRUE(rows);
  for (std::int64_t m = 0; m < 7; ++m) {
    float greatest = 1e-5f;
    for (int k = 0; k < 300; ++k) {
      greatest = std::max(greatest, std::fabs(values[static_cast<std::size_t>(m * 300 + k)]));
    }
    const float scale = 127.0f / greatest;
    std::int32_t sum = 0;
    for (int k = 0; k < 300; ++k) {
      const float product = values[static_cast<std::size_t>(m * 300 + k)] * scale;
      const int expected = std::clamp(static_cast<int>(std::nearbyint(product)), -128, 127);
      ASSERT_EQ(rows->row(m)[static_cast<std::size_t>(k)], expected);
      sum += expected;
    }
    EXPECT_EQ(rows->sums()[static_cast<std::size_t>(m)], sum);
    EXPECT_EQ(rows->steps()[static_cast<std::size_t>(m)], greatest / 127.0f);
  }
}

TEST(TernaryQuantise, AnEnginesThreadsMakeTheSameActivations) {
  const auto engine = *CpuEngine::create({{}, false, 3});
  const std::vector<float> values = normal(61 * 333 + 1, 3.0f);
  std::vector<std::byte> odd(61 * 333 * 4 + 1);
  std::memcpy(odd.data() + 1, values.data() + 1, 61 * 333 * 4);
  const std::vector<std::uint16_t> halves(61 * 333, 0x3C01);
  const FloatView views[] = {std::span(values).subspan(1),
                             {FloatType::f32, std::span(odd).subspan(1)},  // that no float lies so
                             {FloatType::bf16, std::as_bytes(std::span(halves))}};
  for (const FloatView& view : views) {
    const auto ours = engine.quantise(view, 61, 333), alone = Activations::quantise(view, 61, 333);
    ASSERT_TRUE(ours && alone);
    EXPECT_TRUE(std::ranges::equal(ours->steps(), alone->steps()));
    EXPECT_TRUE(std::ranges::equal(ours->sums(), alone->sums()));
    for (std::int64_t m = 0; m < 61; ++m)
      EXPECT_TRUE(std::ranges::equal(ours->row(m), alone->row(m)));
  }
  // The first that is not finite is named, whichever thread finds one.
  for (const std::size_t row : {0, 1, 17, 60}) {
    std::vector<float> bad = values;
    for (std::size_t m = row; m < 61; ++m) bad[m * 333 + 7] = m % 2 ? HUGE_VALF : NAN;
    for (int round = 0; round < 20; ++round) {
      const auto made = engine.quantise(std::span<const float>(bad).first(61 * 333), 61, 333);
      ASSERT_FALSE(made);
      EXPECT_EQ(made.error().message, "activation 7 of row " + std::to_string(row) + " is " +
                                          (row % 2 ? "infinite" : "NaN"));
    }
  }
}

TEST(TernaryQuantise, ActivationsRoundHalvesToEven) {
  const std::vector<float> values = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -127.0f};
  const auto rows = Activations::quantise(FloatView(values), 1, 7);
  ASSERT_TRUE(rows);
  const std::vector<std::int8_t> codes(rows->row(0).begin(), rows->row(0).end());
  EXPECT_EQ(codes, (std::vector<std::int8_t>{127, 0, 2, 2, 0, -2, -127}));
}

// Quantised activations and weights through the whole product, against f32 weights as dequantised.
TEST(TernaryQuantise, ProductIsCloseToTheDequantisedOne) {
  const Shape shape{96, 512};
  const std::vector<float> weights = normal(96 * 512), x = normal(4 * 512, 1.0f);
  const auto engine = CpuEngine::create();
  ASSERT_TRUE(engine);
  const auto encoded = quantise(FloatView(weights), shape, FormatId::w2a8_gpu);
  ASSERT_TRUE(encoded);
  const auto plain = dequantise(*encoded);
  const auto packed = PackedWeights::pack(*encoded);
  const auto rows = Activations::quantise(FloatView(x), 4, 512);
  ASSERT_TRUE(plain && packed && rows);
  std::vector<float> out(4 * 96);
  ASSERT_TRUE(engine->multiply(*packed, *rows, std::span(out)));
  double error = 0, power = 0;
  for (std::size_t m = 0; m < 4; ++m) {
    for (std::size_t n = 0; n < 96; ++n) {
      double exact = 0;
      for (std::size_t k = 0; k < 512; ++k) {
        exact += static_cast<double>(x[m * 512 + k]) * static_cast<double>((*plain)[n * 512 + k]);
      }
      error += (exact - static_cast<double>(out[m * 96 + n])) *
               (exact - static_cast<double>(out[m * 96 + n]));
      power += exact * exact;
    }
  }
  EXPECT_LT(error / power, 5e-4);
}

}  // namespace
}  // namespace gpuready::ternary
