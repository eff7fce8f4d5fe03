// A few rows of activations times ternary weights. A warp adds up a row tile, or a slice of its
// columns: each lane loads 16 bytes of a column tile and keeps a ring of such loads in flight. How
// the products are made is a class: four bytes at a time by dp4a, or by the tensor cores.
#include "kernels/ternary_device.cuh"

namespace gpuready::device {
namespace {

using ternary::TernaryGemvParams;

inline constexpr u32 kWarps = 8, kThreads = 32 * kWarps;
inline constexpr u32 kRing = 8;  // loads of a lane in flight

extern GPUREADY_SHARED __attribute__((aligned(16))) u32 shared_words[];

// 1, 2 or 4 rows by dp4a: 16 of them for a lane's 16 bytes. The codes are masked but never shifted:
// field f counts 4^f times and has a sum of its own.
template <u32 kCount>
struct DotProducts {
  static constexpr u32 kRows = kCount, kPadding = 0;
  int parts[kRows][4] = {};
  int low[kRows] = {}, high[kRows] = {};  // of rows g and g + 8, g = lane / 4

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32) { return y; }
  GPUREADY_DEVICE void add(Words4 w, const u32* y, u32 row_words) {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const Words4* words = reinterpret_cast<const Words4*>(y + m * row_words);
      const Words4 first = words[0], second = words[1];
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        parts[m][0] = dot4(w[j] & 0x03030303u, first[j], parts[m][0]);
        parts[m][1] = dot4(w[j] & 0x0C0C0C0Cu, first[j], parts[m][1]);
        parts[m][2] = dot4(w[j] & 0x30303030u, second[j], parts[m][2]);
        parts[m][3] = dot4(w[j] & 0xC0C0C0C0u, second[j], parts[m][3]);
      }
    }
  }
  // Before the fields' sums could overflow: they count up to 64 times.
  GPUREADY_DEVICE void end_chunk() {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      low[m] += parts[m][0] + (parts[m][2] >> 4);
      high[m] += (parts[m][1] >> 2) + (parts[m][3] >> 6);
      parts[m][0] = parts[m][1] = parts[m][2] = parts[m][3] = 0;
    }
  }
  // [row of activations][16 rows of weights]
  GPUREADY_DEVICE void store(int* sums, u32 lane) const {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const int of_low = sum_of_quad(low[m]), of_high = sum_of_quad(high[m]);
      if (lane % 4 != 0) continue;
      sums[m * kTileRows + lane / 4] = of_low;
      sums[m * kTileRows + lane / 4 + 8] = of_high;
    }
  }
};

#if __CUDA_ARCH__ >= 800
// Up to 8 rows for each of kCount matrix instructions, whose A operand a weight word is but for its
// fields' places. Shifting by 4 serves both of its halves: rows g + 8 then count 4 times.
template <u32 kCount>
struct MatrixProducts {
  static constexpr u32 kRows = 8 * kCount;
  static constexpr u32 kPadding = 4;  // words: the rows of a column tile then lie in all banks
  int sums[kCount][4] = {}, totals[kCount][4] = {};

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32 row_words) {
    return y + thread_index() % 32 / 4 * row_words;
  }
  GPUREADY_DEVICE void add(Words4 w, const u32* y, u32 row_words) {
    Words4 first[kCount], second[kCount];
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
      const Words4* words = reinterpret_cast<const Words4*>(y + 8 * i * row_words);
      first[i] = words[0], second[i] = words[1];
    }
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      const u32 low = w[j], high = w[j] >> 4;
#pragma unroll
      for (u32 i = 0; i < kCount; ++i)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]), "+r"(sums[i][3])
            : "r"(low & 0x03030303u), "r"(low & 0x0C0C0C0Cu), "r"(high & 0x03030303u),
              "r"(high & 0x0C0C0C0Cu), "r"(first[i][j]), "r"(second[i][j]));
    }
  }
  GPUREADY_DEVICE void end_chunk() {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c) {
        totals[i][c] += c < 2 ? sums[i][c] : sums[i][c] >> 2;
        sums[i][c] = 0;
      }
  }
  GPUREADY_DEVICE void store(int* target, u32 lane) const {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c)
        target[(8 * i + lane % 4 * 2 + c % 2) * kTileRows + lane / 4 + c / 2 * 8] = totals[i][c];
  }
};
#endif

// The activations of `count` column tiles of each slice, from its tile `first` on, so that a lane's
// eight words of a tile follow each other; zeros for rows that are not there.
template <u32 kRows>
GPUREADY_DEVICE void fill_activations(const TernaryGemvParams& p, u32 first_row, u32 first,
                                      u32 count, u32 row_words) {
  // Word `lane` of a tile: lane's quarter t, half h of 32 columns, group j of those.
  const u32 lane = thread_index() % 32;
  u32* target = shared_words + (lane & 3) * 8 + (lane >> 2 & 1) * 4 + (lane >> 3);
  u32 slice = 0, tile = thread_index() / 32;
  for (u32 i = tile; i < p.slices * count; i += kWarps, tile += kWarps) {
    for (; tile >= count; tile -= count) ++slice;
    const u32 from = slice * p.slice_tiles + first + tile;
    if (from >= p.col_tiles) continue;
    const u32* source =
        reinterpret_cast<const u32*>(p.codes_address + static_cast<u64>(first_row) * p.stride +
                                     from * u64{kTileCols}) +
        lane;
    u32 words[kRows];
#pragma unroll
    for (u32 m = 0; m < kRows; ++m)
      words[m] =
          first_row + m < p.activation_rows ? source[static_cast<u64>(m) * (p.stride / 4)] : 0;
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) target[m * row_words + (slice * count + tile) * 32] = words[m];
  }
}

