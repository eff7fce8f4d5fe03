// What the kernels of ternary matrix products have in common. A = weights (features), B =
// activations (tokens), so an accumulator's row is a feature and its column a token, while the
// output has a token's features side by side: the epilogue turns them around in shared memory.
#pragma once

#include "kernels/ternary_device.cuh"
#include "kernels/ternary_gemm_params.h"

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
// Of what no kernel writes meanwhile.
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
GPUREADY_DEVICE void warp_barrier() { __nvvm_bar_warp_sync(0xffffffff); }

// Register f of the A operand, of four weights each (kernels/ternary_layout.h).
GPUREADY_DEVICE void decode(u32 word, u32 (&a)[4]) {
#pragma unroll
  for (u32 f = 0; f < 4; ++f) a[f] = word >> 2 * f & 0x03030303;
}

// Nearest even; two at once.
GPUREADY_DEVICE u32 to_bf16_pair(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// A warp's part of the output: kHalves tiles of 16 features by 8 * kColumns tokens.
// sums[h][4 * i + 2 * q + e] is feature 16 * h + 8 * q + lane / 4 of token 8 * i + 2 * (lane % 4) +
// e.
template <u32 kHalves, u32 kColumns>
struct Epilogue {
  static constexpr u32 kFeatures = 16 * kHalves, kGroups = 2 * kHalves;  // of 8 features
  // Bytes of a token in the staging: no two lanes share a bank.
  static constexpr u32 kStride32 = kFeatures * 4 + 16, kStride16 = kFeatures * 2 + 16;
  static_assert(16 * kStride32 <= kStagingBytes && 32 * kStride16 <= kStagingBytes);

  const GemmParams& p;
  u32 staging, lane, token0, feature0;
  float scales[kGroups] = {};

  // What the tokens and features of this tile need, brought near while it is still multiplied:
  // one wait for memory instead of one for each token.
  GPUREADY_DEVICE void fetch() {
#pragma unroll
    for (u32 i = 0; i < 8 * kColumns; i += 32) {
      if (i + lane >= 8 * kColumns) continue;
      const u32 m = token0 + i + lane < p.rows ? token0 + i + lane : p.rows - 1;
      asm volatile(
          "{ .reg .b32 step, sum;\nld.global.nc.v2.b32 {step, sum}, [%0];\n"
          "st.shared.v2.b32 [%1], {step, sum}; }" ::"l"(p.row_facts +
                                                        u64{m} * sizeof(GpuActivationRow)),
          "r"(staging + kStagingBytes + (i + lane) * 8)
          : "memory");
    }
    if (p.output_type == kGemmOutInt32) return;
#pragma unroll
    for (u32 q = 0; q < kGroups; ++q)
      if (const u32 n = feature0 + 8 * q + lane / 4; n < p.features)
        scales[q] = global<const float>(p.scales)[n];
  }
  // Of this lane's two tokens of column i.
  struct Tokens {
    float step[2];
    int sum[2];
  };
  GPUREADY_DEVICE Tokens tokens(u32 i) const {
    const Words4 v = load_shared_4(staging + kStagingBytes + (8 * i + 2 * (lane % 4)) * 8);
    return {{float_of(v.x), float_of(v.z)}, {static_cast<int>(v.y), static_cast<int>(v.w)}};
  }

  // `tokens` of the staging go out, from token0 + first on.
  template <u32 kTokens, u32 kElementBytes>
  GPUREADY_DEVICE void copy_out(u32 first) const {
    constexpr u32 kStride = kElementBytes == 4 ? kStride32 : kStride16;
    const u64 row_bytes = static_cast<u64>(p.features) * kElementBytes;
    warp_barrier();
    if (((p.out | row_bytes) & 15) == 0) {
      constexpr u32 kLanes = kFeatures * kElementBytes / 16;  // a token
      const u32 n = feature0 + lane % kLanes * (16 / kElementBytes);
#pragma unroll
      for (u32 t = 0; t < kTokens; t += 32 / kLanes) {
        const u32 local = t + lane / kLanes, m = token0 + first + local;
        const Words4 v = load_shared_4(staging + local * kStride + lane % kLanes * 16);
        if (m < p.rows && n < p.features)
          store_global_4(p.out + m * row_bytes + static_cast<u64>(n) * kElementBytes, v);
      }
    } else {
      const u32 n = feature0 + lane;
      for (u32 t = 0; t < kTokens; ++t) {
        const u32 m = token0 + first + t;
        if (lane >= kFeatures || m >= p.rows || n >= p.features) continue;
        const u32 word = load_shared(staging + t * kStride + (lane * kElementBytes & ~3u));
        const u64 at = static_cast<u64>(m) * p.features + n;
        if constexpr (kElementBytes == 4) {
          global<u32>(p.out)[at] = word;
        } else {
          global<unsigned short>(p.out)[at] = static_cast<unsigned short>(word >> lane % 2 * 16);
        }
      }
    }
    warp_barrier();
  }

  GPUREADY_DEVICE void store(const u32 (&sums)[kHalves][4 * kColumns]) const {
    if (token0 >= p.rows || feature0 >= p.features) return;
    warp_barrier();  // after fetch()
    if (p.output_type == kGemmOutBf16)
      store_bf16(sums);
    else if (p.output_type == kGemmOutF32)
      store_32<true>(sums);
    else
      store_32<false>(sums);
  }

  // The sum of w * y: codes are w + 1.
  GPUREADY_DEVICE int product(u32 sum, int activations) const {
    return static_cast<int>(sum) - activations;
  }

  template <bool kFloat>
  GPUREADY_DEVICE void store_32(const u32 (&sums)[kHalves][4 * kColumns]) const {
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      const Tokens of = tokens(i);
#pragma unroll
      for (u32 e = 0; e < 2; ++e) {
        const u32 local = 8 * i + 2 * (lane % 4) + e;
#pragma unroll
        for (u32 q = 0; q < kGroups; ++q) {
          const int value = product(sums[q / 2][4 * i + 2 * (q % 2) + e], of.sum[e]);
          const u32 bits = kFloat ? bits_of(static_cast<float>(value) * (of.step[e] * scales[q]))
                                  : static_cast<u32>(value);
          store_shared(staging + local % 16 * kStride32 + (8 * q + lane / 4) * 4, bits);
        }
      }
      if (i % 2 == 1) copy_out<16, 4>(8 * (i - 1));
    }
  }

  GPUREADY_DEVICE void store_bf16(const u32 (&sums)[kHalves][4 * kColumns]) const {
    constexpr u32 kChunk = kColumns < 4 ? kColumns : 4;
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      const Tokens of = tokens(i);
      u32 pairs[kGroups];
#pragma unroll
      for (u32 q = 0; q < kGroups; ++q) {
        float values[2];
#pragma unroll
        for (u32 e = 0; e < 2; ++e) {
          const int value = product(sums[q / 2][4 * i + 2 * (q % 2) + e], of.sum[e]);
          values[e] = static_cast<float>(value) * (of.step[e] * scales[q]);
        }
        pairs[q] = to_bf16_pair(values[0], values[1]);
      }
#if __CUDA_ARCH__ >= 900
      // Lane 8 q + r has the address of token r of the features 8 q and on.
      const u32 at = staging + (8 * (i % kChunk) + lane % 8) * kStride16 + lane / 8 % kGroups * 16;
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
        const u32 at =
            staging + (8 * (i % kChunk) + 2 * (lane % 4)) * kStride16 + (8 * q + lane / 4) * 2;
        store_shared_16(at, static_cast<unsigned short>(pairs[q]));
        store_shared_16(at + kStride16, static_cast<unsigned short>(pairs[q] >> 16));
      }
#endif
      if (i % kChunk == kChunk - 1) copy_out<8 * kChunk, 2>(8 * (i - (kChunk - 1)));
    }
  }
};

}  // namespace gpuready::device
