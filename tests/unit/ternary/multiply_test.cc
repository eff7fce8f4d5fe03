// Products by every tier that this CPU has; the others are skipped by name. The exhaustive run is
// every_tier.cc.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "reference.h"
#include "ternary/packed.h"
#include "ternary/tiers.h"

namespace gpuready::ternary {
namespace {

class TernaryTier : public testing::TestWithParam<Tier> {};

TEST_P(TernaryTier, ProductsAreExact) {
  const auto engine = CpuEngine::create({GetParam(), true, 2});
  if (!engine) GTEST_SKIP() << engine.error().message;
  unsigned seed = 0;
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    for (const reference::Fill fill : reference::kFills) {
      for (const auto& [m, n, k] : {std::array{1, 37, 4099}, {2, 16, 63}, {33, 50, 1301}}) {
        const auto p = reference::make(m, n, k, fill, ++seed);
        const auto packed = PackedWeights::pack(p.weights, form);
        const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
        ASSERT_TRUE(packed && y);
        ASSERT_EQ(reference::wrong(*engine, p, *packed, *y), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TernaryTier,
                         testing::Values(Tier::scalar, Tier::avx2, Tier::avx_vnni,
                                         Tier::avx512_vnni, Tier::amx, Tier::neon, Tier::dotprod,
                                         Tier::i8mm),
                         [](const auto& tested) {
                           std::string name(to_string(tested.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(TernaryMultiply, PackingLosesNothing) {
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    for (std::int64_t k = 1; k < 200; ++k) {
      const auto p =
          reference::make(1, k % 35 + 1, k, reference::Fill::random, static_cast<unsigned>(k));
      const auto packed = PackedWeights::pack(p.weights, form);
      ASSERT_TRUE(packed);
      const Codes back = packed->unpack();
      EXPECT_EQ(back.values, p.weights.values);
      EXPECT_EQ(back.scales,
                std::vector<float>(static_cast<std::size_t>(p.n), p.weights.scales[0]));
    }
  }
}

TEST(TernaryMultiply, ThreeTritsTakeFiveBits) {
  const auto p = reference::make(1, 64, 2880, reference::Fill::random, 1);
  EXPECT_EQ(PackedWeights::pack(p.weights, Form::two_bit)->bytes(), 64u * 2880 / 4);
  EXPECT_EQ(PackedWeights::pack(p.weights, Form::three_trits)->bytes(), 64u * 2880 / 3 * 5 / 8);
}

// Above a size, threads take panels from each other.
TEST(TernaryMultiply, LargeProductsAreExactHoweverThreadsShareThem) {
  const std::int64_t n = 10500, k = 8200, patterns = 61;  // rows repeat
  const reference::Problem p = reference::make(1, patterns, k, reference::Fill::random, 3);
  Codes codes{{n, k}, {}, 0, {1.0f}};
  codes.values.resize(static_cast<std::size_t>(n * k));
  std::vector<std::int32_t> expected;
  for (std::int64_t row = 0; row < n; ++row) {
    std::copy_n(p.weights.values.data() + row % patterns * k, k, codes.values.data() + row * k);
    expected.push_back(static_cast<std::int32_t>(p.sums[static_cast<std::size_t>(row % patterns)]));
  }
  const auto rows = Activations::from_int8(p.y, 1, k);
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    const auto packed = PackedWeights::pack(codes, form);
    ASSERT_TRUE(packed && rows);
    EXPECT_GT(packed->bytes(), std::size_t{16} << 20);
    for (const unsigned threads : {1u, 5u}) {
      const auto engine = CpuEngine::create({std::nullopt, false, threads});
      std::vector<std::int32_t> out(expected.size());
      for (int call = 0; call < 2; ++call) {
        std::fill(out.begin(), out.end(), -7);
        ASSERT_TRUE(engine->multiply(*packed, *rows, std::span(out)));
        EXPECT_TRUE(out == expected);
      }
    }
  }
}

#if defined(__x86_64__)
// The tier takes the one that the CPU has; here both are run.
TEST(TernaryMultiply, ThreeTritsAreTheSameWithVbmiAndWithoutIt) {
  if (!why_not(Tier::avx512_vnni).empty()) GTEST_SKIP() << why_not(Tier::avx512_vnni);
  for (const std::int64_t k : {96, 37, 5121}) {
    const reference::Problem p = reference::make(1, 48, k, reference::Fill::random, 9);
    const auto packed = PackedWeights::pack(p.weights, Form::three_trits);
    const auto y = Activations::from_int8(p.y, 1, k);
    ASSERT_TRUE(packed && y);
    const detail::CpuWeights& w = packed->cpu();
    for (const kernels::Table* table : {&kernels::kAvx512, table_of(Tier::avx512_vnni)}) {
      std::int32_t sums[48];
      table->gemv[1]({w.bytes.get(), w.blocks, w.panels, y->detail().codes.get(), y->sums()[0],
                      w.sums.data(), sums});
      EXPECT_TRUE(std::equal(sums, sums + 48, p.sums.begin()));
    }
  }
}
#endif

TEST(TernaryMultiply, EveryFormatOfTheSameWeightsGivesTheSameProduct) {
  auto p = reference::make(3, 96, 512, reference::Fill::random, 5);
  p.weights.scales = {0.75f};
  const auto engine = CpuEngine::create();
  const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
  ASSERT_TRUE(engine && y);
  for (const Format& f : formats()) {
    if (f.four_levels) continue;
    const auto encoded = encode(p.weights, f.id);
    ASSERT_TRUE(encoded) << encoded.error().message;
    const auto packed = PackedWeights::pack(*encoded);
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(reference::wrong(*engine, p, *packed, *y), "") << f.name;
  }
}

TEST(TernaryMultiply, ScalesOfRowsAreEachRowsOwn) {
  auto p = reference::make(2, 3, 256, reference::Fill::random, 9);
  p.weights.scale_block = 256;
  p.weights.scales = {0.5f, 2.0f, 3.0f};
  const auto packed = PackedWeights::pack(p.weights);
  const auto y = Activations::from_int8(p.y, 2, 256, p.steps);
  const auto engine = CpuEngine::create();
  std::vector<float> out(6);
  ASSERT_TRUE(packed && y && engine && engine->multiply(*packed, *y, std::span(out)));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(out[i], static_cast<float>(p.sums[i]) * (p.steps[i / 3] * p.weights.scales[i % 3]));
  }
  p.weights.scale_block = 128;
  p.weights.scales = {1, 2, 1, 1, 1, 1};
  EXPECT_EQ(PackedWeights::pack(p.weights).error().kind, ErrorKind::not_representable);
}

TEST(TernaryMultiply, OperandsThatDoNotFitAreTold) {
  const auto p = reference::make(2, 20, 64, reference::Fill::random, 1);
  const auto engine = CpuEngine::create();
  const auto packed = PackedWeights::pack(p.weights);
  const auto y = Activations::from_int8(p.y, 2, 64), other = Activations::from_int8(p.y, 4, 32);
  ASSERT_TRUE(engine && packed && y && other);
  std::vector<float> right(40), wrong(39);
  EXPECT_EQ(engine->multiply(*packed, *other, std::span(right)).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(engine->multiply(*packed, *y, std::span(wrong)).error().kind, ErrorKind::wrong_size);
  EXPECT_TRUE(engine->multiply(*packed, *y, std::span(right)));
  Codes codes = p.weights;
  codes.values[5] = 2;
  EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::bad_code);
  codes.values.pop_back();
  EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::wrong_size);
  codes = p.weights;
  codes.scales = {std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::not_finite);
}

TEST(TernaryMultiply, ScaleThatWouldOverflowIsToldAndSumsAreStillToBeHad) {
  auto p = reference::make(1, 4, 16, reference::Fill::random, 1);
  p.weights.scales = {3e38f};
  const auto packed = PackedWeights::pack(p.weights);
  const auto y = Activations::from_int8(p.y, 1, 16, std::vector<float>{10.0f});
  const auto engine = CpuEngine::create();
  std::vector<float> values(4);
  std::vector<std::int32_t> sums(4);
  ASSERT_TRUE(packed && y && engine);
  EXPECT_EQ(engine->multiply(*packed, *y, std::span(values)).error().kind, ErrorKind::not_finite);
  EXPECT_TRUE(engine->multiply(*packed, *y, std::span(sums)));
}

TEST(TernaryEngine, TierOfAnotherArchitectureIsARecordedFallbackOrAnError) {
#if defined(__x86_64__)
  const Tier foreign = Tier::neon;
#else
  const Tier foreign = Tier::avx2;
#endif
  const auto engine = CpuEngine::create({foreign, false, 1});
  ASSERT_TRUE(engine);
  EXPECT_NE(engine->tier(), foreign);
  ASSERT_EQ(engine->fallbacks().size(), 1u);
  EXPECT_NE(engine->fallbacks()[0].find("another architecture"), std::string::npos);
  const auto strict = CpuEngine::create({foreign, true, 1});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().kind, ErrorKind::unsupported_tier);
}

TEST(TernaryEngine, EnvironmentNamesTheTier) {
  setenv("GPUREADY_TERNARY_TIER", "scalar", 1);
  const auto engine = CpuEngine::create();
  setenv("GPUREADY_TERNARY_TIER", "sse9", 1);
  const auto unknown = CpuEngine::create();
  unsetenv("GPUREADY_TERNARY_TIER");
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->tier(), Tier::scalar);
  EXPECT_TRUE(engine->fallbacks().empty());
  EXPECT_EQ(unknown.error().kind, ErrorKind::unsupported_tier);
}

TEST(TernaryEngine, ThreadsSurviveManySmallCallsAndPauses) {
  const auto p = reference::make(1, 4000, 100, reference::Fill::random, 1);
  const auto engine = CpuEngine::create({std::nullopt, false, 4});
  const auto packed = PackedWeights::pack(p.weights);
  const auto y = Activations::from_int8(p.y, 1, 100, p.steps);
  ASSERT_TRUE(engine && packed && y);
  for (int i = 0; i < 300; ++i) {
    if (i % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_EQ(reference::wrong(*engine, p, *packed, *y), "");
  }
}

}  // namespace
}  // namespace gpuready::ternary
