// Quantising and packing by vectors and threads, against the plainest statement of each rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gpuready/ternary.h"
#include "kernel_abi/ternary_weights.h"
#include "ternary/cpu/tiers.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/share.h"

namespace gpuready::ternary {
namespace {

using kernels::WeightTable;

std::vector<const WeightTable*> tables() {
  std::vector<const WeightTable*> all = {&kernels::kWeightsScalar};
  if (&weight_table() != all[0]) all.push_back(&weight_table());
  return all;
}

constexpr FloatType kTypes[] = {FloatType::f32, FloatType::f16, FloatType::bf16};

// Finite words of any bits, every third of a usual size, behind one byte so that none is aligned.
struct Words {
  FloatType type;
  std::vector<std::uint8_t> bytes;
  std::vector<float> values;
  Words(FloatType t, std::size_t count, unsigned seed) : type(t), bytes(1 + count * bytes_of(t)) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < count; ++i) {
      for (bool finite = false; !finite;) {
        std::uint32_t bits = random();
        if (i % 3 == 0) bits = f32_to_f16(static_cast<float>(random() % 1000) * 1e-7f);
        if (i % 3 == 0 && t != FloatType::f16) {
          const float usual = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 2e-8f;
          bits = std::bit_cast<std::uint32_t>(usual) >> (t == FloatType::f32 ? 0 : 16);
        }
        std::memcpy(bytes.data() + 1 + i * bytes_of(t), &bits, bytes_of(t));
        float value;
        read_floats(view(), i, 1, &value);
        finite = std::isfinite(value);
        if (finite) values.push_back(value);
      }
    }
  }
  FloatView view() const { return {type, std::as_bytes(std::span(bytes).subspan(1))}; }
};

TEST(TernaryWeights, FormsAreCalledByWhatTheyPack) {
  EXPECT_EQ(to_string(Form::two_bit), "two-bit");
  EXPECT_EQ(to_string(Form::three_trits), "three-trits");
}

TEST(TernaryWeights, CodesAreTheSignAboveTheThreshold) {
  for (const FloatType type : kTypes) {
    const Words words(type, 333, 1);
    const int t = static_cast<int>(type);
    for (const std::size_t count : {0, 1, 31, 32, 33, 64, 333}) {
      for (const std::uint32_t threshold : {0u, kernels::kInfinity[t] / 3, 20u}) {
        for (const WeightTable* table : tables()) {
          for (const int bias : {0, 1}) {
            std::vector<std::uint8_t> codes(count + 1, 0x55);
            const std::uint32_t most =
                table->codes[t](words.bytes.data() + 1, count, threshold, bias, codes.data());
            std::uint32_t expected_most = 0;
            for (std::size_t i = 0; i < count; ++i) {
              std::uint32_t bits = 0;
              std::memcpy(&bits, words.bytes.data() + 1 + i * bytes_of(type), bytes_of(type));
              const std::uint32_t sign = type == FloatType::f32 ? 1u << 31 : 1u << 15;
              const std::uint32_t magnitude = bits & (sign - 1);
              expected_most = std::max(expected_most, magnitude);
              const int code = magnitude <= threshold ? 0 : (bits & sign) != 0 ? -1 : 1;
              ASSERT_EQ(codes[i], static_cast<std::uint8_t>(code + bias)) << i;
            }
            EXPECT_EQ(most, expected_most);
            EXPECT_EQ(codes[count], 0x55);
          }
        }
      }
    }
  }
}

TEST(TernaryWeights, SumsOfMagnitudesAreInTheDocumentedOrder) {
  for (const FloatType type : kTypes) {
    const Words words(type, 2500, 2);
    for (const std::size_t count : {1, 1023, 1024, 1040, 2500}) {
      for (const WeightTable* table : tables()) {
        std::vector<double> sums(4, -1.0);
        const std::uint32_t most =
            table->sums[static_cast<int>(type)](words.bytes.data() + 1, count, sums.data());
        std::uint32_t expected_most = 0;
        for (std::size_t i = 0; i < count; ++i) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, words.bytes.data() + 1 + i * bytes_of(type), bytes_of(type));
          expected_most =
              std::max(expected_most, bits & (type == FloatType::f32 ? 0x7FFFFFFF : 0x7FFF));
        }
        EXPECT_EQ(most, expected_most);
        for (std::size_t piece = 0; piece * 1024 < count; ++piece) {
          double lanes[16] = {};
          for (std::size_t i = 0; i < std::min<std::size_t>(1024, count - piece * 1024); ++i) {
            lanes[i % 16] += std::fabs(static_cast<double>(words.values[piece * 1024 + i]));
          }
          for (int half = 8; half > 0; half /= 2) {
            for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
          }
          EXPECT_EQ(std::bit_cast<std::uint64_t>(sums[piece]),
                    std::bit_cast<std::uint64_t>(lanes[0]));
        }
        EXPECT_EQ(sums[(count + 1023) / 1024], -1.0);
      }
    }
  }
}

