// What the kernels of ternary matrix products have in common. A = weights (features), B =
// activations (tokens), so an accumulator's row is a feature and its column a token, while the
// output has a token's features side by side: the epilogue turns them around in shared memory.
#pragma once

#include "kernel_abi/ternary_gemm_params.h"
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

using namespace gpuready::ternary;

GPUREADY_DEVICE Words4 load_shared_4(u32 address) {
  Words4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
GPUREADY_DEVICE u32 load_shared(u32 address) {
  u32 v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}
GPUREADY_DEVICE void store_shared(u32 address, u32 value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
GPUREADY_DEVICE void store_shared_16(u32 address, unsigned short value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}
GPUREADY_DEVICE Words4 load_global_4(u64 address) {
  Words4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address)
               : "memory");
  return v;
}
// Of weights: launches overlap, so all else may have been written while this kernel was there.
GPUREADY_DEVICE Words4 load_constant_4(u64 address) {
  Words4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}
GPUREADY_DEVICE void store_global_4(u64 address, Words4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
template <class T>
GPUREADY_DEVICE GPUREADY_GLOBAL_MEMORY T* global(u64 address) {
  return reinterpret_cast<GPUREADY_GLOBAL_MEMORY T*>(address);
}

// Register f of the A operand, of four weights each (kernel_abi/ternary_layout.h).
GPUREADY_DEVICE void decode(u32 word, u32 (&a)[4]) {
#pragma unroll
  for (u32 f = 0; f < 4; ++f) a[f] = word >> 2 * f & 0x03030303;
}

// The same as 64 times the weight, signed: the code moves into the two highest bits of its byte, as
// the weight modulo 4.
GPUREADY_DEVICE void decode_signed(u32 word, u32 (&a)[4]) {
  const u32 weights = (~word & 0x55555555) | (~(word | word << 1) & 0xAAAAAAAA);
#pragma unroll
  for (u32 f = 0; f < 4; ++f) a[f] = weights << (6 - 2 * f) & 0xC0C0C0C0;
}

// Nearest even; two at once.
GPUREADY_DEVICE u32 to_bf16_pair(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;

// The output of kWarps warps side by side: each has kHalves tiles of 16 features by 8 * kColumns
// tokens, and together they store what of a token is contiguous. In a warp,
// sums[h][4 * i + 2 * q + e] is feature 16 * h + 8 * q + lane / 4 of token 8 * i + 2 * (lane % 4) +
// e.
template <u32 kHalves, u32 kColumns, u32 kWarps = 1>
struct Epilogue {
  static constexpr u32 kOwn = 16 * kHalves, kGroups = 2 * kHalves;  // features, and groups of 8
  static constexpr u32 kFeatures = kWarps * kOwn, kThreads = kWarps * 32;
  static constexpr u32 kRoom = kWarps * kStagingBytes;
  // Bytes of a token in the staging: no two lanes share a bank.
  static constexpr u32 kStride32 = kFeatures * 4 + 16, kStride16 = kFeatures * 2 + 16;
  // Columns that are turned around at once.
  static constexpr u32 kChunk32 = 2;
  static constexpr u32 kChunk16 = kColumns % 8 == 0 && 64 * kStride16 <= kRoom   ? 8
                                  : kColumns % 6 == 0 && 48 * kStride16 <= kRoom ? 6
                                  : kColumns % 4 == 0                            ? 4
                                                                                 : 2;
  static_assert(kColumns % kChunk32 == 0 && kColumns % kChunk16 == 0);
  static_assert(8 * kChunk32 * kStride32 <= kRoom && 8 * kChunk16 * kStride16 <= kRoom);

  const GemmParams& p;
  u32 staging, thread, token0, feature0;  // of the warps together
  u32 lane = kWarps == 1 ? thread : thread % 32;
  u32 own = kWarps == 1 ? 0 : thread / 32 * kOwn;  // this warp's first feature among them
  float scales[kGroups] = {};

  // What the tokens and features of this tile need, on its way while the tile is multiplied.
  GPUREADY_DEVICE void fetch() {
#pragma unroll
    for (u32 i = 0; i < 8 * kColumns; i += kThreads) {
      if (i + thread >= 8 * kColumns) continue;
      const u32 m = token0 + i + thread < p.rows ? token0 + i + thread : p.rows - 1;
      asm volatile(
          "cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(staging + kRoom + (i + thread) * 8),
          "l"(p.row_facts + u64{m} * sizeof(GpuActivationRow))
          : "memory");
    }
    if (p.output_type == kGemmOutInt32) return;
#pragma unroll
    for (u32 q = 0; q < kGroups; ++q)
      if (const u32 n = feature0 + own + 8 * q + lane / 4; n < p.features)
        scales[q] = global<const float>(p.scales)[n];
  }
  // Of this lane's two tokens of column i.
  struct Tokens {
    float step[2];
    int sum[2];
  };
  GPUREADY_DEVICE Tokens tokens(u32 i) const {
    const Words4 v = load_shared_4(staging + kRoom + (8 * i + 2 * (lane % 4)) * 8);
    return {{float_of(v.x), float_of(v.z)}, {static_cast<int>(v.y), static_cast<int>(v.w)}};
  }

  GPUREADY_DEVICE void barrier() const {
    if constexpr (kWarps == 1)
      warp_barrier();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(1 + thread_index() / kThreads), "n"(kThreads)
                   : "memory");
  }

  // `tokens` of the staging go out, from token0 + first on.
  template <u32 kTokens, u32 kElementBytes>
  GPUREADY_DEVICE void copy_out(u32 first) const {
    constexpr u32 kStride = kElementBytes == 4 ? kStride32 : kStride16;
    const u64 row_bytes = static_cast<u64>(p.features) * kElementBytes;
    barrier();
    if (((p.out | row_bytes) & 15) == 0) {
      constexpr u32 kLanes = kFeatures * kElementBytes / 16;  // a token
      const u32 n = feature0 + thread % kLanes * (16 / kElementBytes);
      static_assert(kThreads % kLanes == 0 && kTokens % (kThreads / kLanes) == 0);
      constexpr u32 kStep = kThreads / kLanes, kAtOnce = kWarps == 1 ? 1 : kTokens / kStep;
#pragma unroll
      for (u32 t = 0; t < kTokens; t += kAtOnce * kStep) {
        const u32 local = t + thread / kLanes, m = token0 + first + local;
        Words4 v[kAtOnce];
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i)
          v[i] = load_shared_4(staging + (local + i * kStep) * kStride + thread % kLanes * 16);
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i)
          if (m + i * kStep < p.rows && n < p.features)
            store_global_4(
                p.out + (m + i * kStep) * row_bytes + static_cast<u64>(n) * kElementBytes, v[i]);
      }
    } else {
      const u32 n = feature0 + thread;
      for (u32 t = 0; t < kTokens; ++t) {
        const u32 m = token0 + first + t;
        if (thread >= kFeatures || m >= p.rows || n >= p.features) continue;
        const u32 word = load_shared(staging + t * kStride + (thread * kElementBytes & ~3u));
        const u64 at = static_cast<u64>(m) * p.features + n;
        if constexpr (kElementBytes == 4) {
          global<u32>(p.out)[at] = word;
        } else {
          global<unsigned short>(p.out)[at] = static_cast<unsigned short>(word >> thread % 2 * 16);
        }
      }
    }
    barrier();
  }

  // The same of f32 values that are not the output yet, a thread a feature.
  template <u32 kTokens>
  GPUREADY_DEVICE void finish_out(u32 first) const {
    barrier();
    const u32 n = feature0 + thread;
#pragma unroll 1
    for (u32 t = 0; t < kTokens; ++t) {
      const u32 m = token0 + first + t;
      if (thread >= kFeatures || m >= p.rows || n >= p.features) continue;
      store_value(p.out, p.output_type, p.addends, static_cast<u64>(m) * p.features + n, n,
                  float_of(load_shared(staging + t * kStride32 + thread * 4)));
    }
    barrier();
  }

  // Sums of codes (u32), or of groups' terms (float), which have no int32 output.
  template <class Sum>
  GPUREADY_DEVICE void store(const Sum (&sums)[kHalves][4 * kColumns]) const {
    await_copies();
    if (token0 >= p.rows || feature0 >= p.features) return;
    barrier();
    if (p.output_type == kGemmOutF16 || p.addends.bias != 0 || p.addends.residual != 0)
      store_32<true, true>(sums);
    else if (p.output_type == kGemmOutBf16)
      store_bf16(sums);
    else if (kIsFloat<Sum> || p.output_type == kGemmOutF32)
      store_32<true, false>(sums);
    else if constexpr (!kIsFloat<Sum>)
      store_32<false, false>(sums);
  }

  // The sum of w * y: codes are w + 1.
  GPUREADY_DEVICE int product(u32 sum, int activations) const {
    return static_cast<int>(sum) - activations;
  }

  GPUREADY_DEVICE float value(u32 sum, const Tokens& of, u32 e, u32 q) const {
    return static_cast<float>(product(sum, of.sum[e])) * (of.step[e] * scales[q]);
  }
  GPUREADY_DEVICE float value(float sum, const Tokens& of, u32 e, u32 q) const {
    return sum * (of.step[e] * scales[q]);
  }

  template <bool kFloat, bool kUnfinished, class Sum>
  GPUREADY_DEVICE void store_32(const Sum (&sums)[kHalves][4 * kColumns]) const {
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      const Tokens of = tokens(i);
#pragma unroll
      for (u32 e = 0; e < 2; ++e) {
        const u32 local = 8 * (i % kChunk32) + 2 * (lane % 4) + e;
#pragma unroll
        for (u32 q = 0; q < kGroups; ++q) {
          const Sum sum = sums[q / 2][4 * i + 2 * (q % 2) + e];
          u32 bits;
          if constexpr (kFloat)
            bits = bits_of(value(sum, of, e, q));
          else
            bits = static_cast<u32>(product(sum, of.sum[e]));
          store_shared(staging + local * kStride32 + (own + 8 * q + lane / 4) * 4, bits);
        }
      }
      if (i % kChunk32 != kChunk32 - 1) continue;
      if constexpr (kUnfinished)
        finish_out<8 * kChunk32>(8 * (i + 1 - kChunk32));
      else
        copy_out<8 * kChunk32, 4>(8 * (i + 1 - kChunk32));
    }
  }

  template <class Sum>
  GPUREADY_DEVICE void store_bf16(const Sum (&sums)[kHalves][4 * kColumns]) const {
    // Loads that are under way before the first is waited for; mma.sync has no registers for more.
    constexpr u32 kAhead = kWarps == 1 ? 1 : kChunk16;
    Tokens of[kAhead];
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      if (i % kAhead == 0) {
#pragma unroll
        for (u32 c = 0; c < kAhead; ++c) of[c] = tokens(i + c);
      }
      u32 pairs[kGroups];
#pragma unroll
      for (u32 q = 0; q < kGroups; ++q) {
        float values[2];
#pragma unroll
        for (u32 e = 0; e < 2; ++e)
          values[e] = value(sums[q / 2][4 * i + 2 * (q % 2) + e], of[i % kAhead], e, q);
        pairs[q] = to_bf16_pair(values[0], values[1]);
      }
#if __CUDA_ARCH__ >= 900
      // Lane 8 q + r has the address of token r of the features 8 q and on.
      const u32 at =
          staging + (8 * (i % kChunk16) + lane % 8) * kStride16 + own * 2 + lane / 8 % kGroups * 16;
      if constexpr (kGroups == 4)
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
            "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
            : "memory");
      else
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at),
                     "r"(pairs[0]), "r"(pairs[1])
                     : "memory");
#else
#pragma unroll
      for (u32 q = 0; q < kGroups; ++q) {
        const u32 at = staging + (8 * (i % kChunk16) + 2 * (lane % 4)) * kStride16 +
                       (own + 8 * q + lane / 4) * 2;
        store_shared_16(at, static_cast<unsigned short>(pairs[q]));
        store_shared_16(at + kStride16, static_cast<unsigned short>(pairs[q] >> 16));
      }
#endif
      if (i % kChunk16 == kChunk16 - 1) copy_out<8 * kChunk16, 2>(8 * (i + 1 - kChunk16));
    }
  }
};

}  // namespace gpuready::device
