// The kernels of the tensor test. They exist for CUDA alone: matrix instructions are what is
// tested.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/tensor_params.h"

namespace gpuready {

// wgmma: blocks of 256 threads and kTensorSharedBytes.
extern const Kernel kTensorBf16Wgmma, kTensorFp16Wgmma, kTensorTf32Wgmma, kTensorInt8Wgmma,
    kTensorFp8E4m3Wgmma, kTensorFp8E5m2Wgmma;
// mma.sync: blocks of 384 threads; by the shape of the instruction.
extern const Kernel kTensorBf16M16N8K16, kTensorFp16M16N8K16, kTensorTf32M16N8K8,
    kTensorInt8M16N8K32, kTensorFp8E4m3M16N8K32, kTensorFp8E5m2M16N8K32;
extern const Kernel kTensorFp16M16N8K8, kTensorInt8M8N8K16;  // Turing's
extern const Kernel kTensorFp16M8N8K4;                       // Volta's

}  // namespace gpuready