// As functions of a type that is known when the test runs.
template <unsigned type>
float value_of(std::uint32_t bits) {
  const std::uint16_t half = static_cast<std::uint16_t>(bits);
  return type == kWeightsF32   ? std::bit_cast<float>(bits)
         : type == kWeightsF16 ? f16_to_f32(half)
                               : bf16_to_f32(half);
}
template <unsigned type, class IsZero>
void expect_last(std::uint32_t threshold, IsZero is_zero) {
  EXPECT_TRUE(is_zero(value_of<type>(threshold))) << type << ' ' << threshold;
  if (threshold + 1 < kernels::kInfinity[type]) {
    EXPECT_FALSE(is_zero(value_of<type>(threshold + 1))) << type << ' ' << threshold;
  }
}
template <unsigned type>
void check_rules() {
  expect_last<type>(kSignThreshold<type>, [](float w) { return static_cast<double>(w) < 1e-6; });
  std::mt19937 random(7);
  std::vector<float> scales = {
      1e-5f, 131008.0f, 131007.99f, 1e30f, 3e38f, 0x1p-13f, std::nextafter(0x1p-13f, 0.0f)};
  while (scales.size() < 20000) {
    const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(random()) >> 1);
    if (scale >= 1e-5f && std::isfinite(scale)) scales.push_back(scale);
    scales.push_back(1e-5f * static_cast<float>(1 + random() % 100000));
  }
  for (const float scale : scales) {
    expect_last<type>(absmean_threshold<type>(scale),
                      [scale](float w) { return std::nearbyint(w / scale) == 0.0f; });
  }
  for (int i = 0; i < 20000; ++i) {
    std::uint32_t word = random();
    if (i % 3 == 0) word &= 0x807F001F;  // subnormals, also as halves
    for (unsigned half = 0; half < (type == kWeightsF32 ? 1 : 2); ++half) {
      const std::uint32_t bits = type == kWeightsF32 ? word : word >> 16 * half & 0xFFFF;
      const float w = value_of<type>(bits);
      if (std::isfinite(w)) {
        EXPECT_EQ(summand<type>(word, half) * kSummandUnit<type>,
                  std::fabs(static_cast<double>(w)));
      }
    }
  }
}

TEST(TernaryWeights, CodesOfPairsAreThoseOfTheirHalves) {
  std::mt19937 random(9);
  for (const std::uint32_t threshold : {0u, 16u, 0x3586u, 0x7BFFu, 0x7FFFu}) {
    for (int i = 0; i < 20000; ++i) {
      std::uint32_t word = static_cast<std::uint32_t>(random());
      if (i % 2 == 0) word = (word & 0x80038003u) + threshold * 0x10001u;  // about the threshold
      const std::uint32_t codes = code_pair(word, spare_of(threshold));
      for (const int half : {0, 1}) {
        const std::uint32_t bits = word >> 16 * half & 0xFFFF;
        const std::uint32_t code = (bits & 0x7FFF) <= threshold ? 1 : bits >> 15 ? 0 : 2;
        ASSERT_EQ(codes >> (16 * half + 14) & 3, code) << word;
      }
      ASSERT_EQ(codes & 0x3FFF3FFFu, 0u);
    }
  }
}

TEST(TernaryWeights, ThresholdsAndSummandsByBitsAreTheRulesValues) {
  check_rules<kWeightsF32>();
  check_rules<kWeightsF16>();
  check_rules<kWeightsBf16>();
}

// In units of a power of two, where the least are subnormal, sums round as they do in ones.
TEST(TernaryWeights, SumsInTheUnitOfTheBitsRoundAsThoseOfTheValues) {
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    double by_bits = 0, by_value = 0;
    const unsigned exponents = 1 + random() % 40, first = random() % 200;
    for (int i = 0; i < 64; ++i) {
      const std::uint32_t word = (first + random() % exponents) << 23 | random() >> 9;
      by_bits += summand<kWeightsF32>(word, 0);
      by_value += static_cast<double>(std::bit_cast<float>(word));
    }
    ASSERT_EQ(by_bits * kSummandUnit<kWeightsF32>, by_value);
  }
}

