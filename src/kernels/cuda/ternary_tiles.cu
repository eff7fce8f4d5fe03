// Activations for matrix products: rows of f32, f16, bf16 or int8 become int8 in the tiles that the
// products copy to shared memory as they are. Neighbouring warps share a row.
#include "kernel_abi/ternary_quantise.h"
#include "kernels/cuda/ternary_gemm_device.cuh"

namespace gpuready::device {
namespace {

inline constexpr u32 kMostWarps = kGemmTilesMostWarps;
inline constexpr u32 kWords = 8;                              // of a piece, which is moved as one
inline constexpr u32 kPieces = kGemmTilesHeldWords / kWords;  // that a thread holds
// Added, it rounds to an integer (quantise_activation()).
inline constexpr float kRoundActivation = 12582912.0f;

// greater() keeps the greatest magnitudes of words, or a NaN; greatest() picks the greatest of what
// it kept, and gives its bits as a float's.
struct F32 {
  static constexpr u32 kBytes = 4;
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return float_of(words[i]);
  }
  static GPUREADY_DEVICE u32 greater(u32 greatest, u32 word) {
    return Greatest()(greatest, word & 0x7fffffff);
  }
  static GPUREADY_DEVICE u32 greatest(u32 word) { return word; }
};
struct F16 {
  static constexpr u32 kBytes = 2;
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return of(words[i / 2] >> i % 2 * 16);
  }
  static GPUREADY_DEVICE u32 greater(u32 greatest, u32 word) {
    asm("{ .reg .b32 magnitude;\nabs.f16x2 magnitude, %1;\n"
        "max.NaN.f16x2 %0, %0, magnitude; }"
        : "+r"(greatest)
        : "r"(word));
    return greatest;
  }
  static GPUREADY_DEVICE u32 greatest(u32 word) {
    return Greatest()(bits_of(of(word)), bits_of(of(word >> 16)));
  }

 private:
  static GPUREADY_DEVICE float of(u32 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
    return value;
  }
};
struct Bf16 {
  static constexpr u32 kBytes = 2;
  static GPUREADY_DEVICE float value(const u32 (&words)[kWords], u32 i) {
    return float_of(i % 2 ? words[i / 2] & 0xffff0000 : words[i / 2] << 16);
  }
  static GPUREADY_DEVICE u32 greater(u32 greatest, u32 word) {
    asm("{ .reg .b32 magnitude;\nabs.bf16x2 magnitude, %1;\n"
        "max.NaN.bf16x2 %0, %0, magnitude; }"
        : "+r"(greatest)
        : "r"(word));
    return greatest;
  }
  static GPUREADY_DEVICE u32 greatest(u32 word) {
    return Greatest()(word << 16, word & 0xffff0000);
  }
};

GPUREADY_DEVICE u32 over_warp(u32 value, Greatest) { return __nvvm_redux_sync_umax(value, ~0); }
GPUREADY_DEVICE u32 over_warp(u32 value, Least) { return __nvvm_redux_sync_umin(value, ~0); }
GPUREADY_DEVICE u32 over_warp(u32 value, Sum) {
  return static_cast<u32>(__nvvm_redux_sync_add(static_cast<int>(value), ~0));
}

// The threads that share a row: neighbouring warps of a block.
struct Team {
  u32 warps, thread;  // this thread among them
  GPUREADY_DEVICE explicit Team(const GemmTilesParams& p)
      : warps(p.warps_a_row), thread(thread_index() % (32 * p.warps_a_row)) {}
  GPUREADY_DEVICE u32 threads() const { return warps * 32; }

  // For all of its threads; each reduction of a kernel with an exchange of its own.
  template <class Pick>
  GPUREADY_DEVICE u32 reduce(u32 value, u32 (&exchange)[kMostWarps], Pick pick) const {
    value = over_warp(value, pick);
    if (warps == 1) return value;
    const u32 warp = thread_index() / 32;
    if (thread_index() % 32 == 0) exchange[warp] = value;
    block_barrier();
    const u32 first = warp / warps * warps;
    value = exchange[first];
    for (u32 w = 1; w < warps; ++w) value = pick(value, exchange[first + w]);
    return value;
  }
};
GPUREADY_SHARED u32 exchange[3][kMostWarps];

