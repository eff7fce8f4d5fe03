// Some rows of activations times ternary weights whose scales differ within a row: 32, 64, 128 or
// 256 columns share one. A block takes one row tile; its warps sum groups exactly, side by side,
// and put down each group's term; then one thread a result adds them in the order of their columns.
// That order is the rule which makes the bits the same on every device (docs/ternary.md).
#include "kernel_abi/ternary_gemm_params.h"
#include "kernels/cuda/ternary_products.cuh"

namespace gpuready::device {
namespace {

using ternary::TernaryGroupedParams;

inline constexpr u32 kWarps = ternary::kGroupedWarps, kThreads = 32 * kWarps;
inline constexpr u32 kPieces = 4;  // of 32 columns, in a column tile

extern GPUREADY_SHARED __attribute__((aligned(16))) u32 shared_words[];

// Sums of a group by dp4a. Fields are masked but never shifted: field f counts 4^f times.
template <u32 kCount>
struct GroupDots {
  static constexpr u32 kRows = kCount, kPadding = 0;
  Words4 first[kRows], second[kRows];
  int parts[kRows][4] = {};

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32) { return y; }
  GPUREADY_DEVICE void load(const u32* y, u32 row_words) {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const Words4* words = reinterpret_cast<const Words4*>(y + m * row_words);
      first[m] = words[0], second[m] = words[1];
    }
  }
  GPUREADY_DEVICE void add_piece(u32 w, u32 j) {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      parts[m][0] = dot4(w & 0x03030303u, first[m][j], parts[m][0]);
      parts[m][1] = dot4(w & 0x0C0C0C0Cu, first[m][j], parts[m][1]);
      parts[m][2] = dot4(w & 0x30303030u, second[m][j], parts[m][2]);
      parts[m][3] = dot4(w & 0xC0C0C0C0u, second[m][j], parts[m][3]);
    }
  }
  // Calls give(row of activations, row of weights of 16, sum), each by one lane, and begins again.
  template <class Give>
  GPUREADY_DEVICE void end_group(u32 lane, Give give) {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const int low = sum_of_quad(parts[m][0] + (parts[m][2] >> 4));
      const int high = sum_of_quad((parts[m][1] >> 2) + (parts[m][3] >> 6));
      parts[m][0] = parts[m][1] = parts[m][2] = parts[m][3] = 0;
      if (lane % 4 != m % 4) continue;
      give(m, lane / 4, low);
      give(m, lane / 4 + 8, high);
    }
  }
};

#if __CUDA_ARCH__ >= 800
// 16 rows by matrix instructions, as MatrixProducts has them.
struct GroupMatrix {
  static constexpr u32 kRows = 16, kPadding = ternary::kGemvMatrixPaddingBytes / 4;
  Words4 first[2], second[2];
  int sums[2][4] = {};

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32 row_words) {
    return y + thread_index() % 32 / 4 * row_words;
  }
  GPUREADY_DEVICE void load(const u32* y, u32 row_words) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const Words4* words = reinterpret_cast<const Words4*>(y + 8 * i * row_words);
      first[i] = words[0], second[i] = words[1];
    }
  }
  GPUREADY_DEVICE void add_piece(u32 w, u32 j) {
    const u32 low = w, high = w >> 4;
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
      asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9}, {%0, %1, %2, %3};"
          : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]), "+r"(sums[i][3])
          : "r"(low & 0x03030303u), "r"(low & 0x0C0C0C0Cu), "r"(high & 0x03030303u),
            "r"(high & 0x0C0C0C0Cu), "r"(first[i][j]), "r"(second[i][j]));
  }
  template <class Give>
  GPUREADY_DEVICE void end_group(u32 lane, Give give) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c) {
        give(8 * i + lane % 4 * 2 + c % 2, lane / 4 + c / 2 * 8,
             c < 2 ? sums[i][c] : sums[i][c] >> 2);
        sums[i][c] = 0;
      }
  }
};
#endif

// The word of four columns from `col` on of a row of activations.
GPUREADY_DEVICE u64 code_word(const TernaryGroupedParams& p, u32 row, u32 col) {
  if (p.tiled != 0) return p.codes_address + ternary::tiled_activation(row, col, p.col_tiles);
  return p.codes_address + static_cast<u64>(row) * p.stride + col;
}

