// Quantising on the GPU: rows of activations, and weights to I2_S by the sign rule. Each operation
// rounds as the CPU's does, so that the bytes are the same.
#include "kernels/ternary_device.cuh"

namespace gpuready::device {
namespace {

using ternary::kNoColumn;
using ternary::TernaryActivationParams;
using ternary::TernarySignParams;

inline constexpr u32 kRowThreads = 1024, kSignThreads = 256;

GPUREADY_DEVICE float half_to_float(u32 bits) {
  const u32 sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FFu;
  if (exponent == 31) return float_of(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = multiply(static_cast<float>(fraction), 0x1p-24f);  // exact
  return float_of(bits_of(magnitude) | sign);
}

template <u32 kType>
GPUREADY_DEVICE float value_at(u64 values, u64 index) {
  if constexpr (kType == 0) return reinterpret_cast<const float*>(values)[index];
  const u32 bits = reinterpret_cast<const unsigned short*>(values)[index];
  if constexpr (kType == 1) return half_to_float(bits);
  return float_of(bits << 16);
}

// The greatest and the least of the block's values, at all threads. `scratch` has 32 words.
template <class Pick>
GPUREADY_DEVICE u32 reduce_block(u32 value, u32* scratch, u32 neutral, Pick pick) {
  for (u32 mask = 16; mask > 0; mask /= 2) value = pick(value, shuffle_xor(value, mask));
  block_barrier();
  if (thread_index() % 32 == 0) scratch[thread_index() / 32] = value;
  block_barrier();
  value = thread_index() % 32 < block_threads() / 32 ? scratch[thread_index() % 32] : neutral;
  for (u32 mask = 16; mask > 0; mask /= 2) value = pick(value, shuffle_xor(value, mask));
  return value;
}

struct Greatest {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a > b ? a : b; }
};
struct Least {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a < b ? a : b; }
};
struct Sum {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a + b; }
};

// clamp(round-half-even(x * scale), -128, 127): adding 1.5 * 2^23 rounds.
GPUREADY_DEVICE int code_of(float x, float scale) {
  const float shifted = multiply(x, scale) + 12582912.0f;
  const int q = static_cast<int>(bits_of(shifted)) - 0x4B400000;
  return q > 127 ? 127 : q < -128 ? -128 : q;
}

template <u32 kType>
GPUREADY_DEVICE void quantise_row(const TernaryActivationParams& p, u32 row, u32* scratch) {
  const u64 values = p.values_address + static_cast<u64>(row) * p.cols * (kType == 0 ? 4 : 2);
  u32 greatest = 0;
  for (u32 i = thread_index(); i < p.cols; i += kRowThreads)
    greatest = Greatest()(greatest, bits_of(value_at<kType>(values, i)) & 0x7FFFFFFFu);
  greatest = reduce_block(greatest, scratch, 0, Greatest());
  u32 bad = kNoColumn;
  if (greatest >= 0x7F800000u) {
    for (u32 i = thread_index(); i < p.cols; i += kRowThreads)
      if ((bits_of(value_at<kType>(values, i)) & 0x7FFFFFFFu) >= 0x7F800000u) bad = Least()(bad, i);
    bad = reduce_block(bad, scratch, kNoColumn, Least());
  }
  const bool finite = bad == kNoColumn;
  const float limit = greatest > bits_of(1e-5f) ? float_of(greatest) : 1e-5f;
  const float scale = 127.0f / limit;
  u32* codes = reinterpret_cast<u32*>(p.codes_address + static_cast<u64>(row) * p.stride);
  u32 sum = 0;
  for (u32 word = thread_index(); word < p.stride / 4; word += kRowThreads) {
    u32 four = 0;
#pragma unroll
    for (u32 b = 0; b < 4; ++b) {
      const u32 i = 4 * word + b;
      if (i >= p.cols || !finite) continue;
      const int q = code_of(value_at<kType>(values, i), scale);
      sum += static_cast<u32>(q);
      four |= (static_cast<u32>(q) & 0xFF) << 8 * b;
    }
    codes[word] = four;
  }
  sum = reduce_block(sum, scratch, 0, Sum());
  if (thread_index() == 0)
    reinterpret_cast<GpuActivationRow*>(p.rows_address)[row] = GpuActivationRow{
        finite ? limit / 127.0f : float_of(0x7FFFFFFFu), static_cast<int>(sum), bad, 0};
}