// The rules themselves, a weight at a time, for a tensor that several threads share.
TEST(TernaryWeights, PlanesHoldEachRulesCodesWhateverTheThreads) {
  const Shape shape{256, 1152};
  const std::size_t count = 256 * 1152;  // more than a thread takes at once
  for (const FloatType type : kTypes) {
    const Words words(type, count, 3);
    std::vector<double> sums(512);  // 288 pieces, and zeros up to a power of two
    kernels::kWeightsScalar.sums[static_cast<int>(type)](words.bytes.data() + 1, count,
                                                         sums.data());
    for (std::size_t n = sums.size(); n > 1; n /= 2) {
      for (std::size_t i = 0; i < n / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    }
    float greatest = 0;
    for (const float w : words.values) greatest = std::max(greatest, std::fabs(w));
    const float mean = std::max(1e-5f, static_cast<float>(sums[0] / static_cast<double>(count)));
    for (const Rule rule : {Rule::of_format, Rule::absmean}) {
      std::vector<std::uint8_t> expected(count / 4 + 32);
      for (std::size_t i = 0; i < count; ++i) {
        const float w = words.values[i], x = w / mean;
        const bool zero = std::fabs(static_cast<double>(w)) < 1e-6;
        const int code = rule == Rule::absmean ? (x > 0.5f) - (x < -0.5f)
                         : zero                ? 0
                         : w > 0               ? 1
                                               : -1;
        expected[i / 128 * 32 + i % 32] |=
            static_cast<std::uint8_t>((code + 1) << (6 - 2 * (i % 128 / 32)));
      }
      const float scale = rule == Rule::absmean ? mean : greatest;
      std::memcpy(expected.data() + count / 4, &scale, 4);
      for (const unsigned threads : {1u, 3u}) {
        QuantiseOptions options{rule, {}};
        options.encode.threads = threads;
        const auto encoded = quantise(words.view(), shape, FormatId::i2s_x86, options);
        ASSERT_TRUE(encoded);
        EXPECT_TRUE(encoded->bytes == expected);
        std::vector<std::uint8_t> bytes(expected.size(), 0xFF);
        const auto into = quantise_into(bytes, words.view(), shape, FormatId::i2s_x86, options);
        ASSERT_TRUE(into);
        EXPECT_TRUE(bytes == expected);
        EXPECT_TRUE(into->bytes.empty());
      }
    }
  }
}

TEST(TernaryWeights, QuantisingIntoMemoryGivesEveryFormatsBytes) {
  const Words words(FloatType::bf16, 96 * 512, 4);
  for (const Format& f : formats()) {
    for (const Rule rule : {Rule::of_format, Rule::absmean}) {
      QuantiseOptions options{rule, {}};
      options.encode.round_scales = true;
      const auto own = quantise(words.view(), {96, 512}, f.id, options);
      std::vector<std::uint8_t> bytes(own ? own->bytes.size() : 0, 0xFF);
      const auto into = quantise_into(bytes, words.view(), {96, 512}, f.id, options);
      ASSERT_EQ(own.has_value(), into.has_value()) << f.name;
      if (!own) continue;
      EXPECT_EQ(bytes, own->bytes) << f.name;
      EXPECT_EQ(into->scales, own->scales) << f.name;
      bytes.push_back(0);
      EXPECT_EQ(quantise_into(bytes, words.view(), {96, 512}, f.id, options).error().kind,
                ErrorKind::wrong_size);
    }
  }
}

TEST(TernaryWeights, FirstWeightThatIsNotFiniteIsNamedWhicheverThreadMeetsIt) {
  std::vector<float> values(std::size_t{1} << 20, 0.5f);
  values[700001] = std::numeric_limits<float>::infinity();
  values[900000] = std::numeric_limits<float>::quiet_NaN();
  for (const Rule rule : {Rule::of_format, Rule::absmean}) {
    for (const FormatId id : {FormatId::i2s_x86, FormatId::tq2_0, FormatId::w2a8_gpu}) {
      const auto encoded = quantise(FloatView(values), {1024, 1024}, id, {rule, {}});
      ASSERT_FALSE(encoded);
      EXPECT_EQ(encoded.error().message, "weight 700001 is infinite");
    }
  }
}

// A byte of a block's line, given the code of each quad row at its place.
template <class CodeOf>
int two_bit_byte(CodeOf code) {
  return code(0) | code(1) << 2 | code(2) << 4 | code(3) << 6;
}
template <class CodeOf>
int three_trits_byte(std::size_t line, CodeOf code) {
  const auto triple = [&](std::size_t t) {
    return 9 * code(3 * t) + 3 * code(3 * t + 1) + code(3 * t + 2);
  };
  const auto bit = [&](std::size_t t, int index) { return triple(t) >> index & 1; };
  constexpr struct {
    std::size_t triple;
    int bit;
  } kUpper[5][3] = {{{5, 2}, {5, 3}, {5, 4}},
                    {{5, 0}, {5, 1}, {7, 1}},
                    {{6, 2}, {6, 3}, {6, 4}},
                    {{7, 0}, {6, 0}, {6, 1}},
                    {{7, 2}, {7, 3}, {7, 4}}};
  int byte = triple(line);
  for (int i = 0; i < 3; ++i) {
    byte |= bit(kUpper[line][i].triple, kUpper[line][i].bit) << (5 + i);
  }
  return byte;
}

TEST(TernaryWeights, PanelsHoldTheDocumentedBytesAndSums) {
  std::mt19937 random(5);
  for (const Shape shape : {Shape{1, 1}, Shape{16, 288}, Shape{17, 289}, Shape{5, 1000},
                            Shape{40, 644}, Shape{33, 79}}) {
    Codes codes;
    codes.shape = shape;
    codes.scales = {1.0f};
    const std::size_t rows = static_cast<std::size_t>(shape.rows);
    const std::size_t cols = static_cast<std::size_t>(shape.cols);
    for (std::size_t i = 0; i < rows * cols; ++i) {
      codes.values.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1));
    }
    const auto code = [&](std::size_t row, std::size_t col) {
      return row < rows && col < cols ? codes.values[row * cols + col] + 1 : 1;
    };
    for (const Form form : {Form::two_bit, Form::three_trits}) {
      const std::size_t block_cols = form == Form::two_bit ? 16 : 96;
      const std::size_t block_bytes = form == Form::two_bit ? 64 : 320;
      const std::size_t blocks = (cols + block_cols - 1) / block_cols;
      for (const WeightTable* table : tables()) {
        for (std::size_t panel = 0; panel < (rows + 15) / 16; ++panel) {
          std::vector<std::uint8_t> packed(blocks * block_bytes);
          std::int32_t sums[16];
          const std::size_t first = 16 * panel;
          ASSERT_TRUE(table->pack[static_cast<int>(form)]({codes.values.data() + first * cols, cols,
                                                           std::min<std::size_t>(16, rows - first),
                                                           cols, packed.data(), sums}));
          for (std::size_t i = 0; i < packed.size(); ++i) {
            const std::size_t row = first + i % 64 / 4;
            const std::size_t col = i / block_bytes * block_cols + i % 4;
            ASSERT_EQ(packed[i],
                      form == Form::two_bit
                          ? two_bit_byte([&](std::size_t q) { return code(row, col + 4 * q); })
                          : three_trits_byte(i % block_bytes / 64, [&](std::size_t q) {
                              return code(row, col + 4 * q);
                            }));
          }
          for (std::size_t r = 0; r < 16; ++r) {
            int sum = 0;
            for (std::size_t c = 0; c < cols; ++c) sum += code(first + r, c) - 1;
            EXPECT_EQ(sums[r], sum);
          }
        }
      }
    }
  }
}

