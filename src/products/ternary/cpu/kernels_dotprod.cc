// The ARMv8.2 dot-product tier.
#include "ternary/cpu/kernels_neon_common.h"

namespace gpuready::ternary::kernels {
namespace {

struct Dot {
  using Sum = int32x4_t;
  static Sum zero() { return vdupq_n_s32(0); }
  static Sum dot(Sum sum, int8x16_t w, int8x16_t y) { return vdotq_s32(sum, w, y); }
  static int32x4_t total(Sum sum) { return sum; }
};

}  // namespace

const Table kDotprod{{gemv<Dot, 0>, gemv<Dot, 1>},
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
