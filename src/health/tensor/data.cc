#include "health/tensor/data.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

namespace gpuready {
namespace {

constexpr std::array kOperands = {TensorOperand::a, TensorOperand::b};

// Every chain is a multiple of this deep. The compiler makes SIMD code only of loops whose length
// it knows.
constexpr unsigned kDotStep = 64;

std::int32_t dot(const std::int16_t* a, const std::int16_t* b, unsigned count) {
  std::int32_t sum = 0;
  for (; count != 0; count -= kDotStep, a += kDotStep, b += kDotStep)
    for (unsigned k = 0; k < kDotStep; ++k) sum += std::int32_t{a[k]} * b[k];
  return sum;
}

// Uniform over the magnitudes up to the bound, of either sign. No zeros, which would spare the
// multipliers work; numbers of few bits too, because changing exponents cost power as well (on an
// H200 more than significands of full length alone).
int draw(std::mt19937_64& random, TensorType type, int bound) {
  const std::uint64_t bits = random();
  if (type == TensorType::int8) return static_cast<std::int8_t>(bits >> 56);
  const int magnitude = 1 + static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(bound));
  return bits & 1 ? -magnitude : magnitude;
}

}  // namespace

TensorBounds bounds_of(const TensorForm& form) {
  const TensorTypeInfo& type = info_of(form.type);
  if (type.accumulator_limit == 0) return {128, 128};
  const int large = (1 << type.significand_bits) - 1;
  const int small =
      static_cast<int>(type.accumulator_limit / (static_cast<unsigned>(large) * form.depth()));
  return {large, std::min(large, small)};
}

std::uint32_t encode(TensorType which, int value) {
  const TensorTypeInfo& type = info_of(which);
  const unsigned all_bits = type.bytes * 8;
  if (type.exponent_bits == 0)
    return static_cast<std::uint32_t>(value) & static_cast<std::uint32_t>((1u << all_bits) - 1);
  if (value == 0) return 0;
  const auto magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
  const auto exponent = static_cast<unsigned>(std::bit_width(magnitude)) - 1;
  const std::uint32_t bias = (1u << (type.exponent_bits - 1)) - 1;
  const std::uint32_t fraction = magnitude ^ (1u << exponent);  // without the hidden bit
  const std::uint32_t mantissa = exponent <= type.mantissa_bits
                                     ? fraction << (type.mantissa_bits - exponent)
                                     : fraction >> (exponent - type.mantissa_bits);
  return (value < 0 ? 1u << (all_bits - 1) : 0u) | (exponent + bias) << type.mantissa_bits |
         mantissa;
}

std::uint32_t tensor_fold(const std::uint32_t* values, unsigned count) {
  unsigned sums[kTensorFoldSums] = {};
  for (unsigned i = 0; i < count; ++i)
    sums[i % kTensorFoldSums] = tensor_fold_add(sums[i % kTensorFoldSums], values[i], i);
  return tensor_fold_end(sums);
}

TensorCase::TensorCase(const TensorForm& form, std::uint64_t seed)
    : form_(&form), depth_(form.depth()) {
  std::mt19937_64 random(seed ^ static_cast<std::uint64_t>(form.kernel->name.size()) << 32 ^
                         static_cast<std::uint64_t>(form.type));
  const TensorBounds bounds = bounds_of(form);
  const unsigned slice = depth_ / kTensorSlices;
  const unsigned bytes = info_of(form.type).bytes;
  const std::size_t fold_bytes =
      std::size_t{kTensorRotations} * form.threads() * sizeof(std::uint32_t);
  image_.resize(form.operand_bytes() + fold_bytes);
  for (const TensorOperand operand : kOperands) {
    const bool is_a = operand == TensorOperand::a;
    auto& values = is_a ? a_ : b_;
    const unsigned rows = form.rows(operand), length = is_a ? depth_ : 2 * depth_;
    values.resize(std::size_t{rows} * length);
    for (unsigned row = 0; row < rows; ++row) {
      std::int16_t* const start = values.data() + std::size_t{row} * length;
      for (unsigned k = 0; k < depth_; ++k) {
        const bool large = (k / slice % 2 == 0) == is_a;
        const int value = draw(random, form.type, large ? bounds.large : bounds.small);
        start[k] = static_cast<std::int16_t>(value);
        if (!is_a) start[depth_ + k] = start[k];
        const std::uint32_t bits = encode(form.type, value);
        std::memcpy(&image_[form.place(operand, row, k * bytes)], &bits, bytes);
      }
    }
  }
  for (unsigned rotation = 0; rotation < form.rotations(); ++rotation)
    for (unsigned thread = 0; thread < form.threads(); ++thread) {
      const std::uint32_t fold = golden_fold(thread, rotation);
      std::memcpy(
          &image_[form.operand_bytes() + (rotation * form.threads() + thread) * sizeof fold], &fold,
          sizeof fold);
    }
}

int TensorCase::value(TensorOperand operand, unsigned row, unsigned k) const {
  return operand == TensorOperand::a ? a_[std::size_t{row} * depth_ + k]
                                     : b_[std::size_t{row} * 2 * depth_ + k];
}

std::int32_t TensorCase::sum(TensorElement element, unsigned rotation) const {
  const unsigned shift = 2 * rotation % kTensorSlices * (depth_ / kTensorSlices);
  return dot(a_.data() + std::size_t{element.row} * depth_,
             b_.data() + std::size_t{element.column} * 2 * depth_ + shift, depth_);
}

std::uint32_t TensorCase::golden(TensorElement element, unsigned rotation) const {
  const std::int32_t exact = sum(element, rotation);
  return info_of(form_->type).exponent_bits == 0 ? static_cast<std::uint32_t>(exact)
                                                 : encode(TensorType::tf32, exact);  // fp32's bits
}

std::uint32_t TensorCase::golden_fold(unsigned thread, unsigned rotation) const {
  std::uint32_t values[kTensorMaxAccumulators];
  const unsigned count = form_->accumulators();
  for (unsigned i = 0; i < count; ++i) values[i] = golden(form_->element(thread, i), rotation);
  return tensor_fold(values, count);
}

std::shared_ptr<const TensorCase> tensor_case(const TensorForm& form, std::uint64_t seed) {
  static std::mutex mutex;
  static std::map<const TensorForm*, std::shared_ptr<const TensorCase>> cases;
  static std::uint64_t seed_of_cases = 0;
  const std::lock_guard lock(mutex);
  if (seed != seed_of_cases) cases.clear();
  seed_of_cases = seed;
  auto& found = cases[&form];
  if (!found) found = std::make_shared<const TensorCase>(form, seed);
  return found;
}

}  // namespace gpuready
