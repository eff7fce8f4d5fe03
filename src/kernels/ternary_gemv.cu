// A few rows of activations times ternary weights. A warp adds up a row tile, or a slice of its
// columns: each lane loads 16 bytes of a column tile, which are 16 products of four bytes, and
// keeps a ring of such loads in flight. The codes are masked but never shifted: field f counts 4^f
// times and has a sum of its own.
#include "kernels/ternary_device.cuh"

namespace gpuready::device {
namespace {

using ternary::TernaryGemvParams;

inline constexpr u32 kWarps = 8, kThreads = 32 * kWarps;
inline constexpr u32 kRing = 8;  // loads of a lane in flight

extern GPUREADY_SHARED __attribute__((aligned(16))) u32 shared_words[];

// The activations of `count` column tiles of each slice, from its tile `first` on, so that a lane's
// eight words of a tile follow each other; zeros for rows that are not there.
template <u32 kRows>
GPUREADY_DEVICE void fill_activations(const TernaryGemvParams& p, u32 first_row, u32 first,
                                      u32 count) {
  // Word `lane` of a tile: lane's quarter t, half h of 32 columns, group j of those.
  const u32 lane = thread_index() % 32;
  u32* target = shared_words + (lane & 3) * 8 + (lane >> 2 & 1) * 4 + (lane >> 3);
  u32 slice = 0, tile = thread_index() / 32;
  for (u32 i = tile; i < p.slices * count; i += kWarps, tile += kWarps) {
    for (; tile >= count; tile -= count) ++slice;
    const u32 from = slice * p.slice_tiles + first + tile;
    if (from >= p.col_tiles) continue;
    const u32* source = reinterpret_cast<const u32*>(
        p.codes_address + static_cast<u64>(first_row) * p.stride + from * u64{kTileCols});
#pragma unroll
    for (u32 m = 0; m < kRows; ++m)
      target[(m * p.chunk_tiles * p.slices + slice * count + tile) * 32] =
          first_row + m < p.activation_rows ? source[m * (p.stride / 4) + lane] : 0;
  }
}

struct Sums {
  int low = 0, high = 0;  // of rows g and g + 8
};

// A lane's share of a column tile.
template <u32 kRows>
GPUREADY_DEVICE void add_products(Words4 w, const u32* y, u32 row_words, int (&parts)[kRows][4]) {
#pragma unroll
  for (u32 m = 0; m < kRows; ++m) {
    const Words4* words = reinterpret_cast<const Words4*>(y + m * row_words);
    const Words4 low = words[0], high = words[1];
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      parts[m][0] = dot4(w[j] & 0x03030303u, low[j], parts[m][0]);
      parts[m][1] = dot4(w[j] & 0x0C0C0C0Cu, low[j], parts[m][1]);
      parts[m][2] = dot4(w[j] & 0x30303030u, high[j], parts[m][2]);
      parts[m][3] = dot4(w[j] & 0xC0C0C0C0u, high[j], parts[m][3]);
    }
  }
}

template <u32 kRows>
GPUREADY_DEVICE void multiply_rows(const TernaryGemvParams& p) {
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

  Sums sums[kRows];
  for (u32 chunk = 0; chunk < p.slice_tiles; chunk += p.chunk_tiles) {
    const u32 rest_tiles = p.slice_tiles - chunk;
    const u32 count = rest_tiles < p.chunk_tiles ? rest_tiles : p.chunk_tiles;
    if (chunk != 0) block_barrier();
    fill_activations<kRows>(p, first_row, chunk, count);
    block_barrier();
    int parts[kRows][4] = {};
    const u32* y = shared_words + slice * count * 32 + lane % 4 * 8;
    const u32 row_words = p.chunk_tiles * p.slices * 32;
    // A chunk that is not the last is whole turns of the ring.
    const u32 end = steps < chunk + count ? steps : chunk + count;
    u32 step = chunk;
    for (; step + kRing <= end; step += kRing, y += kRing * 32) {
      at += kRing * kTileBytes;
#pragma unroll
      for (u32 i = 0; i < kRing; ++i) {
        add_products<kRows>(ring[i], y + i * 32, row_words, parts);
        if (step + i + kRing < steps) ring[i] = load_weights(at + i * kTileBytes);
      }
    }
#pragma unroll
    for (u32 i = 0; i < kRing - 1; ++i)
      if (step + i < end) add_products<kRows>(ring[i], y + i * 32, row_words, parts);
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      sums[m].low += parts[m][0] + (parts[m][2] >> 4);
      sums[m].high += (parts[m][1] >> 2) + (parts[m][3] >> 6);
    }
  }

  // Sums of each warp's 16 rows, then of the slices.
  int* partial = reinterpret_cast<int*>(shared_words + kRows * p.chunk_tiles * p.slices * 32);
#pragma unroll
  for (u32 m = 0; m < kRows; ++m) {
    const int low = sum_of_quad(sums[m].low), high = sum_of_quad(sums[m].high);
    if (lane % 4 == 0) {
      partial[(m * kWarps + warp) * kTileRows + lane / 4] = low;
      partial[(m * kWarps + warp) * kTileRows + lane / 4 + 8] = high;
    }
  }
  block_barrier();
  const u32 rows = tiles_per_block * kTileRows;
  for (u32 i = thread_index(); i < kRows * rows; i += kThreads) {
    const u32 m = i / rows, r = i % rows;
    const u32 row = first_tile * kTileRows + r;
    if (row >= p.weight_rows || first_row + m >= p.activation_rows) continue;
    const int* of_tile =
        partial + (m * kWarps + r / kTileRows * p.slices) * kTileRows + r % kTileRows;
    int sum = 0;
    for (u32 s = 0; s < p.slices; ++s) sum += of_tile[s * kTileRows];
    const GpuActivationRow& known =
        reinterpret_cast<const GpuActivationRow*>(p.rows_address)[first_row + m];
    store_result(p.out_address, p.output_type,
                 static_cast<u64>(first_row + m) * p.weight_rows + row, sum - known.sum, known.step,
                 reinterpret_cast<const float*>(p.scales_address)[row]);
  }
}

}  // namespace

GPUREADY_KERNEL(256, 4) void gpuready_ternary_gemv_1(TernaryGemvParams p) { multiply_rows<1>(p); }
GPUREADY_KERNEL(256, 2) void gpuready_ternary_gemv_2(TernaryGemvParams p) { multiply_rows<2>(p); }
GPUREADY_KERNEL(256, 2) void gpuready_ternary_gemv_4(TernaryGemvParams p) { multiply_rows<4>(p); }

}  // namespace gpuready::device