template <class Products>
GPUREADY_DEVICE void multiply_rows(const TernaryGemvParams& p) {
  constexpr u32 kRows = Products::kRows;
  let_next_start();
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const u32 tiles_per_block = kWarps / p.slices;
  const u32 groups = (p.row_tiles + tiles_per_block - 1) / tiles_per_block;
  const u32 first_row = block_index() / groups * kRows;
  const u32 first_tile = block_index() % groups * tiles_per_block;
  const u32 slice = warp % p.slices, row_tile = first_tile + warp / p.slices;
  // Column tiles of this warp: steps of them from first_step on.
  const u32 first_step = slice * p.slice_tiles;
  const u32 rest = first_step < p.col_tiles ? p.col_tiles - first_step : 0;
  const u32 steps = row_tile >= p.row_tiles ? 0 : rest < p.slice_tiles ? rest : p.slice_tiles;
  const char* at = reinterpret_cast<const char*>(p.tiles_address) +
                   (static_cast<u64>(row_tile) * p.col_tiles + first_step) * kTileBytes + lane * 16;

  Words4 ring[kRing];
#pragma unroll
  for (u32 i = 0; i < kRing; ++i) {
    ring[i] = Words4{0, 0, 0, 0};
    if (i < steps) ring[i] = load_weights(at + i * kTileBytes);
  }
  await_previous();

  Products products;
  const u32 row_words = p.chunk_tiles * p.slices * 32 + Products::kPadding;
  for (u32 chunk = 0; chunk < p.slice_tiles; chunk += p.chunk_tiles) {
    const u32 rest_tiles = p.slice_tiles - chunk;
    const u32 count = rest_tiles < p.chunk_tiles ? rest_tiles : p.chunk_tiles;
    if (chunk != 0) block_barrier();
    fill_activations<kRows>(p, first_row, chunk, count, row_words);
    block_barrier();
    const u32* y = Products::own_row(shared_words + slice * count * 32 + lane % 4 * 8, row_words);
    // A chunk that is not the last is whole turns of the ring.
    const u32 end = steps < chunk + count ? steps : chunk + count;
    u32 step = chunk;
    for (; step + kRing <= end; step += kRing, y += kRing * 32) {
      at += kRing * kTileBytes;
#pragma unroll
      for (u32 i = 0; i < kRing; ++i) {
        products.add(ring[i], y + i * 32, row_words);
        if (step + i + kRing < steps) ring[i] = load_weights(at + i * kTileBytes);
      }
    }
#pragma unroll
    for (u32 i = 0; i < kRing - 1; ++i)
      if (step + i < end) products.add(ring[i], y + i * 32, row_words);
    products.end_chunk();
  }

  // Sums of each warp's 16 rows, then of the slices.
  int* partial = reinterpret_cast<int*>(shared_words + kRows * row_words);
  products.store(partial + warp * kRows * kTileRows, lane);
  block_barrier();
  const u32 rows = tiles_per_block * kTileRows;
  for (u32 i = thread_index(); i < kRows * rows; i += kThreads) {
    const u32 m = i / rows, r = i % rows;
    const u32 row = first_tile * kTileRows + r;
    if (row >= p.weight_rows || first_row + m >= p.activation_rows) continue;
    const int* of_tile =
        partial + (r / kTileRows * p.slices * kRows + m) * kTileRows + r % kTileRows;
    int sum = 0;
    for (u32 s = 0; s < p.slices; ++s) sum += of_tile[s * kRows * kTileRows];
    const GpuActivationRow& known =
        reinterpret_cast<const GpuActivationRow*>(p.rows_address)[first_row + m];
    store_result(p.out_address, p.output_type,
                 static_cast<u64>(first_row + m) * p.weight_rows + row, sum - known.sum, known.step,
                 reinterpret_cast<const float*>(p.scales_address)[row]);
  }
}

}  // namespace

GPUREADY_KERNEL(256, 4) void gpuready_ternary_gemv_1(TernaryGemvParams p) {
  multiply_rows<DotProducts<1>>(p);
}
GPUREADY_KERNEL(256, 2) void gpuready_ternary_gemv_2(TernaryGemvParams p) {
  multiply_rows<DotProducts<2>>(p);
}
GPUREADY_KERNEL(256, 2) void gpuready_ternary_gemv_4(TernaryGemvParams p) {
  multiply_rows<DotProducts<4>>(p);
}
#if __CUDA_ARCH__ >= 800
GPUREADY_KERNEL(256, 3) void gpuready_ternary_gemv_8(TernaryGemvParams p) {
  multiply_rows<MatrixProducts<1>>(p);
}
GPUREADY_KERNEL(256, 2) void gpuready_ternary_gemv_16(TernaryGemvParams p) {
  multiply_rows<MatrixProducts<2>>(p);
}
#endif

}  // namespace gpuready::device
