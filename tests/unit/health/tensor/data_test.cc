#include "health/tensor/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

namespace gpuready {
namespace {

// The number behind the bits, by the definition of a binary floating-point format.
double decode(TensorType which, std::uint32_t bits) {
  const TensorTypeInfo& type = info_of(which);
  if (type.exponent_bits == 0) return static_cast<std::int8_t>(bits);
  const double sign = bits >> (type.bytes * 8 - 1) & 1 ? -1 : 1;
  const int exponent =
      static_cast<int>(bits >> type.mantissa_bits & ((1u << type.exponent_bits) - 1));
  const double fraction = std::ldexp(static_cast<double>(bits & ((1u << type.mantissa_bits) - 1)),
                                     -static_cast<int>(type.mantissa_bits));
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                       : sign * std::ldexp(1 + fraction, exponent - bias);
}

std::uint32_t bits_at(const TensorCase& data, TensorOperand operand, unsigned row, unsigned k) {
  const unsigned bytes = info_of(data.form().type).bytes;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &data.image()[data.form().place(operand, row, k * bytes)], bytes);
  return bits;
}

TEST(TensorData, KnownNumbersHaveTheirKnownBits) {
  EXPECT_EQ(encode(TensorType::bf16, 255), 0x437fu);
  EXPECT_EQ(encode(TensorType::bf16, -1), 0xbf80u);
  EXPECT_EQ(encode(TensorType::fp16, 2047), 0x67ffu);
  EXPECT_EQ(encode(TensorType::tf32, -3), std::bit_cast<std::uint32_t>(-3.0f));
  EXPECT_EQ(encode(TensorType::tf32, 1 << 24), std::bit_cast<std::uint32_t>(16777216.0f));
  EXPECT_EQ(encode(TensorType::int8, -128), 0x80u);
  EXPECT_EQ(encode(TensorType::fp8_e4m3, 1), 0x38u);
  EXPECT_EQ(encode(TensorType::fp8_e4m3, -15), 0xd7u);
  EXPECT_EQ(encode(TensorType::fp8_e5m2, 7), 0x47u);
  EXPECT_EQ(encode(TensorType::tf32, 0), 0u);
}

TEST(TensorData, EveryNumberDrawnIsExactInItsType) {
  for (const TensorForm& form : tensor_forms()) {
    const int large = bounds_of(form).large;
    for (int value = -large; value < large; ++value)
      ASSERT_EQ(decode(form.type, encode(form.type, value)), value) << form.name;
  }
}

TEST(TensorData, NoSumOfMagnitudesCanExceedWhatIsExact) {
  for (const TensorForm& form : tensor_forms()) {
    const TensorBounds bounds = bounds_of(form);
    EXPECT_GE(bounds.small, 1) << form.name;
    const auto limit = info_of(form.type).accumulator_limit;
    // Sums of int8 products are exact in 32 bits at any depth used here.
    EXPECT_LE(std::uint64_t(bounds.large) * unsigned(bounds.small) * form.depth(),
              limit ? limit : 1u << 31);
    const TensorCase data(form, 3);
    for (unsigned row = 0; row < form.rows(TensorOperand::a); row += 7)
      for (unsigned k = 0; k < form.depth(); ++k) {
        const bool large = k / (form.depth() / kTensorSlices) % 2 == 0;
        const int bound = large ? bounds.large : bounds.small;
        ASSERT_LE(std::abs(data.value(TensorOperand::a, row, k)), bound) << form.name;
      }
  }
}

TEST(TensorData, TheBurnsSignificandsHaveFullEntropy) {
  const TensorForm& burn = tensor_forms().front();
  ASSERT_EQ(burn.type, TensorType::bf16);
  ASSERT_EQ(burn.depth(), 256u);
  const TensorCase data(burn, 11);
  for (const TensorOperand operand : {TensorOperand::a, TensorOperand::b}) {
    std::array<int, 511> uses{};
    std::array<int, 9> ones{};
    int total = 0;
    for (unsigned row = 0; row < burn.rows(operand); ++row)
      for (unsigned k = 0; k < burn.depth(); ++k, ++total) {
        const int value = data.value(operand, row, k);
        ++uses.at(static_cast<std::size_t>(value + 255));
        for (int bit = 0; bit < 8; ++bit) ones[bit] += std::abs(value) >> bit & 1;
        ones[8] += value < 0;
      }
    // All of -255 to 255 but 0.
    EXPECT_EQ(std::count(uses.begin(), uses.end(), 0), 1);
    EXPECT_EQ(uses[255], 0);
    for (const int count : ones) EXPECT_NEAR(static_cast<double>(count) / total, 0.5, 0.02);
  }
}

TEST(TensorData, TheImageHoldsTheNumbers) {
  for (const TensorForm& form : tensor_forms()) {
    const TensorCase data(form, 5);
    for (const TensorOperand operand : {TensorOperand::a, TensorOperand::b})
      for (unsigned row = 0; row < form.rows(operand); row += 31)
        for (unsigned k = 0; k < form.depth(); ++k)
          ASSERT_EQ(decode(form.type, bits_at(data, operand, row, k)), data.value(operand, row, k));
  }
}

// From the image alone, slice by slice as the kernels go: the golden value is what comes out.
TEST(TensorData, GoldenValuesAreTheRotatedProducts) {
  for (const TensorForm& form : tensor_forms()) {
    const TensorCase data(form, 9);
    const unsigned deep = form.depth() / kTensorSlices;
    for (unsigned rotation = 0; rotation < form.rotations(); ++rotation)
      for (const unsigned thread : {0u, 77u, form.threads() - 1}) {
        const unsigned i = (rotation * 5 + thread) % form.accumulators();
        const TensorElement e = form.element(thread, i);
        double sum = 0;
        for (unsigned slice = 0; slice < kTensorSlices; ++slice)
          for (unsigned k = 0; k < deep; ++k) {
            const unsigned other = (slice + 2 * rotation) % kTensorSlices;
            sum += decode(form.type, bits_at(data, TensorOperand::a, e.row, slice * deep + k)) *
                   decode(form.type, bits_at(data, TensorOperand::b, e.column, other * deep + k));
          }
        const std::uint32_t bits = info_of(form.type).exponent_bits == 0
                                       ? static_cast<std::uint32_t>(static_cast<std::int32_t>(sum))
                                       : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
        ASSERT_EQ(data.golden(e, rotation), bits) << form.kernel->name;
      }
  }
}

TEST(TensorData, TheImageEndsInTheGoldenFoldsByRotationAndThread) {
  const TensorForm& form = *tensor_forms_for(80).front();
  const TensorCase data(form, 2);
  std::set<std::uint32_t> folds;
  for (unsigned rotation = 0; rotation < form.rotations(); ++rotation)
    for (unsigned thread = 0; thread < form.threads(); ++thread) {
      std::vector<std::uint32_t> values;
      for (unsigned i = 0; i < form.accumulators(); ++i)
        values.push_back(data.golden(form.element(thread, i), rotation));
      const std::uint32_t fold = tensor_fold(values.data(), form.accumulators());
      std::uint32_t stored = 0;
      std::memcpy(&stored,
                  &data.image()[form.operand_bytes() + (rotation * form.threads() + thread) * 4],
                  4);
      ASSERT_EQ(stored, fold);
      folds.insert(fold);
    }
  EXPECT_GT(folds.size(), form.rotations() * form.threads() * 99 / 100);  // all different
}

TEST(TensorData, AFoldTellsEveryChangedBit) {
  std::array<std::uint32_t, kTensorMaxAccumulators> values{};
  for (unsigned i = 0; i < values.size(); ++i) values[i] = 0x4b123457u * (i + 1);
  const std::uint32_t golden = tensor_fold(values.data(), values.size());
  for (auto& value : values)
    for (unsigned bit = 0; bit < 32; ++bit) {
      value ^= 1u << bit;
      ASSERT_NE(tensor_fold(values.data(), values.size()), golden);
      value ^= 1u << bit;
    }
}

TEST(TensorData, ABitThatIsWrongInTwoAccumulatorsDoesNotCancel) {
  std::array<std::uint32_t, kTensorMaxAccumulators> values{};
  for (unsigned i = 0; i < values.size(); ++i) values[i] = 0x4b123457u * (i + 1);
  const std::uint32_t golden = tensor_fold(values.data(), values.size());
  int missed = 0;
  for (unsigned i = 0; i < values.size(); ++i)
    for (unsigned j = i + 1; j < values.size(); ++j)
      for (const unsigned bit : {0u, 12u, 23u, 30u, 31u}) {
        values[i] ^= 1u << bit, values[j] ^= 1u << bit;
        missed += tensor_fold(values.data(), values.size()) == golden;
        values[i] ^= 1u << bit, values[j] ^= 1u << bit;
      }
  EXPECT_EQ(missed, 0);
}

TEST(TensorData, TheSameSeedGivesTheSameCaseAndAnotherAnother) {
  const TensorForm& form = *tensor_forms_for(80).front();
  EXPECT_EQ(TensorCase(form, 1).image(), TensorCase(form, 1).image());
  EXPECT_NE(TensorCase(form, 1).image(), TensorCase(form, 2).image());
  EXPECT_EQ(tensor_case(form, 1), tensor_case(form, 1));
}

}  // namespace
}  // namespace gpuready
