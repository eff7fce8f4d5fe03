#include "device/hip/hip_errors.h"

#include <fmt/format.h>

namespace gpuready {
namespace {

using enum DeviceFault;

// Sorted by number. What is left out says nothing about a device (textures, graphs, profilers).
constexpr HipErrorInfo kErrors[] = {
    {0, "hipSuccess", "no error", none, false},
    {1, "hipErrorInvalidValue", "an argument is out of range", none, false},
    {2, "hipErrorOutOfMemory", "not enough free GPU memory", out_of_memory, false},
    {3, "hipErrorNotInitialized", "the runtime was not started or could not be", unavailable,
     false},
    {4, "hipErrorDeinitialized", "the runtime is shutting down", unclear, true},
    {9, "hipErrorInvalidConfiguration", "the launch asks for more than the GPU has", none, false},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer", none, false},
    {35, "hipErrorInsufficientDriver", "the kernel driver is too old for this runtime", unavailable,
     false},
    {53, "hipErrorPriorLaunchFailure", "an earlier kernel ended in an error", execution, true},
    {98, "hipErrorInvalidDeviceFunction", "there is no kernel for this GPU", refuses_code, false},
    {100, "hipErrorNoDevice", "the runtime sees no GPU that this process may use", unavailable,
     false},
    {101, "hipErrorInvalidDevice", "no GPU with this number", unavailable, false},
    {200, "hipErrorInvalidImage", "the code object is not valid", refuses_code, false},
    {201, "hipErrorInvalidContext", "the context is not valid (any more)", none, false},
    {205, "hipErrorMapFailed", "memory could not be mapped", unclear, false},
    {206, "hipErrorUnmapFailed", "unmapping memory failed", none, false},
    {209, "hipErrorNoBinaryForGpu", "the code object is not for this architecture", refuses_code,
     false},
    {214, "hipErrorECCNotCorrectable", "the GPU found memory errors that ECC cannot correct",
     memory, true},
    {216, "hipErrorContextAlreadyInUse", "another thread uses this context", busy, false},
    {218, "hipErrorInvalidKernelFile", "the code object is not valid", refuses_code, false},
    {300, "hipErrorInvalidSource", "the device source is not valid", refuses_code, false},
    {301, "hipErrorFileNotFound", "a file was not found", unavailable, false},
    {302, "hipErrorSharedObjectSymbolNotFound", "the code object lacks a symbol", refuses_code,
     false},
    {303, "hipErrorSharedObjectInitFailed", "the code object could not be loaded", refuses_code,
     false},
    {304, "hipErrorOperatingSystem", "a system call of the runtime failed", unavailable, false},
    {400, "hipErrorInvalidHandle", "a handle is not valid", none, false},
    {401, "hipErrorIllegalState", "the queue or resource is in the wrong state", unclear, false},
    {500, "hipErrorNotFound", "the name was not found", none, false},
    {600, "hipErrorNotReady", "the work is not finished yet", none, false},
    {700, "hipErrorIllegalAddress", "a kernel touched an address that is not mapped", execution,
     true},
    {701, "hipErrorLaunchOutOfResources", "the launch asks for more than the GPU has", none, false},
    {702, "hipErrorLaunchTimeOut", "the system's watchdog ended a kernel that ran too long",
     timed_out, true},
    {709, "hipErrorContextIsDestroyed", "the context was destroyed", unclear, true},
    {710, "hipErrorAssert", "a kernel's assertion failed", execution, true},
    {719, "hipErrorLaunchFailure", "a kernel ended in an error of the GPU", execution, true},
    {720, "hipErrorCooperativeLaunchTooLarge",
     "more blocks than the GPU can hold at once were asked for", none, false},
    {801, "hipErrorNotSupported", "this GPU, runtime or system does not support it", none, false},
    {999, "hipErrorUnknown", "the runtime does not say why", unclear, false},
    {1052, "hipErrorRuntimeMemory", "a memory call of the HSA runtime below HIP failed", unclear,
     false},
    {1053, "hipErrorRuntimeOther", "a call of the HSA runtime below HIP failed", unclear, false},
};

}  // namespace

const HipErrorInfo* find_hip_error(int code) {
  for (const HipErrorInfo& error : kErrors)
    if (error.code == code) return &error;
  return nullptr;
}

std::string describe_hip_error(int code) {
  const HipErrorInfo* error = find_hip_error(code);
  return error ? fmt::format("{} ({}): {}", error->name, code, error->meaning)
               : fmt::format("HIP error {}", code);
}

}  // namespace gpuready
