// The activations of a block of the ternary vector kernels, in its shared memory: copied there as
// codes, or quantised there from values.
#pragma once

#include "kernel_abi/ternary_quantise.h"
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

using ternary::kNoColumn;

// Of the block's first threads.
template <u32 kThreads>
GPUREADY_DEVICE void barrier_of() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

// The codes of the rows there are, all columns.
template <u32 kRows, u32 kWarps>
GPUREADY_DEVICE void copy_codes(u64 codes, u32 stride, u32 rows, u32 tiles, u32* target,
                                u32 row_words) {
  const u32 word = thread_index() % 32;
#pragma unroll 1
  for (u32 m = 0; m < kRows && m < rows; ++m) {
    u64 source = codes + static_cast<u64>(m) * stride + thread_index() * 4;
    u32* to = target + m * row_words + thread_index() / 32 * 32 + place_in_tile(word);
    for (u32 tile = thread_index() / 32; tile < tiles; tile += kWarps) {
      copy_word(to, source, true);
      source += kWarps * kTileCols;
      to += kWarps * 32;
    }
  }
  await_copies();
}

#if __CUDA_ARCH__ >= 800

// A row of values of a type: 0 f32, 1 f16, 2 bf16.
template <u32 kType>
struct ValueRow {
  static constexpr u32 kBytes = kType == 0 ? 4 : 2;
  u64 at;
  u32 cols;
  bool aligned;  // four can be loaded at once

  GPUREADY_DEVICE ValueRow(u64 values, u32 columns, u32 row)
      : at(values + static_cast<u64>(row) * columns * kBytes),
        cols(columns),
        aligned(at % (4 * kBytes) == 0) {}

  static GPUREADY_DEVICE u32 widened(u32 half) {
    return kType == 1 ? bits_of(ternary::half_value(half)) : half << 16;
  }
  GPUREADY_DEVICE u32 stored_at(u32 column) const {
    if constexpr (kType == 0)
      return reinterpret_cast<GPUREADY_GLOBAL_MEMORY const u32*>(at)[column];
    else
      return reinterpret_cast<GPUREADY_GLOBAL_MEMORY const unsigned short*>(at)[column];
  }
  GPUREADY_DEVICE u32 bits_at(u32 column) const {
    if constexpr (kType == 0)
      return stored_at(column);
    else
      return widened(stored_at(column));
  }
  // Four that follow each other, as they are stored; zeros behind the row.
  typedef u32 Four __attribute__((ext_vector_type(kBytes)));
  GPUREADY_DEVICE Four load(u32 word) const {
    Four four = 0;
    const u32 first = 4 * word;
    if (aligned && first + 4 <= cols) {
      four = reinterpret_cast<GPUREADY_GLOBAL_MEMORY const Four*>(at)[word];
    } else {
#pragma unroll
      for (u32 b = 0; b < 4; ++b) {
        if (first + b >= cols) continue;
        if constexpr (kType == 0)
          four[b] = stored_at(first + b);
        else
          four[b / 2] |= stored_at(first + b) << b % 2 * 16;
      }
    }
    return four;
  }
  // Value `b` of them, as f32 bits.
  static GPUREADY_DEVICE u32 bits(const Four& four, u32 b) {
    if constexpr (kType == 0) return four[b];
    return widened(four[b / 2] >> b % 2 * 16 & 0xFFFF);
  }
};

GPUREADY_DEVICE u32 warp_greatest(u32 value) {
  u32 greatest;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(greatest) : "r"(value));
  return greatest;
}
GPUREADY_DEVICE u32 warp_total(u32 value) {
  u32 sum;
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(value));
  return sum;
}

// Rows of values, at most kRows, as codes, each block for itself: what quantising them apart would
// give (gpuready_ternary_activations). They are done side by side, by as many of the block's first
// kWarps each; what is reported is whole once these have passed a barrier.
template <u32 kRows, u32 kWarps>
struct RowQuantiser {
  GPUREADY_DEVICE RowQuantiser(u32 rows, u32 words_of_row)
      : row_warps(kRows == 1 ? kWarps : kWarps / rows),
        row(kRows == 1 ? 0 : thread_index() / 32 / row_warps),
        thread(thread_index() - row * row_warps * 32),
        threads(row_warps * 32),
        words(row < rows ? words_of_row : 0) {}

  static GPUREADY_DEVICE GpuActivationRow unknown_row() { return {0, 0, kNoColumn, 0}; }

  // `target` is of this thread's row. `known` begins as unknown_row(), and all threads have seen
  // that.
  template <u32 kType>
  GPUREADY_DEVICE void fill(u64 values, u32 cols, u32* target, GpuActivationRow* known,
                            u32 (&greatest_of_warps)[kWarps]) const {
    using Values = ValueRow<kType>;
    const Values in(values, cols, row);
    const u32 at_once = kHeld * threads;
    typename Values::Four held[kHeld];
    const auto load = [&](u32 first) {
#pragma unroll
      for (u32 i = 0; i < kHeld; ++i) {
        const u32 word = first + thread + i * threads;
        held[i] = word < words ? in.load(word) : typename Values::Four(0);
      }
    };
    u32 greatest = 0;
    // The first come last, and so are still held.
    u32 first = 0;
    while (first + at_once < words) first += at_once;
    for (;; first -= at_once) {
      load(first);
#pragma unroll
      for (u32 i = 0; i < kHeld; ++i)
#pragma unroll
        for (u32 b = 0; b < 4; ++b)
          greatest = Greatest()(greatest, Values::bits(held[i], b) & 0x7FFFFFFFu);
      if (first == 0) break;
    }
    const u32 lane = thread_index() % 32;
    greatest = warp_greatest(greatest);
    if (lane == 0) greatest_of_warps[thread_index() / 32] = greatest;
    barrier_of<32 * kWarps>();
    if (words == 0) return;
    greatest = warp_greatest(lane < row_warps ? greatest_of_warps[row * row_warps + lane] : 0);
    const bool finite = greatest < ternary::kInfinityBits;
    const float limit = ternary::activation_limit(float_of(finite ? greatest : 0));
    const float scale = ternary::activation_scale(limit);
    u32 sum = 0;
    for (; first < words; first += at_once) {
      if (first > 0) load(first);
#pragma unroll
      for (u32 i = 0; i < kHeld; ++i) {
        const u32 word = first + thread + i * threads;
        u32 four = 0;
#pragma unroll
        for (u32 b = 0; b < 4; ++b) {
          // A row that is not finite has codes of zero.
          const u32 bits = finite ? Values::bits(held[i], b) : 0;
          const u32 q = static_cast<u32>(ternary::quantise_activation(float_of(bits), scale));
          sum += q;
          four |= (q & 0xFF) << 8 * b;
        }
        if (word < words) target[word / 32 * 32 + place_in_tile(word % 32)] = four;
      }
    }
    sum = warp_total(sum);
    if (lane == 0) add_shared(&known[row].sum, static_cast<int>(sum));
    if (thread == 0)
      known[row].step = finite ? ternary::activation_step(limit) : float_of(0x7FFFFFFFu);
    if (!finite)
      for (u32 i = thread; i < cols; i += threads)
        if ((in.bits_at(i) & 0x7FFFFFFFu) >= ternary::kInfinityBits)
          lower_shared(&known[row].bad_column, i);
  }

  // Words of four values that a thread loads at once: what registers allow. Those of a row that is
  // not longer are read once.
  static constexpr u32 kHeld = __CUDA_ARCH__ >= 900 ? 6 : 2;

  u32 row_warps, row;  // of this thread
  u32 thread, threads, words;
};

#endif

}  // namespace gpuready::device
