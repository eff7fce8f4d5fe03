#include "health/compute/special.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernel_abi/compute_ops.h"

namespace gpuready {
namespace {

constexpr double kWrong = std::numeric_limits<double>::infinity();

double exactly(float result, float expected) {
  const bool same = std::isnan(expected) ? std::isnan(result)
                                         : std::bit_cast<std::uint32_t>(result) ==
                                               std::bit_cast<std::uint32_t>(expected);
  return same ? 0 : kWrong;
}
double absolute(float result, double exact, double bound) {
  return std::isfinite(result) ? std::fabs(result - exact) / bound : kWrong;
}
double relative(float result, double exact, double bound) {
  return absolute(result, exact, std::fabs(exact) * bound);
}
// In units of the last place of the exact value.
double in_ulp(float result, double exact, double bound) {
  const double overflow = std::numeric_limits<float>::max();
  if (std::fabs(exact) > overflow) {
    const bool at_the_end = std::fabs(result) >= std::numeric_limits<float>::max();
    return at_the_end && std::signbit(result) == std::signbit(exact) ? 0 : kWrong;
  }
  const int exponent = std::max(std::ilogb(exact), -126);
  if (std::isinf(result) && std::ilogb(exact) == 127)  // infinity as the number after the largest
    return (std::ldexp(1.0, 128) - std::fabs(exact)) / (std::ldexp(1.0, 127 - 23) * bound);
  return absolute(result, exact, std::ldexp(bound, exponent - 23));
}
// Distance from the correctly rounded value, counted in fp32 numbers; positive values only.
double in_steps(float result, double exact, double bound) {
  if (std::isnan(result) || std::signbit(result)) return kWrong;
  const auto got = std::bit_cast<std::uint32_t>(result);
  const auto best = std::bit_cast<std::uint32_t>(static_cast<float>(exact));
  return (got > best ? got - best : best - got) / bound;
}

std::optional<double> trigonometric(double x, float result, double exact, double near_exponent) {
  const double periods = std::fabs(x) / std::numbers::pi;
  if (periods > 100) return std::nullopt;
  const double exponent = periods <= 1 ? near_exponent : periods <= 2 ? -20.5 : -14.7;
  return absolute(result, exact, std::exp2(exponent));
}

}  // namespace

std::optional<double> special_function_error(unsigned op, std::uint32_t bits,
                                             std::uint32_t result_bits) {
  const float x = std::bit_cast<float>(bits), result = std::bit_cast<float>(result_bits);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool infinite = std::isinf(x), negative = std::signbit(x);
  const float signed_zero = std::copysign(0.0f, x);
  if (std::isnan(x)) return exactly(result, kNan);
  const bool needs_positive = op == kOpLg2 || op == kOpRsqrt || op == kOpSqrtApprox;
  if (needs_positive && negative && x != 0) {
    if (std::fpclassify(x) == FP_SUBNORMAL) return std::nullopt;
    return exactly(result, kNan);
  }
  const double exact_x = x;
  switch (op) {
    case kOpSin:
      if (infinite) return exactly(result, kNan);
      if (x == 0) return exactly(result, signed_zero);
      return trigonometric(exact_x, result, std::sin(exact_x), -21.41);
    case kOpCos:
      if (infinite) return exactly(result, kNan);
      if (x == 0) return exactly(result, 1);
      return trigonometric(exact_x, result, std::cos(exact_x), -21.19);
    case kOpEx2:
      if (infinite) return exactly(result, negative ? 0 : kInfinity);
      if (x == 0) return exactly(result, 1);
      return in_steps(result, std::exp2(exact_x), 2);
    case kOpLg2: {
      if (x == 0) return exactly(result, -kInfinity);
      if (infinite) return exactly(result, kInfinity);
      const double exact = std::log2(exact_x), bound = std::exp2(-22);
      return exact_x > 0.5 && exact_x < 2 ? absolute(result, exact, bound)
                                          : relative(result, exact, bound);
    }
    case kOpRcp:
      if (infinite) return exactly(result, signed_zero);
      if (x == 0) return exactly(result, std::copysign(kInfinity, x));
      return in_ulp(result, 1 / exact_x, 1);
    case kOpRsqrt:
      if (x == 0) return exactly(result, std::copysign(kInfinity, x));
      if (infinite) return exactly(result, 0);
      return relative(result, 1 / std::sqrt(exact_x), std::exp2(-22.9));
    case kOpSqrtApprox:
      if (x == 0) return exactly(result, signed_zero);
      if (infinite) return exactly(result, kInfinity);
      return relative(result, std::sqrt(exact_x), std::exp2(-23));
    case kOpTanh:
      if (infinite) return exactly(result, std::copysign(1.0f, x));
      if (x == 0) return exactly(result, signed_zero);
      return relative(result, std::tanh(exact_x), std::exp2(-11));
    default:
      return std::nullopt;
  }
}

}  // namespace gpuready
