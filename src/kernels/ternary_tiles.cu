// Activations for matrix products: rows of f32, f16, bf16 or int8 become int8 in the tiles that the
// products copy to shared memory as they are. A block a row.
#include "kernels/ternary_gemm_device.cuh"
#include "kernels/ternary_quantise.h"

namespace gpuready::device {
namespace {

inline constexpr u32 kPiece = 16;  // columns: 16 bytes of a tile, which are moved as one
inline constexpr u32 kMostWarps = kGemmTilesMostThreads / 32;

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

// A piece's elements, as 32-bit words; zero beyond the last column.
template <class Type>
struct Row {
  static constexpr u32 kWords = kPiece * Type::kBytes / 4;
  u64 values;
  u32 cols;
  bool aligned;  // whole pieces are, too

  GPUREADY_DEVICE Row(const GemmTilesParams& p, u32 m)
      : values(p.values + static_cast<u64>(m) * p.cols * Type::kBytes),
        cols(p.cols),
        aligned(p.cols % kPiece == 0 && (p.values & 15) == 0) {}

  GPUREADY_DEVICE void load_aligned(u32 piece, u32 (&words)[kWords]) const {
#pragma unroll
    for (u32 i = 0; i < kWords; i += 4) {
      Words4 v{0, 0, 0, 0};
      if (piece * kPiece < cols)
        v = load_constant_4(values + static_cast<u64>(piece) * (4 * kWords) + i * 4);
      words[i] = v.x;
      words[i + 1] = v.y;
      words[i + 2] = v.z;
      words[i + 3] = v.w;
    }
  }
  GPUREADY_DEVICE void load(u32 piece, u32 (&words)[kWords]) const {
    if (aligned) return load_aligned(piece, words);
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) words[i] = 0;
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i) {
      const u32 k = piece * kPiece + i;
      if (k >= cols) continue;
      if constexpr (Type::kBytes == 4)
        words[i] = global<const u32>(values)[k];
      else
        words[i / 2] |= u32{global<const unsigned short>(values)[k]} << i % 2 * 16;
    }
  }
};

GPUREADY_SHARED u32 exchange[3][kMostWarps];

// Over the block, for all threads; each with an exchange of its own.
template <class Pick>
GPUREADY_DEVICE u32 reduce(u32 value, u32 (&warps)[kMostWarps], Pick pick) {
  for (u32 distance = 16; distance > 0; distance /= 2)
    value = pick(value, shuffle_down(value, distance));
  if (thread_index() % 32 == 0) warps[thread_index() / 32] = value;
  block_barrier();
  value = warps[0];
  for (u32 w = 1; w < block_threads() / 32; ++w) value = pick(value, warps[w]);
  return value;
}

template <class Type>
GPUREADY_DEVICE u32 greatest_of(const u32 (&words)[Row<Type>::kWords]) {
  u32 greatest = 0;
#pragma unroll
  for (u32 i = 0; i < kPiece; ++i)
    greatest = Greatest()(greatest, bits_of(Type::value(words, i)) & 0x7fffffff);
  return greatest;
}

// The first column that is not finite.
template <class Type>
GPUREADY_DEVICE u32 bad_column(const Row<Type>& row, u32 pieces) {
  u32 bad = kNoColumn, words[Row<Type>::kWords];
  for (u32 piece = thread_index(); piece < pieces && bad == kNoColumn; piece += block_threads()) {
    row.load(piece, words);
#pragma unroll
    for (u32 i = 0; i < kPiece; ++i)
      if ((bits_of(Type::value(words, i)) & 0x7fffffff) >= kInfinityBits)
        bad = Least()(bad, piece * kPiece + i);
  }
  return reduce(bad, exchange[1], Least());
}

// Quantises a piece and stores it; gives the sum of its codes.
template <class Type>
GPUREADY_DEVICE u32 put(const GemmTilesParams& p, u32 m, u32 piece, float scale,
                        const u32 (&words)[Row<Type>::kWords]) {
  u32 bytes[4] = {}, sum = 0;
#pragma unroll
  for (u32 i = 0; i < kPiece; ++i) {
    const int q = quantise_activation(Type::value(words, i), scale);
    sum += static_cast<u32>(q);
    bytes[i / 4] |= (static_cast<u32>(q) & 0xff) << i % 4 * 8;
  }
  const Words4 four{bytes[0], bytes[1], bytes[2], bytes[3]};
  store_global_4(p.tiles + tiled_activation(m, piece * kPiece, p.k_tiles), four);
  if (m < p.code_rows)
    store_global_4(p.codes + static_cast<u64>(m) * p.stride + piece * kPiece, four);
  return sum;
}

