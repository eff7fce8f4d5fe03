// What the compute kernel asks of its target beyond target.cuh: of NVIDIA's (PTX) everything, of
// AMD's what compute_op_is_there_in_hip() lists.
#pragma once

#include "kernel_abi/compute_params.h"
#include "kernels/cuda/target.cuh"

namespace gpuready::device {

#if defined(__AMDGCN__)
#define GPUREADY_HAS_ALL_OPS 0
inline constexpr u32 kThreads = kComputeHipThreads;

// The work group: no register names the compute unit alike on all of AMD's GPUs.
GPUREADY_DEVICE u32 unit_id() { return block_index(); }

// As PTX prmt: four bits choose one of eight bytes; the highest of them replicates its sign.
GPUREADY_DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    const u32 choice = selector >> i * 4, byte = bytes >> (choice & 7) * 8 & 0xFF;
    result |= (choice & 8 ? (byte >> 7) * 0xFF : byte) << i * 8;
  }
  return result;
}
GPUREADY_DEVICE u32 funnel_shift_left(u32 lo, u32 hi, u32 bits) {
  return static_cast<u32>((u64{hi} << 32 | lo) << (bits & 31) >> 32);
}
GPUREADY_DEVICE u32 dot_product_4(u32 a, u32 b, u32 c) {
#pragma unroll
  for (u32 bit = 0; bit < 32; bit += 8)
    c += static_cast<u32>(static_cast<signed char>(a >> bit) * static_cast<signed char>(b >> bit));
  return c;
}
GPUREADY_DEVICE u64 multiply_high(u64 a, u64 b) {
  return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64);
}

GPUREADY_DEVICE u32 atomic_exchange(u32* target, u32 value) {
  return __hip_atomic_exchange(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPUREADY_DEVICE u32 atomic_add(u32* target, u32 value) {
  return __hip_atomic_fetch_add(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPUREADY_DEVICE void atomic_xor(u32* target, u32 value) {
  __hip_atomic_fetch_xor(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPUREADY_DEVICE void atomic_min(u32* target, u32 value) {
  __hip_atomic_fetch_min(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPUREADY_DEVICE void atomic_max(u32* target, u32 value) {
  __hip_atomic_fetch_max(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#else
#define GPUREADY_HAS_ALL_OPS 1
inline constexpr u32 kThreads = kComputeThreads;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define GPUREADY_HAS_FP16 1
#else
#define GPUREADY_HAS_FP16 0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
#define GPUREADY_HAS_TANH 1
#else
#define GPUREADY_HAS_TANH 0
#endif

// The SM that runs this warp, as it names itself. Volatile: read again each time.
GPUREADY_DEVICE u32 unit_id() {
  u32 id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id)::"memory");
  return id;
}

GPUREADY_DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) { return __nvvm_prmt(a, b, selector); }
GPUREADY_DEVICE u32 funnel_shift_left(u32 lo, u32 hi, u32 bits) {
  u32 result;
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(lo), "r"(hi), "r"(bits));
  return result;
}
GPUREADY_DEVICE u64 multiply_high(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }
// Four products of signed bytes, summed to c.
GPUREADY_DEVICE u32 dot_product_4(u32 a, u32 b, u32 c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
  u32 result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
#else
  for (u32 bit = 0; bit < 32; bit += 8)
    c += static_cast<u32>(static_cast<signed char>(a >> bit) * static_cast<signed char>(b >> bit));
  return c;
#endif
}

GPUREADY_DEVICE u32 half_from_float(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
GPUREADY_DEVICE float float_from_half(u32 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
  return value;
}
#if GPUREADY_HAS_FP16
GPUREADY_DEVICE u32 add_half2(u32 a, u32 b) {
  u32 result;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
GPUREADY_DEVICE u32 multiply_half2(u32 a, u32 b) {
  u32 result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
GPUREADY_DEVICE u32 fma_half2(u32 a, u32 b, u32 c) {
  u32 result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
#endif

#define GPUREADY_APPROXIMATE(name, instruction)              \
  GPUREADY_DEVICE float name(float x) {                      \
    float result;                                            \
    asm(instruction ".f32 %0, %1;" : "=f"(result) : "f"(x)); \
    return result;                                           \
  }
GPUREADY_APPROXIMATE(approximate_sin, "sin.approx")
GPUREADY_APPROXIMATE(approximate_cos, "cos.approx")
GPUREADY_APPROXIMATE(approximate_ex2, "ex2.approx")
GPUREADY_APPROXIMATE(approximate_lg2, "lg2.approx")
GPUREADY_APPROXIMATE(approximate_rcp, "rcp.approx")
GPUREADY_APPROXIMATE(approximate_rsqrt, "rsqrt.approx")
GPUREADY_APPROXIMATE(approximate_sqrt, "sqrt.approx")
#if GPUREADY_HAS_TANH
GPUREADY_APPROXIMATE(approximate_tanh, "tanh.approx")
#endif

// Among the 32 lanes of a warp, all taking part.
GPUREADY_DEVICE u32 shuffle_any(u32 value, u32 lane) {
  return static_cast<u32>(
      __nvvm_shfl_sync_idx_i32(-1, static_cast<int>(value), static_cast<int>(lane), 31));
}
GPUREADY_DEVICE u32 shuffle_up(u32 value, u32 distance) {
  return static_cast<u32>(
      __nvvm_shfl_sync_up_i32(-1, static_cast<int>(value), static_cast<int>(distance), 0));
}
GPUREADY_DEVICE u32 shuffle_butterfly(u32 value, u32 mask) {
  return static_cast<u32>(
      __nvvm_shfl_sync_bfly_i32(-1, static_cast<int>(value), static_cast<int>(mask), 31));
}
GPUREADY_DEVICE u32 vote_ballot(bool predicate) {
  return static_cast<u32>(__nvvm_vote_ballot_sync(-1, predicate));
}

GPUREADY_DEVICE u32 atomic_exchange(u32* target, u32 value) {
  return static_cast<u32>(
      __nvvm_atom_xchg_gen_i(reinterpret_cast<int*>(target), static_cast<int>(value)));
}
GPUREADY_DEVICE u32 atomic_add(u32* target, u32 value) {
  return static_cast<u32>(
      __nvvm_atom_add_gen_i(reinterpret_cast<int*>(target), static_cast<int>(value)));
}
GPUREADY_DEVICE void atomic_xor(u32* target, u32 value) {
  __nvvm_atom_xor_gen_i(reinterpret_cast<int*>(target), static_cast<int>(value));
}
GPUREADY_DEVICE void atomic_min(u32* target, u32 value) { __nvvm_atom_min_gen_ui(target, value); }
GPUREADY_DEVICE void atomic_max(u32* target, u32 value) { __nvvm_atom_max_gen_ui(target, value); }

#endif

}  // namespace gpuready::device