TEST(TernaryWeights, PackingFromAnEncodedTensorIsPackingItsCodes) {
  std::mt19937 random(6);
  for (const Shape shape : {Shape{36, 640}, Shape{96, 512}, Shape{40, 16}, Shape{128, 129}}) {
    Codes codes;
    codes.shape = shape;
    codes.scales = {0.75f};
    for (std::int64_t i = 0; i < shape.rows * shape.cols; ++i) {
      codes.values.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1));
    }
    for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row}) {
      auto encoded = encode(codes, id);
      ASSERT_TRUE(encoded);
      for (const Form form : {Form::two_bit, Form::three_trits}) {
        const auto a = PackedWeights::pack(codes, form, 1), b = PackedWeights::pack(*encoded, form);
        ASSERT_TRUE(a && b);
        EXPECT_EQ(std::memcmp(a->cpu().bytes.get(), b->cpu().bytes.get(), a->bytes()), 0);
        EXPECT_EQ(a->cpu().sums, b->cpu().sums);
        EXPECT_EQ(b->row_scales()[0], 0.75f);
      }
      encoded->bytes[1] |= 3;
      encoded->bytes[1] |= 0xC;
      EXPECT_EQ(PackedWeights::pack(*encoded).error().kind, ErrorKind::bad_code);
    }
    codes.values[7] = 2;
    EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::bad_code);
    codes.values[7] = -128;
    EXPECT_EQ(PackedWeights::pack(codes).error().kind, ErrorKind::bad_code);
    EXPECT_EQ(encode(codes, FormatId::i2s_four_row).error().kind, ErrorKind::bad_code);
  }
}

TEST(TernaryWeights, SharedWorkCoversEveryElementOnce) {
  for (const std::size_t count : {0, 1, 99, 100, 101, 1000}) {
    std::vector<int> seen(count);
    share(count, 100, 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace
}  // namespace gpuready::ternary
