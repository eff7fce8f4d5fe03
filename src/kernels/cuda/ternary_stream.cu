// A few rows of activations times many rows of ternary weights: a block an SM streams through its
// row tiles. Before it waits for the kernel before it, it has asked for its first weights.
#include "kernels/cuda/ternary_products.cuh"
#include "kernels/cuda/ternary_queue.cuh"
#include "kernels/cuda/ternary_rows.cuh"

namespace gpuready::device {
namespace {

// The queue's room, the activations, the sums.
extern GPUREADY_SHARED __attribute__((aligned(128))) u32 shared_words[];

// The row tile behind the first pieces comes into the second-level cache meanwhile.
GPUREADY_DEVICE void prefetch_more(const TernaryStreamParams& p, const BlockRows& rows) {
  Piece beyond(p, 0);
  for (u32 s = 0; s < p.stages; ++s) beyond.advance(p);
  if (beyond.index > 0) ++beyond.row;
  if (beyond.row >= rows.count) return;
  const char* const tile = rows.tiles + beyond.row * rows.step;
  prefetch(tile, tile + p.col_tiles * kTileBytes, p.prefetch_bytes);
}

inline constexpr bool kOverlaps = __CUDA_ARCH__ >= 900;

// kValues: the activations are not quantised yet.
template <class Products, bool kValues>
GPUREADY_DEVICE void multiply_stream(const TernaryStreamParams& p) {
  constexpr u32 kRows = Products::kRows;
  GPUREADY_SHARED static GpuActivationRow known[kRows];
  GPUREADY_SHARED static u32 greatest_of_warps[kStreamWarps];
  let_next_start();
  u32 first_row = 0, block = block_index();
  for (; block >= p.groups; block -= p.groups) first_row += kRows;
  const BlockRows block_rows(p, block);
  Queue queue(p, block_rows, shared_words);
  if (thread_index() == kStreamThreads - 32) prefetch_more(p, block_rows);
  const u32 row_words = p.col_tiles * 32 + Products::kPadding;
  u32* const codes = shared_words + Queue::words(p);
  int* const sums = reinterpret_cast<int*>(codes + kRows * row_words);
  for (u32 i = thread_index(); i < kRows * block_rows.count * kTileRows; i += kStreamThreads)
    sums[i] = 0;
  // Of the block's weight rows.
  const u32 own_rows = block_rows.count * kTileRows;
  const auto weight_row = [&](u32 i) {
    return (block + i / kTileRows * p.groups) * kTileRows + i % kTileRows;
  };
  const auto scale_of = [&](u32 row) {
    return row < p.weight_rows ? reinterpret_cast<const float*>(p.scales_address)[row] : 0;
  };
  float first_scale = 0;  // early, where this runs before the kernel before it has ended
  if (kOverlaps && thread_index() < own_rows) first_scale = scale_of(weight_row(thread_index()));
  const u32 rows = p.activation_rows - first_row;
  using Quantiser = RowQuantiser<kRows, kStreamWarps>;
  Quantiser quantiser(rows, p.col_tiles * 32);
  if constexpr (kValues) {
    if (thread_index() < kRows) known[thread_index()] = Quantiser::unknown_row();
    barrier_of<kStreamThreads>();
  }
  await_previous();

  if constexpr (kValues) {
    u32* const target = codes + quantiser.row * row_words;
    if (p.value_type == 0)
      quantiser.template fill<0>(p.values_address, p.cols, target, known, greatest_of_warps);
    else if (p.value_type == 1)
      quantiser.template fill<1>(p.values_address, p.cols, target, known, greatest_of_warps);
    else
      quantiser.template fill<2>(p.values_address, p.cols, target, known, greatest_of_warps);
  } else {
    if (thread_index() < kRows && thread_index() < rows)
      known[thread_index()] =
          reinterpret_cast<const GpuActivationRow*>(p.rows_address)[first_row + thread_index()];
    copy_codes<kRows, kStreamWarps>(p.codes_address + static_cast<u64>(first_row) * p.stride,
                                    p.stride, rows, p.col_tiles, codes, row_words);
  }
  block_barrier();

  const u32* const activations = Products::own_row(codes + thread_index() % 32 % 4 * 8, row_words);
#pragma unroll 1
  for (Piece piece(p, thread_index() / 32); piece.row < block_rows.count; piece.advance(p)) {
    queue.take();
    const u32* const y = activations + piece.first * 32;
    Products products;
    if (piece.count == kPieceTiles && queue.next_is_whole()) {  // no branches among the products
#pragma unroll
      for (u32 i = 0; i < kPieceTiles; ++i) {
        products.add(queue.tiles[i], y + i * 32, row_words);
        queue.template used<true>(i);
      }
    } else {
#pragma unroll
      for (u32 i = 0; i < kPieceTiles; ++i) {
        if (i < piece.count) products.add(queue.tiles[i], y + i * 32, row_words);
        queue.template used<false>(i);
      }
    }
    products.end_chunk();
    int* const target = sums + piece.row * kRows * kTileRows;
    products.give_all(thread_index() % 32,
                      [&](u32 m, u32 r, int sum) { add_shared(target + m * kTileRows + r, sum); });
  }
  block_barrier();

  for (u32 i = thread_index(); i < own_rows; i += kStreamThreads) {
    const u32 row = weight_row(i);
    if (row >= p.weight_rows) break;
    const float scale = kOverlaps && i < kStreamThreads ? first_scale : scale_of(row);
    for (u32 m = 0; m < kRows && m < rows; ++m)
      store_result(p.out_address, p.output_type, p.addends,
                   static_cast<u64>(first_row + m) * p.weight_rows + row, row,
                   sums[(i / kTileRows * kRows + m) * kTileRows + i % kTileRows] - known[m].sum,
                   known[m].step, scale);
  }
  if (kValues && block_index() == 0 && thread_index() < rows)
    reinterpret_cast<GpuActivationRow*>(p.rows_address)[thread_index()] = known[thread_index()];
}

}  // namespace

GPUREADY_KERNEL(384, 2) void gpuready_ternary_stream_1(TernaryStreamParams p) {
  multiply_stream<DotProducts<1>, false>(p);
}
GPUREADY_KERNEL(384, 2) void gpuready_ternary_stream_8(TernaryStreamParams p) {
  multiply_stream<MatrixProducts<1>, false>(p);
}
GPUREADY_KERNEL(384, 1) void gpuready_ternary_stream_16(TernaryStreamParams p) {
  multiply_stream<MatrixProducts<2>, false>(p);
}
GPUREADY_KERNEL(384, 2) void gpuready_ternary_stream_values_1(TernaryStreamParams p) {
  multiply_stream<DotProducts<1>, true>(p);
}
GPUREADY_KERNEL(384, 2) void gpuready_ternary_stream_values_8(TernaryStreamParams p) {
  multiply_stream<MatrixProducts<1>, true>(p);
}

}  // namespace gpuready::device
