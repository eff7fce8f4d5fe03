// Products by every tier that this CPU has; the others are skipped by name. The exhaustive run is
// every_tier.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "reference.h"
#include "ternary/cpu/tiers.h"
#include "ternary/packed.h"
#include "tier_parameters.h"

namespace gpuready::ternary {
namespace {

class TernaryTier : public testing::TestWithParam<Tier> {};

TEST_P(TernaryTier, ProductsAreExact) {
  const auto engine = CpuEngine::create({GetParam(), true, 2});
  if (!engine) GTEST_SKIP() << engine.error().message;
  unsigned seed = 0;
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    for (const reference::Fill fill : reference::kFills) {
      // The last two are large enough for looked-up sums, of more than one group of panels.
      for (const auto& [m, n, k] : {std::array{1, 37, 4099},
                                    {2, 16, 63},
                                    {33, 50, 1301},
                                    {90, 365, 517},
                                    {31, 1601, 250}}) {
        const auto p = reference::make(m, n, k, fill, ++seed);
        const auto packed = PackedWeights::pack(p.weights, form);
        const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
        ASSERT_TRUE(packed && y);
        ASSERT_EQ(reference::wrong(*engine, p, *packed, *y), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TernaryTier, every_tier(), name_of_tier);

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

TEST(TernaryMultiply, GroupsAreTheSameWithGfniAndWithoutIt) {
  if (!why_not(Tier::avx512_vnni).empty()) GTEST_SKIP() << why_not(Tier::avx512_vnni);
  for (const reference::Fill fill : reference::kFills) {
    for (const std::int64_t group : {32, 64, 128, 256}) {
      for (const std::int64_t k : {std::int64_t{37}, group, 3 * group + 16, std::int64_t{5121}}) {
        const auto p = reference::make_grouped(1, 112, k, group, fill, 9);  // 7 panels
        const auto packed = PackedWeights::pack(p.plain.weights.values, {112, k},
                                                {std::span<const float>(p.scales), group});
        const auto y = Activations::from_int8(p.plain.y, 1, k);
        ASSERT_TRUE(packed && y);
        const detail::CpuWeights& w = packed->cpu();
        std::vector<std::int32_t> sums;
        for (std::int64_t at = 0; at < k; at += group) {
          const auto from = y->row(0).begin() + at;
          sums.push_back(std::accumulate(from, from + std::min(group, k - at), 0));
        }
        std::vector<float> values;
        for (const kernels::Table* table :
             {&kernels::kScalar, &kernels::kAvx512, table_of(Tier::avx512_vnni)}) {
          std::vector<float> out(112, -1.0f);
          table->grouped_gemv({w.bytes.get(), w.blocks, w.group_blocks(), w.groups(), w.panels,
                               y->detail().codes.get(), sums.data(), w.group_scales.data(),
                               out.data()});
          if (values.empty()) values = out;
          EXPECT_EQ(std::memcmp(values.data(), out.data(), 112 * sizeof(float)), 0)
              << group << " of " << k;
        }
      }
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
}

TEST(TernaryMultiply, BlocksOfScalesAreGroupsOfARow) {
  auto p = reference::make_grouped(3, 5, 512, 128, reference::Fill::random, 9);
  p.plain.weights.scale_block = 128;
  p.plain.weights.scales = p.scales;
  const auto packed = PackedWeights::pack(p.plain.weights);
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(packed->scale_group(), 128);
  EXPECT_EQ(packed->group_scales(), p.scales);
  EXPECT_TRUE(packed->row_scales().empty());
  const Codes again = packed->unpack();
  EXPECT_EQ(again.values, p.plain.weights.values);
  EXPECT_EQ(again.scale_block, 128);
  EXPECT_EQ(again.scales, p.scales);
  const auto y = Activations::from_int8(p.plain.y, 3, 512, p.plain.steps);
  const auto engine = CpuEngine::create();
  std::vector<float> out(15);
  ASSERT_TRUE(y && engine && engine->multiply(*packed, *y, std::span(out)));
  EXPECT_EQ(out, p.values);
  // Sums of codes mean nothing where each group has a scale of its own.
  std::vector<std::int32_t> sums(15, 7);
  EXPECT_EQ(engine->multiply(*packed, *y, std::span(sums)).error().kind,
            ErrorKind::not_representable);
  EXPECT_EQ(sums, std::vector<std::int32_t>(15, 7));
  EXPECT_EQ(PackedWeights::pack(p.plain.weights, Form::three_trits).error().kind,
            ErrorKind::not_representable);
  // Blocks over the whole tensor that rows do not begin with.
  Codes codes{{2, 48}, std::vector<std::int8_t>(96, 1), 32, {1, 2, 3}};
  EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::not_representable);
  codes = {{2, 1024}, std::vector<std::int8_t>(2048, 1), 512, {1, 2, 3, 4}};
  const auto refused = PackedWeights::pack(codes);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("32, 64, 128 or 256"), std::string::npos);
}

TEST(TernaryMultiply, FilesWithScalesByBlockAreMultipliedAsTheyAre) {
  for (const FormatId id : {FormatId::tq1_0, FormatId::tq2_0, FormatId::i2s_bitnet_rs}) {
    const std::int64_t block = format(id).scale_block;
    auto p = reference::make_grouped(2, 7, 1024, block, reference::Fill::random, 5);
    for (float& scale : p.scales)  // f16 numbers
      scale = std::fabs(scale) < 0x1p-24f ? 0.5f : std::clamp(scale, -65504.0f, 65504.0f);
    p.plain.weights.scale_block = block;
    p.plain.weights.scales = p.scales;
    p.multiply();
    EncodeOptions options;
    options.round_scales = true;
    const auto encoded = encode(p.plain.weights, id, options);
    ASSERT_TRUE(encoded) << encoded.error().message;
    const auto packed = PackedWeights::pack(*encoded);
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(packed->scale_group(), block);
    const auto y = Activations::from_int8(p.plain.y, 2, 1024, p.plain.steps);
    const auto engine = CpuEngine::create();
    std::vector<float> out(14);
    ASSERT_TRUE(y && engine && engine->multiply(*packed, *y, std::span(out)));
    EXPECT_EQ(out, p.values) << format(id).name;
  }
}

TEST(TernaryMultiply, GivenScalesAreCheckedAndRead) {
  const std::vector<std::int8_t> codes(2 * 100, 1);
  const auto pack = [&](const FloatView& scales, std::int64_t group, Form form = Form::two_bit) {
    return PackedWeights::pack(codes, {2, 100}, {scales, group}, form);
  };
  const auto kind = [](const auto& result) { return result ? ErrorKind::io : result.error().kind; };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> scales(8, 0.25f);  // the last group of a row has 4 weights
  const FloatView view{std::span<const float>(scales)};
  const auto packed = pack(view, 32);
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(packed->scale_group(), 32);  // also where all are the same
  EXPECT_EQ(packed->group_scales(), scales);
  EXPECT_EQ(packed->unpack().scale_block, 4);
  for (const std::int64_t group : {-32, 1, 31, 48, 512})
    EXPECT_EQ(kind(pack(view, group)), ErrorKind::bad_input) << group;
  EXPECT_EQ(kind(pack(view, 64)), ErrorKind::wrong_size);
  EXPECT_EQ(kind(pack(view, 0)), ErrorKind::wrong_size);
  EXPECT_EQ(kind(pack(view, 32, Form::three_trits)), ErrorKind::not_representable);
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    scales[6] = bad;
    const auto refused = pack(view, 32);
    EXPECT_EQ(kind(refused), ErrorKind::not_finite);
    EXPECT_NE(refused.error().message.find("scale 2 of row 1"), std::string::npos)
        << refused.error().message;
  }
  // Products that could be infinite could also be NaN, whose bits differ between CPUs.
  scales[6] = 1e36f;
  EXPECT_EQ(kind(pack(view, 32)), ErrorKind::not_finite);
  scales[6] = 1e33f;
  EXPECT_TRUE(pack(view, 32));
  // f16, also at an odd address: the least and the greatest.
  const std::uint16_t halves[] = {0x0001, 0x8001, 0x7BFF, 0xFBFF, 0x3C00, 0x0000, 0x8000, 0x03FF};
  std::vector<std::byte> bytes(sizeof halves + 1);
  std::memcpy(bytes.data() + 1, halves, sizeof halves);
  const auto from_f16 = pack({FloatType::f16, std::span(bytes).subspan(1)}, 32);
  ASSERT_TRUE(from_f16) << from_f16.error().message;
  EXPECT_EQ(from_f16->group_scales(),
            (std::vector<float>{0x1p-24f, -0x1p-24f, 65504, -65504, 1, 0, -0.0f, 1023 * 0x1p-24f}));
  // One a row, in either form, is what Codes with such scales are.
  const float by_row[] = {0.5f, -3.0f};
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    const auto rows = pack(std::span<const float>(by_row), 0, form);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->scale_group(), 0);
    EXPECT_TRUE(std::ranges::equal(rows->row_scales(), by_row));
  }
  for (const int code : {-128, -2, 2, 127}) {
    std::vector<std::int8_t> wrong = codes;
    wrong[150] = static_cast<std::int8_t>(code);
    wrong[151] = 3;  // the first one is named
    const auto bad = PackedWeights::pack(wrong, {2, 100}, {std::span<const float>(by_row), 0});
    ASSERT_EQ(kind(bad), ErrorKind::bad_code) << code;
    EXPECT_EQ(bad.error().message,
              "the code of weight 150 is " + std::to_string(code) + ", not -1, 0 or +1");
  }
}

// By hand: 2^24 + 1 + 1 is 2^24 term by term, and a fused or reordered sum has 2^24 + 2.
TEST(TernaryMultiply, TermsOfGroupsAreAddedInOrderAndRoundedEach) {
  const std::vector<std::int8_t> codes(96, 1);
  std::vector<std::int8_t> y(96, 0);
  y[0] = y[32] = y[64] = 1;
  for (const TierStatus& status : tiers()) {
    const auto engine = CpuEngine::create({status.tier, true, 1});
    if (!engine) continue;
    const auto product = [&](float a, float b, float c) {
      const float scales[] = {a, b, c};
      const auto packed = PackedWeights::pack(codes, {1, 96}, {std::span<const float>(scales), 32});
      std::vector<float> out(1), two(2);
      const auto one = Activations::from_int8(y, 1, 96);
      auto twice = y;
      twice.insert(twice.end(), y.begin(), y.end());
      const auto rows = Activations::from_int8(twice, 2, 96);
      EXPECT_TRUE(packed && engine->multiply(*packed, *one, std::span(out)) &&
                  engine->multiply(*packed, *rows, std::span(two)));
      EXPECT_EQ(two, std::vector<float>(2, out[0]));
      return out[0];
    };
    EXPECT_EQ(product(0x1p24f, 1, 1), 0x1p24f) << to_string(status.tier);
    EXPECT_EQ(product(1, 1, 0x1p24f), 0x1p24f + 2) << to_string(status.tier);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(product(-0.0f, -0.0f, 0.0f)), 0u);
    // One scale: 3 * (1 * -0).
    EXPECT_EQ(std::bit_cast<std::uint32_t>(product(-0.0f, -0.0f, -0.0f)), 0x80000000u);
    // A fused operation would keep what the product's rounding loses.
    y[0] = 127, y[32] = -127;
    EXPECT_EQ(product(0x1.000002p0f, 0x1.000002p0f, 0), 0) << to_string(status.tier);
    y[0] = y[32] = 1;
  }
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

TEST(TernaryMultiply, AStepThatCanMakeAProductOfGroupsInfiniteIsRefused) {
  const std::vector<std::int8_t> codes(64, 1), y(64, 127);
  const std::vector<float> scales = {1e30f, 2e30f};
  const auto packed = PackedWeights::pack(codes, {1, 64}, {std::span<const float>(scales), 32});
  ASSERT_TRUE(packed);
  alignas(64) std::byte saved[4096];
  const std::span<std::byte> room(saved, packed->saved_bytes());
  ASSERT_LE(packed->saved_bytes(), sizeof saved);
  ASSERT_TRUE(packed->save(room));
  const auto engine = CpuEngine::create();
  for (const auto& weights : {*packed, *PackedWeights::view(room)}) {
    // Terms of 4.06e33 and 8.13e33: times a step of 1e4 they are finite, and times 1e5 they are
    // not.
    for (const auto& [step, fits] : {std::pair{1e4f, true}, {1e5f, false}, {-1e5f, false}}) {
      const auto rows = Activations::from_int8(y, 1, 64, std::vector<float>{step});
      std::vector<float> out(1, -7.0f);
      const auto done = engine->multiply(weights, *rows, std::span(out));
      ASSERT_EQ(done.has_value(), fits) << step;
      if (fits) {
        EXPECT_TRUE(std::isfinite(out[0]));
      } else {
        EXPECT_EQ(done.error().kind, ErrorKind::not_finite);
        EXPECT_EQ(out[0], -7.0f);
      }
    }
  }
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

TEST(TernaryEngine, ARowOfZerosKeepsItsScale) {
  Codes codes;
  codes.shape = {2, 64};
  codes.values.assign(128, 0);
  codes.values[64] = 1;
  codes.scale_block = 64;
  codes.scales = {-0.5f, 0.25f};
  const auto weights = PackedWeights::pack(codes);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->row_scales()[0], -0.5f);
  const std::vector<std::int8_t> y(64, 3);
  const auto activations = Activations::from_int8(y, 1, 64);
  const auto engine = CpuEngine::create();
  std::vector<float> out(2);
  ASSERT_TRUE(activations && engine && engine->multiply(*weights, *activations, std::span(out)));
  EXPECT_TRUE(out[0] == 0 && std::signbit(out[0]));  // 0 * (1 * -0.5)
  EXPECT_EQ(out[1], 0.75f);
}

TEST(TernaryEngine, EnvironmentNamesTheTier) {
  setenv("GPUREADY_TERNARY_TIER", "scalar", 1);
  const auto engine = CpuEngine::create();
  // One of another architecture: a recorded fallback, and an error of a strict engine.
  const Tier foreign = why_not(Tier::neon).empty() ? Tier::avx2 : Tier::neon;
  setenv("GPUREADY_TERNARY_TIER", std::string(to_string(foreign)).c_str(), 1);
  const auto lax = CpuEngine::create(), strict = CpuEngine::create({{}, true, 1});
  ASSERT_TRUE(lax);
  EXPECT_FALSE(lax->fallbacks().empty());
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().kind, ErrorKind::unsupported_tier);
  setenv("GPUREADY_TERNARY_TIER", "\033[31mred", 1);
  const auto coloured = CpuEngine::create();
  ASSERT_FALSE(coloured);
  EXPECT_EQ(coloured.error().message.find('\033'), std::string::npos);
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

// A caller in C, or with a cast, can give an enum a value that it does not have.
TEST(TernaryApi, ValuesThatAnEnumDoesNotHaveAreErrors) {
  const auto unknown = [](const auto& result) {
    return !result && !result.error().message.empty();
  };
  for (const int value : {static_cast<int>(formats().size()), 99, 255, -1}) {
    const auto id = static_cast<FormatId>(value);
    const std::vector<float> values(256, 0.5f);
    const FloatView f32{std::span<const float>(values)};
    const FloatView odd(static_cast<FloatType>(value), f32.bytes);
    const Codes codes{{1, 256}, std::vector<std::int8_t>(256, 1), 0, {1.0f}};
    EXPECT_EQ(format(id).name, "unknown format");
    EXPECT_TRUE(unknown(encoded_bytes(id, {1, 256}))) << value;
    EXPECT_FALSE(published_tiling(id, {1, 256}));
    EXPECT_TRUE(unknown(encode(codes, id))) << value;
    EXPECT_TRUE(unknown(quantise(f32, {1, 256}, id))) << value;
    EXPECT_TRUE(unknown(quantise(odd, {1, 256}, FormatId::tq2_0))) << value;
    EXPECT_TRUE(unknown(quantise_absmean(odd, {1, 256}))) << value;
    QuantiseOptions options;
    options.rule = static_cast<Rule>(value);
    EXPECT_TRUE(unknown(quantise(f32, {1, 256}, FormatId::i2s_x86, options))) << value;
    EXPECT_TRUE(unknown(quantise(f32, {1, 256}, FormatId::tq2_0, options))) << value;
    Encoded encoded = *encode(codes, FormatId::tq2_0);
    encoded.format = id;
    EXPECT_TRUE(unknown(decode(encoded))) << value;
    EXPECT_TRUE(unknown(dequantise(encoded))) << value;
    EXPECT_TRUE(unknown(convert(encoded, FormatId::tq1_0))) << value;
    EXPECT_TRUE(unknown(PackedWeights::pack(encoded))) << value;
    EXPECT_TRUE(unknown(PackedWeights::pack(codes, static_cast<Form>(value)))) << value;
    const auto pack = [&](const FloatView& scales, Form form) {
      return PackedWeights::pack(codes.values, {1, 256}, {scales, 256}, form);
    };
    const FloatView one(FloatType::f32, f32.bytes.first(4));
    EXPECT_TRUE(unknown(pack(one, static_cast<Form>(value)))) << value;
    EXPECT_TRUE(unknown(pack({static_cast<FloatType>(value), one.bytes}, Form::two_bit))) << value;
    EXPECT_TRUE(unknown(Activations::quantise(odd, 1, 256))) << value;
    EXPECT_TRUE(unknown(CpuEngine::create({static_cast<Tier>(value), true, 1}))) << value;
    EXPECT_TRUE(CpuEngine::create({static_cast<Tier>(value), false, 1})) << value;
    EXPECT_FALSE(to_string(static_cast<Tier>(value)).empty());
    EXPECT_FALSE(to_string(static_cast<Form>(value)).empty());
  }
}

}  // namespace
}  // namespace gpuready::ternary
