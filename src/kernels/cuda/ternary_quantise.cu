// Quantising on the GPU: rows of activations, and weights to I2_S by the sign and absmean rules.
// Each operation rounds as the CPU's does, so that the bytes are the same.
#include "kernel_abi/ternary_quantise.h"
#include "kernels/cuda/ternary_device.cuh"
#include "kernels/cuda/ternary_weights_device.cuh"

namespace gpuready::device {
namespace {

using ternary::activation_limit;
using ternary::activation_scale;
using ternary::activation_step;
using ternary::half_value;
using ternary::kInfinityBits;
using ternary::kNoColumn;
using ternary::quantise_activation;
using ternary::TernaryActivationParams;

inline constexpr u32 kRowThreads = ternary::kActivationThreads;

template <u32 kType>
GPUREADY_DEVICE float value_at(u64 values, u64 index) {
  if constexpr (kType == 0) return reinterpret_cast<const float*>(values)[index];
  const u32 bits = reinterpret_cast<const unsigned short*>(values)[index];
  if constexpr (kType == 1) return half_value(bits);
  return float_of(bits << 16);
}

// Four values that follow each other, as f32 bits; zeros beyond the row.
template <u32 kType>
GPUREADY_DEVICE void load_four(u64 row, u32 first, u32 cols, u32 (&bits)[4]) {
  if constexpr (kType == 0) {
    if (row % 16 == 0 && first + 4 <= cols) {
      const Words4 w = *reinterpret_cast<const Words4*>(row + u64{first} * 4);
#pragma unroll
      for (u32 b = 0; b < 4; ++b) bits[b] = w[b];
      return;
    }
  }
#pragma unroll
  for (u32 b = 0; b < 4; ++b)
    bits[b] = first + b < cols ? bits_of(value_at<kType>(row, first + b)) : 0;
}

GPUREADY_DEVICE u32 quantise_four(const u32 (&bits)[4], float scale, u32& sum) {
  u32 four = 0;
#pragma unroll
  for (u32 b = 0; b < 4; ++b) {
    const u32 q = static_cast<u32>(quantise_activation(float_of(bits[b]), scale));
    sum += q;
    four |= (q & 0xFF) << 8 * b;
  }
  return four;
}

// Words of four codes that a thread keeps the values of, so that they are read once.
inline constexpr u32 kHeld = 8;

template <u32 kType>
GPUREADY_DEVICE void quantise_row(const TernaryActivationParams& p, u32 row, u32* scratch) {
  const u64 values = p.values_address + static_cast<u64>(row) * p.cols * (kType == 0 ? 4 : 2);
  const u32 words = p.stride / 4;
  u32 held[kHeld][4], beyond[4], greatest = 0;
#pragma unroll
  for (u32 i = 0; i < kHeld; ++i)
    load_four<kType>(values, 4 * (thread_index() + i * kRowThreads), p.cols, held[i]);
  const auto find_greatest = [&](const u32(&bits)[4]) {
#pragma unroll
    for (u32 b = 0; b < 4; ++b) greatest = Greatest()(greatest, bits[b] & 0x7FFFFFFFu);
  };
#pragma unroll
  for (u32 i = 0; i < kHeld; ++i) find_greatest(held[i]);
  for (u32 word = thread_index() + kHeld * kRowThreads; word < words; word += kRowThreads) {
    load_four<kType>(values, 4 * word, p.cols, beyond);
    find_greatest(beyond);
  }
  greatest = reduce_block(greatest, scratch, 0, Greatest());
  u32 bad = kNoColumn;
  if (greatest >= kInfinityBits) {
    for (u32 i = thread_index(); i < p.cols; i += kRowThreads)
      if ((bits_of(value_at<kType>(values, i)) & 0x7FFFFFFFu) >= kInfinityBits)
        bad = Least()(bad, i);
    bad = reduce_block(bad, scratch, kNoColumn, Least());
  }
  const bool finite = bad == kNoColumn;
  const float limit = activation_limit(float_of(greatest));
  // Codes of a row that is not finite are zeros.
  const float scale = activation_scale(limit);
  u32* codes = reinterpret_cast<u32*>(p.codes_address + static_cast<u64>(row) * p.stride);
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < kHeld; ++i) {
    const u32 word = thread_index() + i * kRowThreads;
    if (word < words) codes[word] = finite ? quantise_four(held[i], scale, sum) : 0;
  }
  for (u32 word = thread_index() + kHeld * kRowThreads; word < words; word += kRowThreads) {
    load_four<kType>(values, 4 * word, p.cols, beyond);
    codes[word] = finite ? quantise_four(beyond, scale, sum) : 0;
  }
  sum = reduce_block(sum, scratch, 0, Sum());
  if (thread_index() == 0)
    reinterpret_cast<GpuActivationRow*>(p.rows_address)[row] = GpuActivationRow{
        finite ? activation_step(limit) : float_of(0x7FFFFFFFu), static_cast<int>(sum), bad, 0};
}

template <u32 kType>
GPUREADY_DEVICE void quantise_rows(const TernaryActivationParams& p) {
  GPUREADY_SHARED static u32 scratch[32];
  for (u32 row = block_index(); row < p.rows; row += block_count())
    quantise_row<kType>(p, row, scratch);
}

}  // namespace

GPUREADY_KERNEL(512, 2) void gpuready_ternary_activations(TernaryActivationParams p) {
  // Several blocks would be in the way of the next kernel's.
  if (p.rows == 1) let_next_start();
  await_previous();
  if (p.value_type == 0)
    quantise_rows<0>(p);
  else if (p.value_type == 1)
    quantise_rows<1>(p);
  else
    quantise_rows<2>(p);
}

GPUREADY_KERNEL(128, 8) void gpuready_ternary_sums(TernaryWeightsParams p) {
  if (p.value_type == 0)
    sum_pieces<0>(p);
  else if (p.value_type == 1)
    sum_pieces<1>(p);
  else
    sum_pieces<2>(p);
}

GPUREADY_KERNEL(1024, 1) void gpuready_ternary_mean(TernaryWeightsParams p) { make_mean(p); }

GPUREADY_KERNEL(256, 4) void gpuready_ternary_signs(TernaryWeightsParams p) {
  if (p.value_type == 0)
    quantise_signs<0>(p);
  else if (p.value_type == 1)
    quantise_signs<1>(p);
  else
    quantise_signs<2>(p);
}

}  // namespace gpuready::device