// A row's elements, as pieces of 32-bit words; zero beyond the last column.
template <class Type>
struct Row {
  static constexpr u32 kPieceCols = kWords * 4 / Type::kBytes;
  u64 values;
  u32 cols;
  bool aligned;  // whole pieces are, too

  GPUREADY_DEVICE Row(const GemmTilesParams& p, u32 m)
      : values(p.values + static_cast<u64>(m) * p.cols * Type::kBytes),
        cols(p.cols),
        aligned(p.cols % kPieceCols == 0 && (p.values & 15) == 0) {}

  GPUREADY_DEVICE void load_aligned(u32 piece, u32 (&words)[kWords]) const {
#pragma unroll
    for (u32 i = 0; i < kWords; i += 4) {
      Words4 v{0, 0, 0, 0};
      if (piece * kPieceCols < cols)
        v = load_global_4(values + static_cast<u64>(piece) * (4 * kWords) + i * 4);
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
    for (u32 i = 0; i < kPieceCols; ++i) {
      const u32 k = piece * kPieceCols + i;
      if (k >= cols) continue;
      if constexpr (Type::kBytes == 4)
        words[i] = global<const u32>(values)[k];
      else
        words[i / 2] |= u32{global<const unsigned short>(values)[k]} << i % 2 * 16;
    }
  }
};

// The first of this thread's columns that is not finite.
template <class Type>
GPUREADY_DEVICE u32 bad_column(const Row<Type>& row, const Team& team, u32 pieces) {
  u32 bad = kNoColumn, words[kWords];
  for (u32 piece = team.thread; piece < pieces && bad == kNoColumn; piece += team.threads()) {
    row.load(piece, words);
#pragma unroll
    for (u32 i = 0; i < row.kPieceCols; ++i)
      if ((bits_of(Type::value(words, i)) & 0x7fffffff) >= kInfinityBits)
        bad = Least()(bad, piece * row.kPieceCols + i);
  }
  return bad;
}

// Of each low byte.
GPUREADY_DEVICE u32 bytes_of(const u32 (&words)[4]) {
  return __nvvm_prmt(__nvvm_prmt(words[0], words[1], 0x0040),
                     __nvvm_prmt(words[2], words[3], 0x0040), 0x5410);
}
GPUREADY_DEVICE void store(u64 address, const u32 (&words)[2]) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]), "r"(words[1])
               : "memory");
}
GPUREADY_DEVICE void store(u64 address, const u32 (&words)[4]) {
  store_global_4(address, Words4{words[0], words[1], words[2], words[3]});
}

// Quantises a piece of 8 or 16 columns and stores it; gives the sum of its codes.
template <class Type>
GPUREADY_DEVICE u32 put(const GemmTilesParams& p, u32 m, u32 piece, u64 tile, float scale,
                        const u32 (&words)[kWords]) {
  constexpr u32 kPieceCols = Row<Type>::kPieceCols;
  u32 codes[kPieceCols / 4];
  int sum = 0;
#pragma unroll
  for (u32 i = 0; i < kPieceCols; i += 4) {
    // As quantise_activation(), whose bounds a finite row does not reach: the code's low byte is
    // that of the rounded sum.
    u32 rounded[4];
#pragma unroll
    for (u32 e = 0; e < 4; ++e)
      rounded[e] = bits_of(Type::value(words, i + e) * scale + kRoundActivation);
    codes[i / 4] = bytes_of(rounded);
    sum = dot4(0x01010101, codes[i / 4], sum);
  }
  store(tile, codes);
  if (m < p.code_rows) store(p.codes + static_cast<u64>(m) * p.stride + piece * kPieceCols, codes);
  return static_cast<u32>(sum);
}

