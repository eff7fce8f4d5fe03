// What the ternary kernels share. Each image is compiled for one target: sm_50 has no dot product
// of bytes, and what sm_90 adds is asked for by name.
#pragma once

#include "kernel_abi/ternary_layout.h"
#include "kernel_abi/ternary_params.h"
#include "kernels/cuda/target.cuh"

namespace gpuready::device {

using ternary::GpuActivationRow;
using ternary::kTileBytes;
using ternary::kTileCols;
using ternary::kTileRows;

typedef u32 Words4 __attribute__((ext_vector_type(4)));

// c + the four products of unsigned bytes of `a` and signed bytes of `b`.
GPUREADY_DEVICE int dot4(u32 a, u32 b, int c) {
#if __CUDA_ARCH__ >= 610
  int d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
#else
#pragma unroll
  for (u32 bit = 0; bit < 32; bit += 8)
    c += static_cast<int>(a >> bit & 0xFF) * static_cast<signed char>(b >> bit);
  return c;
#endif
}

// Weights are read once: they take no room in the first-level cache.
GPUREADY_DEVICE Words4 load_weights(const char* at) {
  Words4 w;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
               : "l"(at));
#else
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
               : "l"(at));
#endif
  return w;
}

// The next kernel of the stream may start; see LaunchShape::overlaps.
GPUREADY_DEVICE void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Until here nothing may be touched that the kernel before in the stream writes or reads.
GPUREADY_DEVICE void await_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Up to `bytes`, a multiple of 16, into the second-level cache, if there are any before `end`.
GPUREADY_DEVICE void prefetch(const char* at, const char* end, u32 bytes) {
#if __CUDA_ARCH__ >= 900
  if (bytes == 0 || at >= end) return;
  const u64 left = static_cast<u64>(end - at);
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at),
               "r"(left < bytes ? static_cast<u32>(left) : bytes)
               : "memory");
#else
  (void)at, (void)end, (void)bytes;
#endif
}

// What blocks reduce their values by.
struct Greatest {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a > b ? a : b; }
};
struct Least {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a < b ? a : b; }
};
struct Sum {
  GPUREADY_DEVICE u32 operator()(u32 a, u32 b) const { return a + b; }
};

// A word from global to shared memory, or zero; there once await_copies() and a barrier are passed.
// Many are in flight at once and hold no register.
GPUREADY_DEVICE void copy_word(u32* target, u64 source, bool there) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(target)),
               "l"(source), "r"(there ? 4 : 0)
               : "memory");
#else
  *target = there ? *reinterpret_cast<const u32*>(source) : 0;
#endif
}
GPUREADY_DEVICE void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

GPUREADY_DEVICE void add_shared(int* target, int value) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(target)), "r"(value) : "memory");
}
GPUREADY_DEVICE void lower_shared(u32* target, u32 value) {
  asm volatile("red.shared.min.u32 [%0], %1;" ::"r"(shared_address(target)), "r"(value) : "memory");
}

GPUREADY_DEVICE u32 shuffle_xor(u32 value, u32 mask) {
  return static_cast<u32>(
      __nvvm_shfl_sync_bfly_i32(-1, static_cast<int>(value), static_cast<int>(mask), 31));
}
GPUREADY_DEVICE int sum_of_quad(int value) {
  value += static_cast<int>(shuffle_xor(static_cast<u32>(value), 1));
  return value + static_cast<int>(shuffle_xor(static_cast<u32>(value), 2));
}

GPUREADY_DEVICE float multiply(float a, float b) {
  float c;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
GPUREADY_DEVICE float to_float(int value) {
  float f;
  asm("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(value));
  return f;
}
GPUREADY_DEVICE u32 bits_of(float value) { return __builtin_bit_cast(u32, value); }
GPUREADY_DEVICE float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }

// Halves to even; a NaN stays one.
GPUREADY_DEVICE unsigned short to_bf16(float value) {
  const u32 bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

GPUREADY_DEVICE float add(float a, float b) {
  float c;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
GPUREADY_DEVICE bool is_nan(float value) { return (bits_of(value) & 0x7FFFFFFFu) > 0x7F800000u; }

// Halves to even, infinite beyond 65504; a NaN stays one.
GPUREADY_DEVICE unsigned short to_f16(float value) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return is_nan(value) ? 0x7FFF : half;
}

// Element `index` of values of a type; of the kernel before, too, so not as constants.
GPUREADY_DEVICE float addend(u64 word, u64 index) {
  const u64 values = ternary::addend_address(word);
  const u32 type = ternary::addend_type(word);
  if (type == 0) {
    float value;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(values + index * 4) : "memory");
    return value;
  }
  unsigned short half;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(half) : "l"(values + index * 2) : "memory");
  if (type == 2) return float_of(static_cast<u32>(half) << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}

// Element `index`, of column `column`, of an output: what is added to `value`, and its type (which
// is not int32).
GPUREADY_DEVICE void store_value(u64 out, u32 type, const ternary::TernaryAddends& addends,
                                 u64 index, u32 column, float value) {
  if (addends.bias != 0) value = add(value, addend(addends.bias, column));
  if (addends.residual != 0) value = add(value, addend(addends.residual, index));
  if (type == 1)
    reinterpret_cast<u32*>(out)[index] = is_nan(value) ? 0x7FFFFFFFu : bits_of(value);
  else
    reinterpret_cast<unsigned short*>(out)[index] = type == 2 ? to_bf16(value) : to_f16(value);
}

// The same of a sum.
GPUREADY_DEVICE void store_result(u64 out, u32 type, const ternary::TernaryAddends& addends,
                                  u64 index, u32 column, int sum, float step, float scale) {
  if (type == 0)
    reinterpret_cast<int*>(out)[index] = sum;
  else
    store_value(out, type, addends, index, column, multiply(to_float(sum), multiply(step, scale)));
}

GPUREADY_DEVICE void warp_barrier() { __nvvm_bar_warp_sync(0xffffffff); }

// What `pick` makes of the block's values, at all threads. `scratch` has 32 words.
template <class Pick>
GPUREADY_DEVICE u32 reduce_block(u32 value, u32* scratch, u32 neutral, Pick pick) {
  for (u32 mask = 16; mask > 0; mask /= 2) value = pick(value, shuffle_xor(value, mask));
  block_barrier();
  if (thread_index() % 32 == 0) scratch[thread_index() / 32] = value;
  block_barrier();
  value = thread_index() % 32 < block_threads() / 32 ? scratch[thread_index() % 32] : neutral;
  for (u32 mask = 16; mask > 0; mask /= 2) value = pick(value, shuffle_xor(value, mask));
  return value;
}

}  // namespace gpuready::device
