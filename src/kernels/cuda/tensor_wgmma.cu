// The tensor test on Hopper (sm_90a): wgmma, both operands resident in shared memory. One block of
// two warp groups an SM; they take turns, one multiplies while the other checks what it got.
#include "kernels/cuda/tensor_device.cuh"

namespace gpuready::device {
namespace {

// Ten operands of an asm statement: their places in its text, and the registers behind them.
#define GPUREADY_TEN(t)                                                                  \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t \
  "8, "                                                                                  \
  "%" #t "9, "
#define GPUREADY_EIGHT(d, i)                                                                  \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
      "+r"(d[i + 6]), "+r"(d[i + 7])
#define GPUREADY_SIXTY_FOUR(d, i)                                                      \
  GPUREADY_EIGHT(d, i), GPUREADY_EIGHT(d, i + 8), GPUREADY_EIGHT(d, i + 16),           \
      GPUREADY_EIGHT(d, i + 24), GPUREADY_EIGHT(d, i + 32), GPUREADY_EIGHT(d, i + 40), \
      GPUREADY_EIGHT(d, i + 48), GPUREADY_EIGHT(d, i + 56)

// D = A B (+ D when `add`): 64 x 256 accumulators over the 128 threads of a warp group.
// Accumulators are plain 32-bit registers, whatever they hold.
#define GPUREADY_WGMMA(instruction, tail)                                                     \
  asm volatile(                                                                               \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"                                       \
      "wgmma.mma_async.sync.aligned." instruction " {" GPUREADY_TEN() GPUREADY_TEN(1)         \
          GPUREADY_TEN(2) GPUREADY_TEN(3) GPUREADY_TEN(4) GPUREADY_TEN(5) GPUREADY_TEN(6)     \
              GPUREADY_TEN(7) GPUREADY_TEN(8) GPUREADY_TEN(9) GPUREADY_TEN(10) GPUREADY_TEN(  \
                  11) "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, add" tail \
                      ";\n}"                                                                  \
      : GPUREADY_SIXTY_FOUR(d, 0), GPUREADY_SIXTY_FOUR(d, 64)                                 \
      : "l"(a), "l"(b), "r"(add))

using Accumulators = unsigned[kTensorMaxAccumulators];

// One instruction by type; the tail: no negation, and operands K-major where that is a choice.
struct Bf16 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0");
  }
};
struct Fp16 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0");
  }
};
struct Tf32 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k8.f32.tf32.tf32", ", 1, 1");
  }
};
struct Int8 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k32.s32.s8.s8", "");
  }
};
struct Fp8E4m3 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k32.f32.e4m3.e4m3", ", 1, 1");
  }
};
struct Fp8E5m2 {
  static GPUREADY_DEVICE void multiply(Accumulators& d, u64 a, u64 b, unsigned add) {
    GPUREADY_WGMMA("m64n256k32.f32.e5m2.e5m2", ", 1, 1");
  }
};

extern __attribute__((shared)) __attribute__((aligned(1024))) unsigned char shared_memory[];

// The matrix descriptor of PTX's wgmma for a K-major operand: start address, 1024 bytes from one
// group of 8 rows to the next, swizzled over 128 bytes. All in units of 16 bytes.
GPUREADY_DEVICE u64 matrix_descriptor(unsigned address) {
  return (address >> 4 & 0x3fff) | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}
// From the start of an operand to its slice: 4 slices of 32 bytes in each column of 128 bytes.
GPUREADY_DEVICE u64 slice_offset(unsigned slice, unsigned rows) {
  return (slice / 4 * rows * 128 + slice % 4 * kTensorSliceBytes) >> 4;
}

// Turns, by named barriers: a warp group waits on its own for the other's arrival.
GPUREADY_DEVICE void await_turn(unsigned group) {
  asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
}
GPUREADY_DEVICE void give_turn(unsigned group) {
  asm volatile("bar.arrive %0, 256;" ::"r"(1 + group) : "memory");
}

template <class Type>
GPUREADY_DEVICE void run(const TensorParams& p) {
  const unsigned thread = thread_index(), group = thread / 128;
  Checker checker(p);

  typedef unsigned Quad __attribute__((ext_vector_type(4)));
  const unsigned misaligned = shared_address(shared_memory) % 1024;
  unsigned char* image = shared_memory + (1024 - misaligned) % 1024;
  const auto* source = reinterpret_cast<const Quad*>(p.operands_address);
  for (unsigned i = thread; i < (kTensorOperandBytes + kTensorFoldBytes) / 16;
       i += kTensorWarpGroups * 128)
    reinterpret_cast<Quad*>(image)[i] = source[i];
  // wgmma reads shared memory by another way than ordinary stores reach it.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();

  const u64 a = matrix_descriptor(shared_address(image) + group * kTensorABytes);
  const u64 b = matrix_descriptor(shared_address(image) + kTensorWarpGroups * kTensorABytes);
  const auto* golden = reinterpret_cast<const unsigned*>(image + kTensorOperandBytes) + thread;

  checker.begin();
  if (group == 1) give_turn(0);
  Accumulators d;
  for (u64 chain = 0; chain < p.chains; ++chain) {
    const unsigned rotation = static_cast<unsigned>(chain & p.rotation_mask);
    await_turn(group);
    const u64 chain_start = clock_cycles();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
// All 16: in a loop that stays one, the assembler serialises wgmma (its C7520).
#pragma unroll
    for (unsigned slice = 0; slice < kTensorSlices; ++slice) {
      const unsigned other = (slice + 2 * rotation) % kTensorSlices;
      Type::multiply(d, a + slice_offset(slice, kTensorARows),
                     b + slice_offset(other, kTensorBRows), slice != 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // No one waits for the last turn of all.
    if (group == 0 || chain + 1 < p.chains) give_turn(group ^ 1);
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : GPUREADY_SIXTY_FOUR(d, 0), GPUREADY_SIXTY_FOUR(d, 64)::"memory");
    checker.check(d, golden[rotation * kTensorWarpGroups * 128], chain, chain_start);
  }
  checker.end();
}

}  // namespace
}  // namespace gpuready::device

#define GPUREADY_TENSOR_KERNEL(name, Type)                                                \
  GPUREADY_KERNEL(256, 1) void gpuready_tensor_##name##_wgmma(gpuready::TensorParams p) { \
    gpuready::device::run<gpuready::device::Type>(p);                                     \
  }
GPUREADY_TENSOR_KERNEL(bf16, Bf16)
GPUREADY_TENSOR_KERNEL(fp16, Fp16)
GPUREADY_TENSOR_KERNEL(tf32, Tf32)
GPUREADY_TENSOR_KERNEL(int8, Int8)
GPUREADY_TENSOR_KERNEL(fp8_e4m3, Fp8E4m3)
GPUREADY_TENSOR_KERNEL(fp8_e5m2, Fp8E5m2)
