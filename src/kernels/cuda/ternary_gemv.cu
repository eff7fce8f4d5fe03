// A few rows of activations times ternary weights. A warp adds up a row tile, or a slice of its
// columns: each lane loads 16 bytes of a column tile and keeps a ring of such loads in flight. How
// the products are made is a class: four bytes at a time by dp4a, or by the tensor cores.
#include "kernels/cuda/ternary_products.cuh"

namespace gpuready::device {
namespace {

using ternary::TernaryGemvParams;

inline constexpr u32 kWarps = ternary::kGemvWarps, kThreads = 32 * kWarps;
inline constexpr u32 kRing = ternary::kGemvRing;

extern GPUREADY_SHARED __attribute__((aligned(16))) u32 shared_words[];

// What follows is uniform over the block and known before anything is waited for.
struct Place {
  u32 first_row, first_tile, slice, row_tile;

  GPUREADY_DEVICE Place(const TernaryGemvParams& p, u32 rows, u32 warp) {
    u32 group = 0, index = block_index();
    if (index >= p.groups) {  // seldom: a division is slow
      group = index / p.groups;
      index %= p.groups;
    }
    first_row = group * rows;
    first_tile = index * (kWarps >> p.slices_log2);
    slice = warp & ((1u << p.slices_log2) - 1);
    row_tile = first_tile + (warp >> p.slices_log2);
  }
};

// The activations of `count` column tiles of each slice, from its tile `first` on, so that a lane's
// eight words of a tile follow each other; zeros for rows that are not there.
template <u32 kRows>
GPUREADY_DEVICE void fill_activations(const TernaryGemvParams& p, u32 first_row, u32 first,
                                      u32 count, u32 row_words) {
  // Slices that are taken whole follow each other.
  const bool whole = count == p.slice_tiles;
  const u32 pieces = whole ? 1 : 1u << p.slices_log2, tiles = count << p.slices_log2;
  const u32 piece_tiles = whole ? tiles : count;
  const u32 word = thread_index() % 32, tile = thread_index() / 32;
#pragma unroll 1
  for (u32 m = 0; m < kRows; ++m) {
    const bool there = first_row + m < p.activation_rows;
    const u64 row = p.codes_address + static_cast<u64>(there ? first_row + m : 0) * p.stride;
#pragma unroll 1
    for (u32 piece = 0; piece < pieces; ++piece) {
      const u32 from = piece * p.slice_tiles + first;
      const u32 left = from < p.col_tiles ? p.col_tiles - from : 0;
      const u32 end = left < piece_tiles ? left : piece_tiles;
      u64 source = row + (from + tile) * u64{kTileCols} + word * 4;
      u32* target =
          shared_words + m * row_words + (piece * count + tile) * 32 + place_in_tile(word);
      for (u32 i = tile; i < end; i += kWarps) {
        copy_word(target, source, there);
        source += kWarps * kTileCols;
        target += kWarps * 32;
      }
    }
  }
  await_copies();
}

template <class Products>
GPUREADY_DEVICE void multiply_rows(const TernaryGemvParams& p) {
  constexpr u32 kRows = Products::kRows;
  GPUREADY_SHARED static GpuActivationRow known[kRows];
  let_next_start();
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const Place place(p, kRows, warp);
  // Column tiles of this warp: steps of them from first_step on.
  const u32 first_step = place.slice * p.slice_tiles;
  const u32 rest = first_step < p.col_tiles ? p.col_tiles - first_step : 0;
  const u32 steps = place.row_tile >= p.row_tiles ? 0 : rest < p.slice_tiles ? rest : p.slice_tiles;
  const char* at = reinterpret_cast<const char*>(p.tiles_address) +
                   (static_cast<u64>(place.row_tile) * p.col_tiles + first_step) * kTileBytes +
                   lane * 16;
  Words4 ring[kRing];
#pragma unroll
  for (u32 i = 0; i < kRing; ++i) {
    ring[i] = Words4{0, 0, 0, 0};
    if (i < steps) ring[i] = load_weights(at + i * kTileBytes);
  }
  // The weight row that this thread finishes.
  const u32 block_rows = (kWarps >> p.slices_log2) * kTileRows;
  const u32 own = thread_index() & (block_rows - 1);
  const u32 row = place.first_tile * kTileRows + own;
  const float scale =
      row < p.weight_rows ? reinterpret_cast<const float*>(p.scales_address)[row] : 0;
  await_previous();

  if (thread_index() < kRows && place.first_row + thread_index() < p.activation_rows)
    known[thread_index()] =
        reinterpret_cast<const GpuActivationRow*>(p.rows_address)[place.first_row + thread_index()];
  Products products;
  const u32 row_words = (p.chunk_tiles << p.slices_log2) * 32 + Products::kPadding;
  for (u32 chunk = 0; chunk < p.slice_tiles; chunk += p.chunk_tiles) {
    const u32 rest_tiles = p.slice_tiles - chunk;
    const u32 count = rest_tiles < p.chunk_tiles ? rest_tiles : p.chunk_tiles;
    if (chunk != 0) block_barrier();
    fill_activations<kRows>(p, place.first_row, chunk, count, row_words);
    block_barrier();
    const u32* y =
        Products::own_row(shared_words + place.slice * count * 32 + lane % 4 * 8, row_words);
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
  products.give_all(
      lane, [&](u32 m, u32 r, int sum) { partial[(warp * kRows + m) * kTileRows + r] = sum; });
  block_barrier();
  if (row >= p.weight_rows) return;
  const u32 slices = 1u << p.slices_log2;
  for (u32 m = thread_index() / block_rows; m < kRows; m += kThreads / block_rows) {
    if (place.first_row + m >= p.activation_rows) break;
    const int* of_tile =
        partial + ((own / kTileRows << p.slices_log2) * kRows + m) * kTileRows + own % kTileRows;
    int sum = -known[m].sum;
    for (u32 s = 0; s < slices; ++s) sum += of_tile[s * kRows * kTileRows];
    store_result(p.out_address, p.output_type, p.addends,
                 static_cast<u64>(place.first_row + m) * p.weight_rows + row, row, sum,
                 known[m].step, scale);
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
