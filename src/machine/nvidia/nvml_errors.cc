// nvmlReturn_t. Source of numbers and names: NVIDIA's NVML API reference, "Device Enums".
#include "machine/nvidia/nvml_errors.h"

#include <algorithm>
#include <iterator>

#include "machine/sources.h"

namespace gpuready {
namespace {

struct NvmlError {
  int code;
  const char* name;
  const char* text;
  bool concerns_gpu;
};
constexpr NvmlError kErrors[] = {
    {0, "NVML_SUCCESS", "success", false},
    {1, "NVML_ERROR_UNINITIALIZED", "NVML was not started", false},
    {2, "NVML_ERROR_INVALID_ARGUMENT", "an argument is invalid", false},
    {3, "NVML_ERROR_NOT_SUPPORTED", "not supported by this GPU", false},
    {4, "NVML_ERROR_NO_PERMISSION", "this user may not do that", false},
    {5, "NVML_ERROR_ALREADY_INITIALIZED", "NVML was started already", false},
    {6, "NVML_ERROR_NOT_FOUND", "no such object", false},
    {7, "NVML_ERROR_INSUFFICIENT_SIZE", "the buffer is too small", false},
    {8, "NVML_ERROR_INSUFFICIENT_POWER", "the GPU's external power is not connected", true},
    {9, "NVML_ERROR_DRIVER_NOT_LOADED", "the NVIDIA kernel driver is not loaded", true},
    {10, "NVML_ERROR_TIMEOUT", "the driver did not answer in time", true},
    {11, "NVML_ERROR_IRQ_ISSUE", "the kernel found a problem with the GPU's interrupts", true},
    {12, "NVML_ERROR_LIBRARY_NOT_FOUND", "a library of the driver was not found", false},
    {13, "NVML_ERROR_FUNCTION_NOT_FOUND", "this driver does not have the function", false},
    {14, "NVML_ERROR_CORRUPTED_INFOROM", "the board's inforom is corrupt", true},
    {15, "NVML_ERROR_GPU_IS_LOST", "the GPU has fallen off the bus", true},
    {16, "NVML_ERROR_RESET_REQUIRED", "the GPU must be reset before it can be used", true},
    {17, "NVML_ERROR_OPERATING_SYSTEM",
     "the operating system or its cgroup blocked the driver's call", true},
    {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
     "the library and the kernel driver are of different versions", true},
    {19, "NVML_ERROR_IN_USE", "the GPU is in use", false},
    {20, "NVML_ERROR_MEMORY", "not enough memory", true},
    {21, "NVML_ERROR_NO_DATA", "no data", false},
    {22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", "not with ECC on", false},
    {23, "NVML_ERROR_INSUFFICIENT_RESOURCES", "the driver ran out of resources", true},
    {24, "NVML_ERROR_FREQ_NOT_SUPPORTED", "the frequency is not supported", false},
    {25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
     "this driver does not know the structure's version", false},
    {26, "NVML_ERROR_DEPRECATED", "the function is deprecated", false},
    {27, "NVML_ERROR_NOT_READY", "the GPU is not ready", true},
    {28, "NVML_ERROR_GPU_NOT_FOUND", "no GPU was found", true},
    {29, "NVML_ERROR_INVALID_STATE", "the GPU is not in a state that allows it", false},
    {30, "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED", "this kind of reset is not supported", false},
    {999, "NVML_ERROR_UNKNOWN", "an internal error of the driver", true},
};

const NvmlError* find(int code) {
  const auto it = std::ranges::find(kErrors, code, &NvmlError::code);
  return it == std::end(kErrors) ? nullptr : it;
}

}  // namespace

std::string nvml_error_name(int code) {
  const auto* known = find(code);
  return known != nullptr ? known->name : "NVML_ERROR_" + std::to_string(code);
}

std::string nvml_error_text(int code) {
  const auto* known = find(code);
  return known != nullptr ? known->text : "error " + std::to_string(code) + " of NVML";
}

bool nvml_code_concerns_gpu(int code) {
  const auto* known = find(code);
  return known == nullptr || known->concerns_gpu;
}

}  // namespace gpuready
