// What NVML's return codes say. Names are declared in machine/sources.h.
#pragma once

namespace gpuready {

// Whether the code says something about the GPU (lost, reset required, ...), as against about the
// question (not supported, unknown to this driver, not permitted).
bool nvml_code_concerns_gpu(int code);

}  // namespace gpuready