// Without the registers that hold a row, when it is too long or its pieces are not aligned.
template <class Type, bool kInRegisters>
GPUREADY_DEVICE void quantise(const GemmTilesParams& p, u32 m) {
  constexpr u32 kWords = Row<Type>::kWords, kPieces = kInRegisters ? 32 / kWords : 1;
  const Row<Type> row(p, m);
  const u32 pieces = p.k_tiles * (kActivationTileCols / kPiece);
  u32 words[kPieces][kWords];
  u32 greatest = 0;
  if constexpr (kInRegisters) {
#pragma unroll
    for (u32 i = 0; i < kPieces; ++i)
      row.load_aligned(thread_index() + i * block_threads(), words[i]);
#pragma unroll
    for (u32 i = 0; i < kPieces; ++i) greatest = Greatest()(greatest, greatest_of<Type>(words[i]));
  } else {
    for (u32 piece = thread_index(); piece < pieces; piece += block_threads()) {
      row.load(piece, words[0]);
      greatest = Greatest()(greatest, greatest_of<Type>(words[0]));
    }
  }
  greatest = reduce(greatest, exchange[0], Greatest());
  u32 bad = kNoColumn;
  float limit = activation_limit(float_of(greatest)), scale = activation_scale(limit);
  if (greatest >= kInfinityBits) {
    bad = bad_column(row, pieces);
    scale = 0;
  }
  u32 sum = 0;
  if (bad == kNoColumn) {
    if constexpr (kInRegisters) {
      // As they were loaded: values kept from the first pass would not fit.
#pragma unroll
      for (u32 i = 0; i < kPieces * kWords; ++i) asm("" : "+r"(words[i / kWords][i % kWords]));
#pragma unroll
      for (u32 i = 0; i < kPieces; ++i)
        if (const u32 piece = thread_index() + i * block_threads(); piece < pieces)
          sum += put<Type>(p, m, piece, scale, words[i]);
    } else {
      for (u32 piece = thread_index(); piece < pieces; piece += block_threads()) {
        row.load(piece, words[0]);
        sum += put<Type>(p, m, piece, scale, words[0]);
      }
    }
  } else {  // zeros
    const u32 none[kWords] = {};
    for (u32 piece = thread_index(); piece < pieces; piece += block_threads())
      put<Type>(p, m, piece, 0, none);
  }
  sum = reduce(sum, exchange[2], Sum());
  if (thread_index() != 0) return;
  auto* facts = global<u32>(p.row_facts) + u64{m} * 4;
  facts[0] = bad == kNoColumn ? bits_of(activation_step(limit)) : 0x7fffffff;
  facts[1] = sum;
  facts[2] = bad;
  facts[3] = 0;
}

template <class Type>
GPUREADY_DEVICE void quantise(const GemmTilesParams& p, u32 m) {
  const u32 held = 32 / Row<Type>::kWords * block_threads() * kPiece;  // columns
  if (Row<Type>(p, m).aligned && p.k_tiles * kActivationTileCols <= held)
    quantise<Type, true>(p, m);
  else
    quantise<Type, false>(p, m);
}

GPUREADY_DEVICE void take_codes(const GemmTilesParams& p, u32 m) {
  const u32 pieces = p.k_tiles * (kActivationTileCols / kPiece);
  const u64 row = p.values + static_cast<u64>(m) * p.stride;
  for (u32 piece = thread_index(); piece < pieces; piece += block_threads())
    store_global_4(p.tiles + tiled_activation(m, piece * kPiece, p.k_tiles),
                   load_global_4(row + piece * kPiece));
}

}  // namespace
}  // namespace gpuready::device

GPUREADY_KERNEL(gpuready::ternary::kGemmTilesMostThreads, 2)
void gpuready_ternary_tiles(gpuready::ternary::GemmTilesParams p) {
  using namespace gpuready::device;
  let_next_start();
  await_previous();
  const u32 m = block_index();
  if (p.value_type == kGemmF32)
    quantise<F32>(p, m);
  else if (p.value_type == kGemmF16)
    quantise<F16>(p, m);
  else if (p.value_type == kGemmBf16)
    quantise<Bf16>(p, m);
  else
    take_codes(p, m);
}
