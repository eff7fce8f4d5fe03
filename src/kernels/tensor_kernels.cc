#include "kernels/tensor_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_tensor_wgmma_sm_90a)
GPUREADY_EMBEDDED(gpuready_ptx_tensor_mma_sm_70)
GPUREADY_EMBEDDED(gpuready_ptx_tensor_mma_sm_75)
GPUREADY_EMBEDDED(gpuready_ptx_tensor_mma_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_tensor_mma_sm_89)

namespace gpuready {
namespace {

const KernelImage kWgmma[] = {
    {gpuready_ptx_tensor_wgmma_sm_90a_begin, gpuready_ptx_tensor_wgmma_sm_90a_end, 90, true}};
const KernelImage kVolta[] = {
    {gpuready_ptx_tensor_mma_sm_70_begin, gpuready_ptx_tensor_mma_sm_70_end, 70, false}};
const KernelImage kTuring[] = {
    {gpuready_ptx_tensor_mma_sm_75_begin, gpuready_ptx_tensor_mma_sm_75_end, 75, false}};
const KernelImage kAmpere[] = {
    {gpuready_ptx_tensor_mma_sm_80_begin, gpuready_ptx_tensor_mma_sm_80_end, 80, false}};
const KernelImage kAda[] = {
    {gpuready_ptx_tensor_mma_sm_89_begin, gpuready_ptx_tensor_mma_sm_89_end, 89, false}};

}  // namespace

const Kernel kTensorBf16Wgmma{"gpuready_tensor_bf16_wgmma", kWgmma};
const Kernel kTensorFp16Wgmma{"gpuready_tensor_fp16_wgmma", kWgmma};
const Kernel kTensorTf32Wgmma{"gpuready_tensor_tf32_wgmma", kWgmma};
const Kernel kTensorInt8Wgmma{"gpuready_tensor_int8_wgmma", kWgmma};
const Kernel kTensorFp8E4m3Wgmma{"gpuready_tensor_fp8_e4m3_wgmma", kWgmma};
const Kernel kTensorFp8E5m2Wgmma{"gpuready_tensor_fp8_e5m2_wgmma", kWgmma};
const Kernel kTensorBf16M16N8K16{"gpuready_tensor_bf16_m16n8k16", kAmpere};
const Kernel kTensorFp16M16N8K16{"gpuready_tensor_fp16_m16n8k16", kAmpere};
const Kernel kTensorTf32M16N8K8{"gpuready_tensor_tf32_m16n8k8", kAmpere};
const Kernel kTensorInt8M16N8K32{"gpuready_tensor_int8_m16n8k32", kAmpere};
const Kernel kTensorFp8E4m3M16N8K32{"gpuready_tensor_fp8_e4m3_m16n8k32", kAda};
const Kernel kTensorFp8E5m2M16N8K32{"gpuready_tensor_fp8_e5m2_m16n8k32", kAda};
const Kernel kTensorFp16M16N8K8{"gpuready_tensor_fp16_m16n8k8", kTuring};
const Kernel kTensorInt8M8N8K16{"gpuready_tensor_int8_m8n8k16", kTuring};
const Kernel kTensorFp16M8N8K4{"gpuready_tensor_fp16_m8n8k4", kVolta};

}  // namespace gpuready
