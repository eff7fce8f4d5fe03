// The plain NEON tier, for every 64-bit ARM CPU: products of bytes in 16 bits, added in pairs into
// 32. A product is at most 2 * 128, so two of them (low and high half apart) fit easily.
#include "ternary/cpu/kernels_neon_common.h"

namespace gpuready::ternary::kernels {
namespace {

struct Dot {
  struct Sum {
    int32x4_t low, high;  // rows 0, 0, 1, 1 and 2, 2, 3, 3
  };
  static Sum zero() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static Sum dot(Sum sum, int8x16_t w, int8x16_t y) {
    return {vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w), vget_low_s8(y))),
            vpadalq_s16(sum.high, vmull_high_s8(w, y))};
  }
  static int32x4_t total(Sum sum) { return vpaddq_s32(sum.low, sum.high); }
};

}  // namespace

const Table kNeon{{gemv<Dot, 0>, gemv<Dot, 1>},
                  {unpack<0>, unpack<1>},
                  gemm_rows<Dot>,
                  finish_rows,
                  greatest_magnitude,
                  quantise_row,
                  grouped_gemv<Dot>,
                  add_group_terms,
                  scale_values,
                  sum_codes,
                  store_values,
                  nullptr};

}  // namespace gpuready::ternary::kernels
