// The CUDA driver's error numbers (CUresult), named. Source of numbers and names: NVIDIA's CUDA
// Driver API reference, "Data types used by CUDA driver".
#pragma once

#include <string>
#include <string_view>

namespace gpuready {

// "CUDA_ERROR_NO_DEVICE"; "CUDA_ERROR_<number>" for one that is not in the table.
std::string cuda_error_name(int code);
// What it means, one clause in plain words; empty for one that is not in the table.
std::string_view cuda_error_text(int code);

}  // namespace gpuready
