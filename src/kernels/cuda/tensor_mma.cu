// The tensor test by mma.sync (sm_70 and newer): each warp keeps its operands' fragments in
// registers and multiplies them in every rotation, so that little but the tensor cores is busy.
// Each target's image holds the instructions that came with it; the host knows which to launch.
#include "kernels/cuda/tensor_device.cuh"

namespace gpuready::device {
namespace {

// One instruction each: kA, kB and kD are the 32-bit registers that a thread has of A, of B and of
// the accumulators, which are plain bits whatever they hold. Volatile: no two of them are one.
#if __CUDA_ARCH__ >= 800
// 16 rows, slices of 32 bytes.
#define GPUREADY_MMA(Type, instruction)                                                 \
  struct Type {                                                                         \
    static constexpr unsigned kA = 4, kB = 2, kD = 4;                                   \
    static GPUREADY_DEVICE void multiply(unsigned (&d)[kD], const unsigned (&a)[kA],    \
                                         const unsigned (&b)[kB]) {                     \
      asm volatile("mma.sync.aligned." instruction                                      \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                   : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                     \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }                                                                                   \
  }
#if __CUDA_ARCH__ >= 890
GPUREADY_MMA(Fp8E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32");
GPUREADY_MMA(Fp8E5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32");
#else
GPUREADY_MMA(Bf16, "m16n8k16.row.col.f32.bf16.bf16.f32");
GPUREADY_MMA(Fp16, "m16n8k16.row.col.f32.f16.f16.f32");
GPUREADY_MMA(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32");
GPUREADY_MMA(Int8, "m16n8k32.row.col.s32.s8.s8.s32");
#endif
#elif __CUDA_ARCH__ >= 750
// Slices of 16 bytes; 16 rows of fp16, 8 of int8.
struct Fp16 {
  static constexpr unsigned kA = 2, kB = 1, kD = 4;
  static GPUREADY_DEVICE void multiply(unsigned (&d)[kD], const unsigned (&a)[kA],
                                       const unsigned (&b)[kB]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
};
struct Int8 {
  static constexpr unsigned kA = 1, kB = 1, kD = 2;
  static GPUREADY_DEVICE void multiply(unsigned (&d)[kD], const unsigned (&a)[kA],
                                       const unsigned (&b)[kB]) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
  }
};
#else
// Four products of 8 x 8, one in each quad pair; slices of 8 bytes.
struct Fp16 {
  static constexpr unsigned kA = 2, kB = 2, kD = 8;
  static GPUREADY_DEVICE void multiply(unsigned (&d)[kD], const unsigned (&a)[kA],
                                       const unsigned (&b)[kB]) {
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
          "+r"(d[7])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
  }
};
#endif

__attribute__((shared)) unsigned zero_word;

// Always 0, which the compiler cannot know: a chain that starts from it is not a loop invariant.
GPUREADY_DEVICE unsigned unknown_zero() {
  return *static_cast<volatile __attribute__((address_space(3))) unsigned*>(
      (__attribute__((address_space(3))) unsigned*)&zero_word);
}

template <class Type>
GPUREADY_DEVICE void run(const TensorParams& p) {
  constexpr unsigned kA = Type::kA, kB = Type::kB, kD = Type::kD;
  constexpr unsigned kRegisters = kTensorSlices * (kA + kTensorWarpTiles * kB);
  constexpr unsigned kThreads = kTensorWarps * 32;
  const unsigned thread = thread_index();
  Checker checker(p);

  // The image: fragments by [warp][register][lane], then the golden folds.
  const auto* fragments = reinterpret_cast<const GlobalWord*>(p.operands_address) +
                          thread / 32 * kRegisters * 32 + thread % 32;
  const auto* golden =
      reinterpret_cast<const GlobalWord*>(p.operands_address + 4ull * kRegisters * kThreads) +
      thread;
  unsigned a[kTensorSlices][kA], b[kTensorWarpTiles][kTensorSlices][kB];
#pragma unroll
  for (unsigned s = 0; s < kTensorSlices; ++s)
#pragma unroll
    for (unsigned r = 0; r < kA; ++r) a[s][r] = fragments[(s * kA + r) * 32];
#pragma unroll
  for (unsigned t = 0; t < kTensorWarpTiles; ++t)
#pragma unroll
    for (unsigned s = 0; s < kTensorSlices; ++s)
#pragma unroll
      for (unsigned r = 0; r < kB; ++r)
        b[t][s][r] = fragments[(kTensorSlices * (kA + t * kB) + s * kB + r) * 32];
  if (thread == 0) zero_word = 0;
  __syncthreads();

  checker.begin();
  for (u64 chain = 0; chain < p.chains; chain += kTensorRotations) {
#pragma unroll
    for (unsigned rotation = 0; rotation < kTensorRotations; ++rotation) {
      const u64 chain_start = clock_cycles();
      unsigned d[kTensorWarpTiles][kD];
      const unsigned zero = unknown_zero();
#pragma unroll
      for (unsigned i = 0; i < kTensorWarpTiles * kD; ++i) d[i / kD][i % kD] = zero;
#pragma unroll
      for (unsigned s = 0; s < kTensorSlices; ++s)
#pragma unroll
        for (unsigned t = 0; t < kTensorWarpTiles; ++t)
          Type::multiply(d[t], a[s], b[t][(s + 2 * rotation) % kTensorSlices]);
      unsigned values[kTensorWarpTiles * kD];
#pragma unroll
      for (unsigned i = 0; i < kTensorWarpTiles * kD; ++i) values[i] = d[i / kD][i % kD];
      checker.check(values, golden[rotation * kThreads], chain + rotation, chain_start);
      __nvvm_bar_warp_sync(0xffffffff);
    }
  }
  checker.end();
}

}  // namespace
}  // namespace gpuready::device

#define GPUREADY_TENSOR_KERNEL(name, Type)                \
  GPUREADY_KERNEL(gpuready::kTensorWarps * 32, 1)         \
  void gpuready_tensor_##name(gpuready::TensorParams p) { \
    gpuready::device::run<gpuready::device::Type>(p);     \
  }
#if __CUDA_ARCH__ >= 890
GPUREADY_TENSOR_KERNEL(fp8_e4m3_m16n8k32, Fp8E4m3)
GPUREADY_TENSOR_KERNEL(fp8_e5m2_m16n8k32, Fp8E5m2)
#elif __CUDA_ARCH__ >= 800
GPUREADY_TENSOR_KERNEL(bf16_m16n8k16, Bf16)
GPUREADY_TENSOR_KERNEL(fp16_m16n8k16, Fp16)
GPUREADY_TENSOR_KERNEL(tf32_m16n8k8, Tf32)
GPUREADY_TENSOR_KERNEL(int8_m16n8k32, Int8)
#elif __CUDA_ARCH__ >= 750
GPUREADY_TENSOR_KERNEL(fp16_m16n8k8, Fp16)
GPUREADY_TENSOR_KERNEL(int8_m8n8k16, Int8)
#else
GPUREADY_TENSOR_KERNEL(fp16_m8n8k4, Fp16)
#endif
