#include "bench/native/narrow.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace gpuready::bench {
namespace {

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// IEEE 754 binary16, to nearest with ties to even.
std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);                      // size = f * 2^exponent, f in [0.5, 1)
  if (size == 0 || exponent < -13) exponent = -13;  // 0 and subnormals: steps of 2^-24
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  // 1024 to 2047 steps in a binade; 2048 begins the next one, as the sum has it.
  return static_cast<std::uint16_t>(sign |
                                    (steps + (static_cast<std::uint32_t>(exponent + 13) << 10)));
}

float from_fp16(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const float fraction = static_cast<float>(half & 1023);
  const float size = exponent == 31  ? (half & 1023 ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(fraction, -24)
                                     : std::ldexp(fraction + 1024, exponent - 25);
  return half & 0x8000 ? -size : size;
}

}  // namespace

std::vector<unsigned char> narrowed(std::span<const float> values, Dtype dtype) {
  std::vector<unsigned char> bytes(values.size() * bytes_of(dtype));
  if (bytes_of(dtype) == 4) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = dtype == Dtype::bf16 ? to_bf16(values[i]) : to_fp16(values[i]);
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

std::vector<float> widened(std::span<const unsigned char> bytes, Dtype dtype) {
  std::vector<float> values(bytes.size() / bytes_of(dtype));
  if (bytes_of(dtype) == 4) {
    std::memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, 2);
    values[i] =
        dtype == Dtype::bf16 ? std::bit_cast<float>(std::uint32_t{half} << 16) : from_fp16(half);
  }
  return values;
}

}  // namespace gpuready::bench
