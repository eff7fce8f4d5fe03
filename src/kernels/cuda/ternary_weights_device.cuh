// Weights to I2_S by the sign and absmean rules, in the order of ternary_weights.h.
#pragma once

#include "kernel_abi/ternary_quantise.h"
#include "kernel_abi/ternary_weights.h"
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {
namespace {

using ternary::half_value;
using ternary::kMeanThreads;
using ternary::kSignThreads;
using ternary::kSumPiece;
using ternary::kSumThreads;
using ternary::TernaryWeightsParams;

// Weights by their bits as they are stored: magnitudes of one type compare as integers do.
template <u32 kType>
struct Stored {
  static constexpr u32 kBits = kType == 0 ? 32 : 16, kPerLoad = 128 / kBits;
  static constexpr u32 kMagnitude = kType == 0 ? 0x7FFFFFFFu : 0x7FFFu;
  static constexpr u32 kInfinity = kType == 0 ? 0x7F800000u : kType == 1 ? 0x7C00u : 0x7F80u;

  static GPUREADY_DEVICE u32 at(Words4 w, u32 i) {
    return kType == 0 ? w[i] : w[i / 2] >> i % 2 * 16 & 0xFFFF;
  }
  // w + 1.
  static GPUREADY_DEVICE u32 code(u32 bits, u32 threshold) {
    if ((bits & kMagnitude) <= threshold) return 1;
    return bits >> (kBits - 1) ? 0 : 2;
  }
  static GPUREADY_DEVICE u32 as_f32(u32 bits) {
    return kType == 0 ? bits : kType == 1 ? bits_of(half_value(bits)) : bits << 16;
  }
};

// The upper bytes of the halves of `a` and `b`, as one word.
GPUREADY_DEVICE u32 upper_bytes(u32 a, u32 b) {
  u32 out;
  asm("prmt.b32 %0, %1, %2, 0x7531;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}

GPUREADY_DEVICE double exchange(double value, u32 mask) {
  const u64 bits = __builtin_bit_cast(u64, value);
  const u32 low = shuffle_xor(static_cast<u32>(bits), mask);
  const u32 high = shuffle_xor(static_cast<u32>(bits >> 32), mask);
  return __builtin_bit_cast(double, u64{high} << 32 | low);
}

typedef double Pair __attribute__((ext_vector_type(2)));
GPUREADY_DEVICE double* sums_of(const TernaryWeightsParams& p) {
  return reinterpret_cast<double*>(ternary::sums_address(p.out_address));
}

// 16 bytes of each thread of four, of halves 64 bytes that are two steps: thread t has t % 2 of
// step t / 2. After it thread t has four lanes of either step, those from 8 (t % 2) + 4 (t / 2) on.
GPUREADY_DEVICE Words4 same_lanes(Words4 w) {
  const bool first = (thread_index() & 2) == 0;
  const u32 low = shuffle_xor(first ? w.z : w.x, 2), high = shuffle_xor(first ? w.w : w.y, 2);
  return first ? Words4{w.x, w.y, low, high} : Words4{low, high, w.z, w.w};
}

// The sum of a block's pieces. Four threads have a piece, four lanes each. Several loads are asked
// for before the first is added; the parts of a line that a warp asks for in turn meet in the
// first-level cache.
template <u32 kType>
GPUREADY_DEVICE void sum_pieces(const TernaryWeightsParams& p) {
  constexpr u32 kBytes = Stored<kType>::kBits / 8, kLoads = kSumPiece * kBytes / 64, kAtOnce = 8;
  static_assert(kLoads % kAtOnce == 0 && kSumThreads / 4 == ternary::kSummedPieces);
  GPUREADY_SHARED static double of_warps[kSumThreads / 32];
  const u64 piece = static_cast<u64>(block_index()) * (kSumThreads / 4) + thread_index() / 4;
  const auto loads_of = [&p](u64 which) {
    const u64 first = which * kSumPiece, left = first < p.count ? p.count - first : 0;
    return static_cast<u32>(left < kSumPiece ? left : kSumPiece) / (kSumPiece / kLoads);
  };
  // What a piece does not have is zero: the warp goes on together.
  const u32 loads = loads_of(piece), most = loads_of(piece & ~u64{7});
  const Words4* at =
      reinterpret_cast<const Words4*>(p.values_address + piece * kSumPiece * kBytes) +
      thread_index() % 4;
  double lanes[4] = {};
#pragma unroll 1
  for (u32 load = 0; load < most; load += kAtOnce, at += kAtOnce * 4) {
    Words4 w[kAtOnce];
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) w[i] = load + i < loads ? at[4 * i] : Words4{};
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      if constexpr (kType == 0) {
#pragma unroll
        for (u32 j = 0; j < 4; ++j) lanes[j] += ternary::summand<kType>(w[i][j], 0);
      } else {
        const Words4 both = same_lanes(w[i]);
#pragma unroll
        for (u32 j = 0; j < 8; ++j) lanes[j % 4] += ternary::summand<kType>(both[j / 2], j % 2);
      }
    }
  }
  // Lanes 8 apart, then 4: threads 2 and 1 apart, or of halves 1 and 2.
  constexpr u32 kEight = kType == 0 ? 2 : 1;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) lanes[i] += exchange(lanes[i], kEight);
#pragma unroll
  for (u32 i = 0; i < 4; ++i) lanes[i] += exchange(lanes[i], 3 - kEight);
  double sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  for (u32 mask = 4; mask < 32; mask *= 2) sum += exchange(sum, mask);
  if (thread_index() % 32 == 0) of_warps[thread_index() / 32] = sum;
  block_barrier();
  static_assert(kSumThreads / 32 == 4);
  if (thread_index() == 0)
    sums_of(p)[block_index()] = (of_warps[0] + of_warps[1]) + (of_warps[2] + of_warps[3]);
}

// In pairs, by one block: runs of kRun sums, each of which leaves its sum in front of those that
// are still to be read, until one is left.
GPUREADY_DEVICE void make_mean(const TernaryWeightsParams& p) {
  constexpr u32 kOwn = 8;
  constexpr u64 kRun = u64{kMeanThreads} * kOwn;
  GPUREADY_SHARED static double of_warps[kMeanThreads / 32];
  double* const sums = sums_of(p);
  const u32 warp = thread_index() / 32, lane = thread_index() % 32;
  double total = 0;
  for (u64 count = ternary::summed_runs(p.count);; count = (count + kRun - 1) / kRun) {
    for (u64 run = 0; run * kRun < count; ++run) {
      const u64 first = run * kRun + thread_index() * kOwn;
      double own[kOwn] = {};
#pragma unroll
      for (u32 i = 0; i < kOwn; i += 2) {
        if (first + i + 1 < count) {
          const Pair pair = *reinterpret_cast<const Pair*>(sums + first + i);
          own[i] = pair.x;
          own[i + 1] = pair.y;
        } else if (first + i < count) {
          own[i] = sums[first + i];
        }
      }
#pragma unroll
      for (u32 n = kOwn / 2; n > 0; n /= 2)
#pragma unroll
        for (u32 i = 0; i < n; ++i) own[i] = own[2 * i] + own[2 * i + 1];
      for (u32 mask = 1; mask < 32; mask *= 2) own[0] += exchange(own[0], mask);
      if (lane == 0) of_warps[warp] = own[0];
      block_barrier();
      total = of_warps[lane];
      for (u32 mask = 1; mask < 32; mask *= 2) total += exchange(total, mask);
      if (thread_index() == 0) sums[run] = total;
      block_barrier();
    }
    if (count <= kRun) break;
  }
  u32* const scale = reinterpret_cast<u32*>(p.out_address + p.count / 4);
  total *= p.value_type == ternary::kWeightsF16 ? ternary::kSummandUnit<ternary::kWeightsF16>
                                                : ternary::kSummandUnit<ternary::kWeightsF32>;
  if (thread_index() < 8) scale[thread_index()] = 0;
  if (thread_index() == 0) {
    *scale = bits_of(ternary::absmean_scale(total, static_cast<double>(p.count)));
    *reinterpret_cast<u64*>(p.bad_address) = ~0ull;
  }
}

template <u32 kType>
GPUREADY_DEVICE void quantise_signs(const TernaryWeightsParams& p) {
  using S = Stored<kType>;
  GPUREADY_SHARED static u32 scratch[32];
  u32* const scale = reinterpret_cast<u32*>(p.out_address + p.count / 4);
  u64* const bad = reinterpret_cast<u64*>(p.bad_address);
  if (p.begin) {
    if (block_index() == 0 && thread_index() < 8) scale[thread_index()] = 0;
    if (block_index() == 0 && thread_index() == 0) *bad = ~0ull;
    return;
  }
  // A thread makes kPerLoad bytes of a block's block / 4.
  const u32 plane = p.block / 4, parts_log2 = 31 - __builtin_clz(plane / S::kPerLoad);
  const u64 parts = p.count / 4 / S::kPerLoad;
  const u64 stride = static_cast<u64>(block_count()) * kSignThreads;
  const u32 threshold = p.absmean ? ternary::absmean_threshold<kType>(float_of(*scale))
                                  : ternary::kSignThreshold<kType>;
  const u32 spare = kType == 0 ? 0 : ternary::spare_of(threshold);
  const bool paired = p.out_address % 8 == 0;
  u32 greatest = 0;
  for (u64 next = static_cast<u64>(block_index()) * kSignThreads + thread_index(); next < parts;
       next += stride) {
    // What was read last for the sums may still be in the cache.
    const u64 part = p.absmean ? parts - 1 - next : next;
    const u64 first =
        (part >> parts_log2) * p.block + (part & ((1u << parts_log2) - 1)) * u64{S::kPerLoad};
    // By way of the first-level cache, where parts of a line that are asked for in turn meet.
    Words4 w[4];
#pragma unroll
    for (u32 f = 0; f < 4; ++f)
      w[f] =
          *reinterpret_cast<const Words4*>(p.values_address + (first + f * plane) * (S::kBits / 8));
    u32 greatest_here = 0;
    if constexpr (kType == 0) {
      u32 out = 0;
#pragma unroll
      for (u32 f = 0; f < 4; ++f) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          out |= S::code(w[f][i], threshold) << (8 * i + 6 - 2 * f);
          greatest_here = Greatest()(greatest_here, w[f][i] & S::kMagnitude);
        }
      }
      reinterpret_cast<u32*>(p.out_address)[part] = out;
    } else {
      // Two bytes in the upper ones of each half.
      u32 pairs[4] = {}, low = 0, high = 0;
#pragma unroll
      for (u32 f = 0; f < 4; ++f) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          pairs[i] |= ternary::code_pair(w[f][i], spare) >> 2 * f;
          const u32 magnitudes = w[f][i] & 0x7FFF7FFFu;
          high = Greatest()(high, magnitudes);
          low = Greatest()(low, magnitudes << 16);
        }
      }
      greatest_here = Greatest()(high, low) >> 16;
      const u32 first_out = upper_bytes(pairs[0], pairs[1]);
      const u32 second_out = upper_bytes(pairs[2], pairs[3]);
      if (paired)
        reinterpret_cast<u64*>(p.out_address)[part] = u64{second_out} << 32 | first_out;
      else {
        reinterpret_cast<u32*>(p.out_address)[part * 2] = first_out;
        reinterpret_cast<u32*>(p.out_address)[part * 2 + 1] = second_out;
      }
    }
    greatest = Greatest()(greatest, greatest_here);
    if (greatest_here < S::kInfinity) continue;
    for (u32 f = 0; f < 4; ++f)
      for (u32 i = 0; i < S::kPerLoad; ++i)
        if ((S::at(w[f], i) & S::kMagnitude) >= S::kInfinity)
          atomic_min(bad, first + f * plane + i);
  }
  if (p.absmean) return;
  greatest = reduce_block(greatest, scratch, 0, Greatest());
  if (thread_index() == 0)
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(scale), "r"(S::as_f32(greatest)) : "memory");
}

}  // namespace
}  // namespace gpuready::device
