// The product of weights whose scales differ within a row (GpuWeightsView::group), on CUDA devices.
#pragma once

#include "ternary/device/gpu_types.h"

namespace gpuready::ternary {

const GpuProduct& grouped_product();

}  // namespace gpuready::ternary
