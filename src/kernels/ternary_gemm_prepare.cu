// Activations for a matrix product: rows of f32, f16, bf16 or int8 become int8 in the tiles that
// the product copies to shared memory as they are, with each row's step and sum. A block a row.
#include "kernels/ternary_gemm_device.cuh"
#include "kernels/ternary_quantise.h"

namespace gpuready::device {
namespace {

inline constexpr u32 kPiece = 16;  // columns: 16 bytes of a tile, which are moved as one
inline constexpr u32 kWarps = kGemmPrepareThreads / 32;

template <u32 kBytes>
struct Loader {  // of kPiece elements, as 32-bit words
  static constexpr u32 kWords = kPiece * kBytes / 4;
  u64 row;
  u32 cols;
  bool aligned;

  GPUREADY_DEVICE Loader(const GemmPrepareParams& p, u32 m)
      : row(p.input + static_cast<u64>(m) * p.cols * kBytes),
        cols(p.cols),
        aligned(((p.input | static_cast<u64>(p.cols) * kBytes) & 15) == 0) {}

  // Zero beyond the last column.
  GPUREADY_DEVICE void load(u32 piece, u32 (&words)[kWords]) const {
    const u32 first = piece * kPiece;
    if (aligned && first + kPiece <= cols) {
#pragma unroll
      for (u32 i = 0; i < kWords; i += 4) {
        const Words4 v = load_constant_4(row + static_cast<u64>(first) * kBytes + i * 4);
        words[i] = v.x;
        words[i + 1] = v.y;
        words[i + 2] = v.z;
        words[i + 3] = v.w;
      }
      return;
    }
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) words[i] = 0;
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i) {
      if (first + i >= cols) continue;
      u32 element;
      if constexpr (kBytes == 4)
        element = global<const u32>(row)[first + i];
      else if constexpr (kBytes == 2)
        element = global<const unsigned short>(row)[first + i];
      else
        element = global<const unsigned char>(row)[first + i];
      words[i * kBytes / 4] |= element << i * kBytes % 4 * 8;
    }
  }
};

struct F32 {
  static constexpr u32 kBytes = 4;
  template <u32 kWords>
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return float_of(words[i]);
  }
};
struct F16 {
  static constexpr u32 kBytes = 2;
  template <u32 kWords>
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return half_value(words[i / 2] >> i % 2 * 16 & 0xffff);
  }
};
struct Bf16 {
  static constexpr u32 kBytes = 2;
  template <u32 kWords>
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return float_of(i % 2 ? words[i / 2] & 0xffff0000 : words[i / 2] << 16);
  }
};

GPUREADY_SHARED u32 exchange[2][kWarps];

GPUREADY_DEVICE u32 block_max(u32 value) {
  for (u32 distance = 16; distance > 0; distance /= 2) {
    const u32 other = shuffle_down(value, distance);
    value = value > other ? value : other;
  }
  if (thread_index() % 32 == 0) exchange[0][thread_index() / 32] = value;
  block_barrier();
#pragma unroll
  for (u32 w = 0; w < kWarps; ++w)
    value = w == 0 || exchange[0][w] > value ? exchange[0][w] : value;
  return value;
}
// In thread 0.
GPUREADY_DEVICE u32 block_sum(u32 value) {
  value = warp_sum_32(value);
  if (thread_index() % 32 == 0) exchange[1][thread_index() / 32] = value;
  block_barrier();
  value = 0;
#pragma unroll
  for (u32 w = 0; w < kWarps; ++w) value += exchange[1][w];
  return value;
}

GPUREADY_DEVICE void finish(const GemmPrepareParams& p, u32 m, u32 sum, float step) {
  sum = block_sum(sum);
  if (thread_index() != 0) return;
  global<u32>(p.sums)[m] = sum;
  global<float>(p.steps)[m] = step;
}

template <class Type>
GPUREADY_DEVICE void quantise(const GemmPrepareParams& p, u32 m) {
  const Loader<Type::kBytes> loader(p, m);
  const u32 pieces = p.k_tiles * (kActivationTileCols / kPiece);
  u32 words[Loader<Type::kBytes>::kWords];
  u32 greatest = 0;
  for (u32 piece = thread_index(); piece < pieces; piece += kGemmPrepareThreads) {
    loader.load(piece, words);
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i) {
      const u32 magnitude = bits_of(Type::value(words, i)) & 0x7fffffff;
      greatest = magnitude > greatest ? magnitude : greatest;
    }
  }
  greatest = block_max(greatest);
  if (greatest >= kInfinityBits) {
    if (thread_index() == 0) *global<u32>(p.not_finite) = 1;
    greatest = 0;
  }
  const float limit = activation_limit(float_of(greatest)), scale = activation_scale(limit);
  u32 sum = 0;
  for (u32 piece = thread_index(); piece < pieces; piece += kGemmPrepareThreads) {
    // What was read last is still there when each thread has one piece.
    if (pieces > kGemmPrepareThreads) loader.load(piece, words);
    u32 bytes[4] = {};
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i) {
      const int q = quantise_activation(Type::value(words, i), scale);
      sum += static_cast<u32>(q);
      bytes[i / 4] |= (static_cast<u32>(q) & 0xff) << i % 4 * 8;
    }
    store_global_4(p.tiles + tiled_activation(m, piece * kPiece, p.k_tiles),
                   {bytes[0], bytes[1], bytes[2], bytes[3]});
  }
  finish(p, m, sum, activation_step(limit));
}

GPUREADY_DEVICE void take_int8(const GemmPrepareParams& p, u32 m) {
  const Loader<1> loader(p, m);
  const u32 pieces = p.k_tiles * (kActivationTileCols / kPiece);
  u32 sum = 0;
  for (u32 piece = thread_index(); piece < pieces; piece += kGemmPrepareThreads) {
    u32 words[4];
    loader.load(piece, words);
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i)
      sum += static_cast<u32>(static_cast<int>(words[i / 4] << (24 - i % 4 * 8)) >> 24);
    store_global_4(p.tiles + tiled_activation(m, piece * kPiece, p.k_tiles),
                   {words[0], words[1], words[2], words[3]});
  }
  finish(p, m, sum, p.input_steps != 0 ? global<const float>(p.input_steps)[m] : 1.0f);
}

}  // namespace
}  // namespace gpuready::device

GPUREADY_KERNEL(gpuready::ternary::kGemmPrepareThreads, 4)
void gpuready_ternary_gemm_prepare(gpuready::ternary::GemmPrepareParams p) {
  using namespace gpuready::device;
  const u32 m = block_index();
  const u32 count = block_count() * block_threads();
  for (u32 i = m * block_threads() + thread_index(); i < p.counter_count; i += count)
    global<u32>(p.counters)[i] = 0;
  if (p.input_type == kGemmF32)
    quantise<F32>(p, m);
  else if (p.input_type == kGemmF16)
    quantise<F16>(p, m);
  else if (p.input_type == kGemmBf16)
    quantise<Bf16>(p, m);
  else
    take_int8(p, m);
}
