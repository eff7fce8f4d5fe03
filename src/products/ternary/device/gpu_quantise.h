// The launches that quantise weights on a device.
#pragma once

#include "device/device.h"
#include "kernel_abi/ternary_params.h"

namespace gpuready::ternary {

// Asynchronous, without allocation, by the rule that `weights` names; its `begin` is not read.
// Sizes and alignments are as GpuEngine::quantise_weights() wants them.
Result<void> enqueue_weights_quantise(Device& device, StreamId stream,
                                      TernaryWeightsParams weights);

}  // namespace gpuready::ternary