// Without the registers that hold a row, when it is too long or its pieces are not aligned. A row
// that is not finite gives zeros.
template <class Type, bool kInRegisters>
GPUREADY_DEVICE void quantise(const GemmTilesParams& p, u32 m, const Team& team,
                              const Row<Type>& row) {
  const u32 pieces = p.k_tiles * (kActivationTileCols / row.kPieceCols), step = team.threads();
  u32 words[kInRegisters ? kPieces : 1][kWords];
  u32 greatest = 0;
  if constexpr (kInRegisters) {
#pragma unroll
    for (u32 i = 0; i < kPieces; ++i) row.load_aligned(team.thread + i * step, words[i]);
#pragma unroll
    for (u32 i = 0; i < kPieces * kWords; ++i)
      greatest = Type::greater(greatest, words[i / kWords][i % kWords]);
  } else {
    for (u32 piece = team.thread; piece < pieces; piece += step) {
      row.load(piece, words[0]);
#pragma unroll
      for (u32 i = 0; i < kWords; ++i) greatest = Type::greater(greatest, words[0][i]);
    }
  }
  greatest = team.reduce(Type::greatest(greatest), exchange[0], Greatest());
  const bool finite = greatest < kInfinityBits;
  const float limit = activation_limit(float_of(greatest)), scale = activation_scale(limit);
  u32 sum = 0, bad = kNoColumn;
  // A team takes whole tiles at once, so that a thread has the same place in each.
  u64 tile = p.tiles + tiled_activation(m, team.thread * row.kPieceCols, p.k_tiles);
  const u64 stride = step * row.kPieceCols / kActivationTileCols * kActivationTileBytes;
  if (!finite) {
    bad = bad_column(row, team, pieces);
    const u32 none[kWords] = {};
    for (u32 piece = team.thread; piece < pieces; piece += step, tile += stride)
      put<Type>(p, m, piece, tile, 0, none);
  } else if constexpr (kInRegisters) {
    // As they were loaded: values kept from the first pass would not fit.
#pragma unroll
    for (u32 i = 0; i < kPieces * kWords; ++i) asm("" : "+r"(words[i / kWords][i % kWords]));
#pragma unroll
    for (u32 i = 0; i < kPieces; ++i)
      if (const u32 piece = team.thread + i * step; piece < pieces)
        sum += put<Type>(p, m, piece, tile + i * stride, scale, words[i]);
  } else {
    for (u32 piece = team.thread; piece < pieces; piece += step, tile += stride) {
      row.load(piece, words[0]);
      sum += put<Type>(p, m, piece, tile, scale, words[0]);
    }
  }
  sum = team.reduce(sum, exchange[1], Sum());
  bad = team.reduce(bad, exchange[2], Least());
  if (team.thread != 0) return;
  store_global_4(p.row_facts + u64{m} * sizeof(GpuActivationRow),
                 Words4{finite ? bits_of(activation_step(limit)) : 0x7fffffff, sum, bad, 0});
}

template <class Type>
GPUREADY_DEVICE void quantise(const GemmTilesParams& p, u32 m, const Team& team) {
  const Row<Type> row(p, m);
  if (row.aligned && p.k_tiles * (kActivationTileCols / row.kPieceCols) <= kPieces * team.threads())
    quantise<Type, true>(p, m, team, row);
  else
    quantise<Type, false>(p, m, team, row);
}

GPUREADY_DEVICE void take_codes(const GemmTilesParams& p, u32 m, const Team& team) {
  const u64 row = p.values + static_cast<u64>(m) * p.stride;
  for (u32 col = team.thread * 16; col < p.k_tiles * kActivationTileCols;
       col += team.threads() * 16)
    store_global_4(p.tiles + tiled_activation(m, col, p.k_tiles), load_global_4(row + col));
}

}  // namespace
}  // namespace gpuready::device

GPUREADY_KERNEL(gpuready::ternary::kGemmTilesMostWarps * 32, 2)
void gpuready_ternary_tiles(gpuready::ternary::GemmTilesParams p) {
  using namespace gpuready::device;
  let_next_start();
  await_previous();
  const Team team(p);
  // What is beyond the last row does that one again: all threads meet at the same barriers.
  const u32 rows = block_threads() / team.threads(), row = thread_index() / team.threads();
  const u32 m = Least()(block_index() * rows + row, p.rows - 1);
  if (p.value_type == kGemmF32)
    quantise<F32>(p, m, team);
  else if (p.value_type == kGemmF16)
    quantise<F16>(p, m, team);
  else if (p.value_type == kGemmBf16)
    quantise<Bf16>(p, m, team);
  else
    take_codes(p, m, team);
}