// Pieces of 32 columns that share a scale: kOfTile of a tile's four; `tiles` that make a group.
template <class Sums, u32 kOfTile>
GPUREADY_DEVICE void multiply_groups(const TernaryGroupedParams& p, u32 tiles) {
  constexpr u32 kRows = Sums::kRows;
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const u32 row_tile = block_index() % p.row_tiles;
  const u32 first_row = block_index() / p.row_tiles * kRows;
  const u32 row_words = p.chunk_tiles * 32 + Sums::kPadding;
  const u32 group_pieces = kOfTile * tiles;
  // In shared memory: codes, their sums a piece, the groups' terms and their scales.
  int* piece_sums = reinterpret_cast<int*>(shared_words + kRows * row_words);
  float* terms = reinterpret_cast<float*>(piece_sums + kRows * p.chunk_tiles * kPieces);
  const char* weights = reinterpret_cast<const char*>(p.tiles_address) +
                        static_cast<u64>(row_tile) * p.col_tiles * kTileBytes + lane * 16;
  const u32 chunk_groups = p.chunk_tiles * kPieces / group_pieces;
  float* scales = terms + kRows * chunk_groups * kTileRows;
  const u64 all_scales = p.scales_address + static_cast<u64>(row_tile) * p.groups * kTileRows * 4;
  const u32 own_m = thread_index() / kTileRows, own_r = thread_index() % kTileRows;
  float value = 0;
  for (u32 chunk = 0; chunk < p.col_tiles; chunk += p.chunk_tiles) {
    const u32 rest = p.col_tiles - chunk;
    const u32 count = rest < p.chunk_tiles ? rest : p.chunk_tiles;
    const u32 first_group = chunk * kPieces / group_pieces;
    const u32 left = p.groups - first_group;
    const u32 here = left < chunk_groups ? left : chunk_groups;
    // A warp's next weights are on their way while it waits for the block or multiplies.
    Words4 next[2] = {};
    const auto fetch = [&](u32 first) {
#pragma unroll
      for (u32 i = 0; i < 2; ++i)
        if (i < tiles && first + i < count)
          next[i] = load_weights(weights + static_cast<u64>(chunk + first + i) * kTileBytes);
    };
    fetch(warp * tiles);
    block_barrier();
    for (u32 i = thread_index(); i < here * kTileRows; i += kThreads)
      copy_word(reinterpret_cast<u32*>(scales) + i,
                all_scales + (static_cast<u64>(first_group) * kTileRows + i) * 4, true);
#pragma unroll 1
    for (u32 m = 0; m < kRows; ++m) {
      const bool there = first_row + m < p.activation_rows;
      for (u32 tile = warp; tile < count; tile += kWarps)
        copy_word(shared_words + m * row_words + tile * 32 + place_in_tile(lane),
                  code_word(p, there ? first_row + m : 0, (chunk + tile) * kTileCols + lane * 4),
                  there);
    }
    await_copies();
    block_barrier();
    for (u32 i = thread_index(); i < kRows * count * kPieces; i += kThreads) {
      const u32 m = i / (count * kPieces), piece = i % (count * kPieces);
      const u32* y = shared_words + m * row_words + piece / kPieces * 32 + piece % kPieces;
      int sum = 0;
#pragma unroll
      for (u32 word = 0; word < 8; ++word) sum = dot4(0x01010101u, y[word * 4], sum);
      piece_sums[m * p.chunk_tiles * kPieces + piece] = sum;
    }
    block_barrier();
    for (u32 first = warp * tiles; first < count; first += kWarps * tiles) {
      Sums sums;
      const auto end = [&](u32 group) {
        sums.end_group(lane, [&](u32 m, u32 r, int sum) {
          if (group >= here) return;
          const int* own = piece_sums + m * p.chunk_tiles * kPieces + group * group_pieces;
          for (u32 i = 0; i < group_pieces; ++i)
            if (group * group_pieces + i < count * kPieces) sum -= own[i];
          const float scale = scales[group * kTileRows + r];
          terms[(m * chunk_groups + group) * kTileRows + r] = multiply(to_float(sum), scale);
        });
      };
      const Words4 held[2] = {next[0], next[1]};
      fetch(first + kWarps * tiles);
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        const u32 tile = first + i;
        if (i >= tiles || tile >= count) break;
        const Words4 w = held[i];
        sums.load(Sums::own_row(shared_words + tile * 32 + lane % 4 * 8, row_words), row_words);
#pragma unroll
        for (u32 j = 0; j < kPieces; ++j) {
          sums.add_piece(w[j], j);
          if ((j + 1) % kOfTile == 0 && tiles == 1) end((tile * kPieces + j) / group_pieces);
        }
      }
      if (tiles != 1) end(first / tiles);
    }
    block_barrier();
    if (own_m < kRows) {
      const float* own = terms + own_m * chunk_groups * kTileRows + own_r;
      for (u32 group = 0; group < here; ++group) value = add(value, own[group * kTileRows]);
    }
  }
  const u32 row = row_tile * kTileRows + own_r;
  if (own_m >= kRows || row >= p.weight_rows || first_row + own_m >= p.activation_rows) return;
  const float step =
      reinterpret_cast<const GpuActivationRow*>(p.rows_address)[first_row + own_m].step;
  const u64 at = static_cast<u64>(first_row + own_m) * p.weight_rows + row;
  store_value(p.out_address, p.output_type, p.addends, at, row, multiply(value, step));
}

template <class Sums>
GPUREADY_DEVICE void multiply_rows(const TernaryGroupedParams& p) {
  if (p.group == 32)
    multiply_groups<Sums, 1>(p, 1);
  else if (p.group == 64)
    multiply_groups<Sums, 2>(p, 1);
  else
    multiply_groups<Sums, 4>(p, p.group / kTileCols);
}

}  // namespace

GPUREADY_KERNEL(256, 4) void gpuready_ternary_grouped_1(TernaryGroupedParams p) {
  multiply_rows<GroupDots<1>>(p);
}
GPUREADY_KERNEL(256, 2) void gpuready_ternary_grouped_4(TernaryGroupedParams p) {
  multiply_rows<GroupDots<4>>(p);
}
#if __CUDA_ARCH__ >= 800
GPUREADY_KERNEL(256, 2) void gpuready_ternary_grouped_16(TernaryGroupedParams p) {
  multiply_rows<GroupMatrix>(p);
}
#endif

}  // namespace gpuready::device
