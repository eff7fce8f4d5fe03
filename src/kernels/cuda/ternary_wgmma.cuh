// What wgmma products are made of, as PTX has it: the multiplication itself, barriers in shared
// memory, and copies that end at them (sm_90a).
#pragma once

#include "kernels/cuda/ternary_barrier.cuh"
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

// Ten operands of an asm statement: their places in its text, and the registers behind them.
#define GPUREADY_TEN(t)                                                                            \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t \
  "9, "
#define GPUREADY_EIGHT(d, i)                                                                  \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
      "+r"(d[i + 6]), "+r"(d[i + 7])
#define GPUREADY_SIXTEEN(d, i) GPUREADY_EIGHT(d, i), GPUREADY_EIGHT(d, i + 8)
#define GPUREADY_THIRTY_TWO(d, i) GPUREADY_SIXTEEN(d, i), GPUREADY_SIXTEEN(d, i + 16)
#define GPUREADY_FORTY_EIGHT(d, i) GPUREADY_THIRTY_TWO(d, i), GPUREADY_SIXTEEN(d, i + 32)
#define GPUREADY_SIXTY_FOUR(d, i) GPUREADY_THIRTY_TWO(d, i), GPUREADY_THIRTY_TWO(d, i + 32)

// D = A B (+ D when `add`): 64 features by kTokens tokens, 32 columns deep.
template <u32 kTokens>
struct Multiply;
#define GPUREADY_MULTIPLY(tokens, places, registers, a0, a1, a2, a3, descriptor, scale)          \
  template <>                                                                                    \
  struct Multiply<tokens> {                                                                      \
    static GPUREADY_DEVICE void issue(u32 (&d)[tokens / 2], const u32 (&a)[4], u64 b, u32 add) { \
      asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #scale                               \
                   ", 0;\n"                                                                      \
                   "wgmma.mma_async.sync.aligned.m64n" #tokens "k32.s32.s8.s8 {" places          \
                   "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #descriptor ", add;\n}"      \
                   : registers(d, 0)                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));              \
    }                                                                                            \
    /* All of the accumulators are there: nothing that reads them may go before this. */         \
    static GPUREADY_DEVICE void settle(u32 (&d)[tokens / 2]) {                                   \
      asm volatile("" : registers(d, 0)::"memory");                                              \
    }                                                                                            \
  }
GPUREADY_MULTIPLY(128,
                  GPUREADY_TEN() GPUREADY_TEN(1) GPUREADY_TEN(2) GPUREADY_TEN(3) GPUREADY_TEN(4)
                      GPUREADY_TEN(5) "%60, %61, %62, %63",
                  GPUREADY_SIXTY_FOUR, 64, 65, 66, 67, 68, 69);
GPUREADY_MULTIPLY(96,
                  GPUREADY_TEN() GPUREADY_TEN(1) GPUREADY_TEN(2)
                      GPUREADY_TEN(3) "%40, %41, %42, %43, %44, %45, %46, %47",
                  GPUREADY_FORTY_EIGHT, 48, 49, 50, 51, 52, 53);
GPUREADY_MULTIPLY(64, GPUREADY_TEN() GPUREADY_TEN(1) GPUREADY_TEN(2) "%30, %31",
                  GPUREADY_THIRTY_TWO, 32, 33, 34, 35, 36, 37);
GPUREADY_MULTIPLY(32, GPUREADY_TEN() "%10, %11, %12, %13, %14, %15", GPUREADY_SIXTEEN, 16, 17, 18,
                  19, 20, 21);

GPUREADY_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPUREADY_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <u32 kLeft>
GPUREADY_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// The matrix descriptor of PTX's wgmma for a K-major operand: start address, 1024 bytes from one
// group of 8 rows to the next, swizzled over 128 bytes. All in units of 16 bytes.
GPUREADY_DEVICE u64 matrix_descriptor(u32 address) {
  return (address >> 4 & 0x3fff) | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}

GPUREADY_DEVICE void copy_in(u32 target, u64 source, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace gpuready::device
