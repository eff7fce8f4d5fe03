#include "base/cuda_errors.h"

#include <algorithm>
#include <iterator>

namespace gpuready {
namespace {

struct CudaError {
  int code;
  std::string_view name, text;
};
constexpr CudaError kErrors[] = {
    {0, "CUDA_SUCCESS", "success"},
    {1, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "not enough memory on the GPU"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "the driver was not started, or starting it failed"},
    {4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
    {5, "CUDA_ERROR_PROFILER_DISABLED", "another profiler holds the GPU"},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "the profiler was not started"},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "the profiler runs already"},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "the profiler was stopped already"},
    {34, "CUDA_ERROR_STUB_LIBRARY",
     "the toolkit's link-time stub was loaded in place of the driver's library"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "the GPU is held exclusively, or its compute mode prohibits use"},
    {47, "CUDA_ERROR_MULTICAST_RESOURCE_FULL", "no multicast resources are left"},
    {100, "CUDA_ERROR_NO_DEVICE", "no GPU that this process may use was found"},
    {101, "CUDA_ERROR_INVALID_DEVICE",
     "there is no GPU of that number, or the action is not valid for it"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the virtual GPU has no licence"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the code is no valid image"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "there is no valid context"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping memory failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping memory failed"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image has no code for this GPU's architecture"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED", "the resource was acquired already"},
    {211, "CUDA_ERROR_NOT_MAPPED", "the resource is not mapped"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "the resource is not mapped as a pointer"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "an uncorrectable memory error was found"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the GPU does not have this limit"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "the context is in use by another thread"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "these GPUs cannot reach each other's memory"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX does not compile for this GPU"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "the graphics context is not valid"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an NVLink had an error that it could not correct"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the library that compiles PTX is missing"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the PTX is of a newer version than the driver knows"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY",
     "the GPU does not support this execution affinity"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
     "the code synchronises on the device, which is not supported"},
    {226, "CUDA_ERROR_CONTAINED", "a memory error was contained in this process"},
    {227, "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION", "the CUDA loader is too old"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "the source is not valid"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "a file was not found"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a library of the driver lacks a symbol"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a library of the driver did not start"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "a call to the operating system failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "a handle is not valid"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "a resource is not in a state that allows it"},
    {402, "CUDA_ERROR_LOSSY_QUERY", "the answer would lose information"},
    {500, "CUDA_ERROR_NOT_FOUND", "a named symbol was not found"},
    {600, "CUDA_ERROR_NOT_READY", "the work has not finished"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel touched memory that is not its own"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "the launch needs more registers or threads than there are"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran longer than the display's watchdog allows"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING",
     "the launch uses textures in an incompatible mode"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is on already"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not on"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is active already"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed"},
    {710, "CUDA_ERROR_ASSERT", "an assertion in a kernel failed"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "no more peers can be reached at once"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's stack was corrupt or too small"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used an address that is not aligned"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong space"},
    {718, "CUDA_ERROR_INVALID_PC", "a kernel's program counter left its code"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel ended in an exception on the GPU"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "a cooperative launch has more blocks than fit at once"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel ended without freeing its tensor memory"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "the operation is not supported here"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "the NVLink fabric is not ready: a daemon of the driver is not running"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "the CUDA library and the kernel driver are of different versions"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was loaded, and this GPU lacks it"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS could not be reached"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "a call to MPS failed"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "MPS has no room for another client"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "MPS has no room for another connection"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED",
     "dynamic parallelism is not supported in this configuration"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH",
     "two versions of dynamic parallelism met in one module"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "not permitted while a stream is being captured"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error spoilt the capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would have merged"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture was not begun in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture holds a fork that was not joined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a dependency would cross the capture's bounds"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "an implicit dependency on the capture is not allowed"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a captured stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture"},
    {909, "CUDA_ERROR_TIMEOUT", "the wait timed out"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph cannot be updated to that"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "a device outside the GPU failed"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster's size is not valid"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function is not loaded"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "a resource is of the wrong type"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
     "the resources do not suffice or do not apply"},
    {916, "CUDA_ERROR_KEY_ROTATION", "rotating the encryption keys failed"},
    {917, "CUDA_ERROR_STREAM_DETACHED", "the stream's green context was destroyed"},
    {918, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE", "capturing the graph again failed"},
    {919, "CUDA_ERROR_FABRIC_NOT_READY", "the NVLink fabric was not ready in time"},
    {999, "CUDA_ERROR_UNKNOWN", "an internal error of the driver"},
};
static_assert(std::ranges::is_sorted(kErrors, {}, &CudaError::code));

const CudaError* find(int code) {
  const auto* it = std::ranges::lower_bound(kErrors, code, {}, &CudaError::code);
  return it != std::end(kErrors) && it->code == code ? it : nullptr;
}

}  // namespace

std::string cuda_error_name(int code) {
  const auto* known = find(code);
  return known != nullptr ? std::string(known->name) : "CUDA_ERROR_" + std::to_string(code);
}

std::string_view cuda_error_text(int code) {
  const auto* known = find(code);
  return known != nullptr ? known->text : std::string_view();
}

}  // namespace gpuready
