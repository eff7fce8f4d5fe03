#include "kernels/ternary_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_gemv_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_gemv_sm_61)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_gemv_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_gemv_sm_90)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_grouped_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_grouped_sm_61)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_grouped_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_grouped_sm_90)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_stream_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_stream_sm_90)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_80)
GPUREADY_EMBEDDED(gpuready_spirv_ternary_gemv)

namespace gpuready::ternary {
namespace {

const KernelImage kGemv[] = {
    {gpuready_ptx_ternary_gemv_sm_50_begin, gpuready_ptx_ternary_gemv_sm_50_end, 50, false},
    {gpuready_ptx_ternary_gemv_sm_61_begin, gpuready_ptx_ternary_gemv_sm_61_end, 61, false},
    {gpuready_ptx_ternary_gemv_sm_80_begin, gpuready_ptx_ternary_gemv_sm_80_end, 80, false},
    {gpuready_ptx_ternary_gemv_sm_90_begin, gpuready_ptx_ternary_gemv_sm_90_end, 90, false}};
const std::span<const KernelImage> kMatrixGemv = std::span(kGemv).subspan(2);
const KernelImage kGrouped[] = {
    {gpuready_ptx_ternary_grouped_sm_50_begin, gpuready_ptx_ternary_grouped_sm_50_end, 50, false},
    {gpuready_ptx_ternary_grouped_sm_61_begin, gpuready_ptx_ternary_grouped_sm_61_end, 61, false},
    {gpuready_ptx_ternary_grouped_sm_80_begin, gpuready_ptx_ternary_grouped_sm_80_end, 80, false},
    {gpuready_ptx_ternary_grouped_sm_90_begin, gpuready_ptx_ternary_grouped_sm_90_end, 90, false}};
const KernelImage kStream[] = {
    {gpuready_ptx_ternary_stream_sm_80_begin, gpuready_ptx_ternary_stream_sm_80_end, 80, false},
    {gpuready_ptx_ternary_stream_sm_90_begin, gpuready_ptx_ternary_stream_sm_90_end, 90, false}};
const KernelImage kRead[] = {
    {gpuready_ptx_ternary_read_sm_50_begin, gpuready_ptx_ternary_read_sm_50_end, 50, false},
    {gpuready_ptx_ternary_read_sm_80_begin, gpuready_ptx_ternary_read_sm_80_end, 80, false}};

}  // namespace

const Kernel kTernaryGemv1{"gpuready_ternary_gemv_1", kGemv, nullptr,
                           GPUREADY_SPIRV(gpuready_spirv_ternary_gemv)};
const Kernel kTernaryGemv2{"gpuready_ternary_gemv_2", kGemv};
const Kernel kTernaryGemv4{"gpuready_ternary_gemv_4", kGemv};
const Kernel kTernaryGemv8{"gpuready_ternary_gemv_8", kMatrixGemv};
const Kernel kTernaryGemv16{"gpuready_ternary_gemv_16", kMatrixGemv};
const Kernel kTernaryStream1{"gpuready_ternary_stream_1", kStream};
const Kernel kTernaryStream8{"gpuready_ternary_stream_8", kStream};
const Kernel kTernaryStream16{"gpuready_ternary_stream_16", kStream};
const Kernel kTernaryStreamValues1{"gpuready_ternary_stream_values_1", kStream};
const Kernel kTernaryStreamValues8{"gpuready_ternary_stream_values_8", kStream};
const Kernel kTernaryGrouped1{"gpuready_ternary_grouped_1", kGrouped};
const Kernel kTernaryGrouped4{"gpuready_ternary_grouped_4", kGrouped};
const Kernel kTernaryGrouped16{"gpuready_ternary_grouped_16", std::span(kGrouped).subspan(2, 1)};
const Kernel kTernaryRead{"gpuready_ternary_read", kRead};

}  // namespace gpuready::ternary
