// NVIDIA GPUs through the driver API.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"

namespace gpuready {

// Opens the GPU or MIG instance with this UUID ("GPU-..." or "MIG-..."), and no other: not_found
// unless the driver shows exactly that one to this process. Creates a context on it.
Result<std::unique_ptr<Device>> open_cuda_device(std::string_view uuid);

// A context of the caller's (a CUcontext; null: the calling thread's current one), which must
// outlive the device. Each call leaves the thread's current context as it was, and a stream's
// `value` is the bits of a CUstream.
Result<std::unique_ptr<Device>> borrow_cuda_context(void* context);

// What an error of the start or of the device says.
DeviceFault cuda_fault_of(const Error& error);

}  // namespace gpuready