template <u32 kType>
GPUREADY_DEVICE void quantise_rows(const TernaryActivationParams& p) {
  GPUREADY_SHARED static u32 scratch[32];
  for (u32 row = block_index(); row < p.rows; row += block_count())
    quantise_row<kType>(p, row, scratch);
}

// The code, w + 1: zero where the magnitude as f64 is below 1e-6, which is where its bits are below
// those of the least f32 that is not.
inline constexpr u32 kLeastNotZero = 0x358637BEu;
GPUREADY_DEVICE u32 sign_code(u32 bits) {
  if ((bits & 0x7FFFFFFFu) < kLeastNotZero) return 1;
  return bits >> 31 ? 0 : 2;
}

template <u32 kType>
GPUREADY_DEVICE void load_bits(u64 values, u64 first, u32 (&bits)[4]) {
  if constexpr (kType == 0) {
    const Words4 w = load_weights(reinterpret_cast<const char*>(values + first * 4));
#pragma unroll
    for (u32 i = 0; i < 4; ++i) bits[i] = w[i];
  } else {
    u32 low, high;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];"
                 : "=r"(low), "=r"(high)
                 : "l"(values + first * 2));
    const u32 halves[4] = {low & 0xFFFF, low >> 16, high & 0xFFFF, high >> 16};
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      bits[i] = kType == 1 ? bits_of(half_to_float(halves[i])) : halves[i] << 16;
  }
}

template <u32 kType>
GPUREADY_DEVICE void quantise_signs(const TernarySignParams& p) {
  GPUREADY_SHARED static u32 scratch[32];
  u32* const scale = reinterpret_cast<u32*>(p.out_address + p.count / 4);
  u64* const bad = reinterpret_cast<u64*>(p.bad_address);
  if (p.begin) {
    if (block_index() == 0 && thread_index() < 8) scale[thread_index()] = 0;
    if (block_index() == 0 && thread_index() == 0) *bad = ~0ull;
    return;
  }
  // A thread makes one word, four bytes of a block of 4 * planes bytes.
  const u32 plane = p.block / 4, words_of_block = plane / 4;
  const u64 words = p.count / 16, stride = static_cast<u64>(block_count()) * kSignThreads;
  u32 greatest = 0;
  for (u64 word = static_cast<u64>(block_index()) * kSignThreads + thread_index(); word < words;
       word += stride) {
    const u64 first = word / words_of_block * p.block + word % words_of_block * 4;
    u32 bits[4][4];
#pragma unroll
    for (u32 f = 0; f < 4; ++f) load_bits<kType>(p.values_address, first + f * plane, bits[f]);
    u32 out = 0;
#pragma unroll
    for (u32 f = 0; f < 4; ++f) {
#pragma unroll
      for (u32 b = 0; b < 4; ++b) {
        out |= sign_code(bits[f][b]) << (8 * b + 6 - 2 * f);
        const u32 magnitude = bits[f][b] & 0x7FFFFFFFu;
        greatest = Greatest()(greatest, magnitude);
        if (magnitude >= 0x7F800000u) atomic_min(bad, first + f * plane + b);
      }
    }
    reinterpret_cast<u32*>(p.out_address)[word] = out;
  }
  greatest = reduce_block(greatest, scratch, 0, Greatest());
  if (thread_index() == 0)
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(scale), "r"(greatest) : "memory");
}

}  // namespace

GPUREADY_KERNEL(1024, 1) void gpuready_ternary_activations(TernaryActivationParams p) {
  let_next_start();
  await_previous();
  if (p.value_type == 0)
    quantise_rows<0>(p);
  else if (p.value_type == 1)
    quantise_rows<1>(p);
  else
    quantise_rows<2>(p);
}

GPUREADY_KERNEL(256, 4) void gpuready_ternary_signs(TernarySignParams p) {
  if (p.value_type == 0)
    quantise_signs<0>(p);
  else if (p.value_type == 1)
    quantise_signs<1>(p);
  else
    quantise_signs<2>(p);
}

}  // namespace gpuready::device
