// For any CPU: with what vectors its compiler takes for granted.
#include "ternary/cpu/kernels_weights_common.h"

namespace gpuready::ternary::kernels {

const WeightTable kWeightsScalar{
    {plain_codes<uint32_t>, plain_codes<uint16_t>, plain_codes<uint16_t>},
    {plain_sums<magnitude_f32, 4>, plain_sums<magnitude_f16, 2>, plain_sums<magnitude_bf16, 2>},
    join,
    split,
    raise,
    {pack<0>, pack<1>}};

}  // namespace gpuready::ternary::kernels
