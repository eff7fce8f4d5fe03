#include "device/cuda_errors.h"

#include <algorithm>
#include <iterator>

namespace gpuready {
namespace {

using enum CudaErrorClass;

// Sorted by number.
constexpr CudaErrorInfo kErrors[] = {
    {0, "CUDA_SUCCESS", "no error", usage, false},
    {1, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range", usage, false},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "not enough free GPU memory", out_of_memory, false},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called or failed", unavailable, false},
    {4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down", unclear, true},
    {34, "CUDA_ERROR_STUB_LIBRARY",
     "the library loaded is the toolkit's link-time stub, not the driver", unavailable, false},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "this call needs a newer driver", usage, false},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "the GPU is busy: its compute mode is exclusive or prohibited", busy, false},
    {100, "CUDA_ERROR_NO_DEVICE", "the driver sees no GPU that this process may use", unavailable,
     false},
    {101, "CUDA_ERROR_INVALID_DEVICE", "no GPU with this number", unavailable, false},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the virtual GPU has no licence", unavailable, false},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the code image is not valid", cannot_load, false},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "the context is not valid (any more)", usage, false},
    {205, "CUDA_ERROR_MAP_FAILED", "memory could not be mapped", unclear, false},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already", usage, false},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image holds no code for this architecture",
     cannot_load, false},
    {211, "CUDA_ERROR_NOT_MAPPED", "the resource is not mapped", usage, false},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU found memory errors that ECC cannot correct",
     memory_fault, true},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the GPU does not have this limit", usage, false},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "another thread uses this context", usage, false},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "these GPUs cannot reach each other's memory",
     usage, false},
    {218, "CUDA_ERROR_INVALID_PTX", "the driver's compiler rejected the PTX", cannot_load, false},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "the graphics context is not valid", usage, false},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an NVLink had an error that it could not correct",
     memory_fault, true},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
     "libnvidia-ptxjitcompiler is missing, so PTX cannot be compiled", cannot_load, false},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than this driver", cannot_load,
     false},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED",
     "compiling PTX is switched off (CUDA_DISABLE_PTX_JIT)", cannot_load, false},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "this partition of SMs is not supported", usage,
     false},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
     "the code synchronizes on the device, which this GPU no longer can", cannot_load, false},
    {226, "CUDA_ERROR_CONTAINED", "a memory error was contained: the GPU ended this process's work",
     memory_fault, true},
    {300, "CUDA_ERROR_INVALID_SOURCE", "the device source is not valid", cannot_load, false},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "a file was not found", unavailable, false},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a driver library lacks a symbol",
     unavailable, false},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a driver library could not be started",
     unavailable, false},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "a system call of the driver failed", unavailable, false},
    {400, "CUDA_ERROR_INVALID_HANDLE", "a handle is not valid", usage, false},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the resource is in the wrong state", usage, false},
    {500, "CUDA_ERROR_NOT_FOUND", "the name was not found", usage, false},
    {600, "CUDA_ERROR_NOT_READY", "the work is not finished yet", usage, false},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel touched an address that is not mapped",
     device_fault, true},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch asks for more than the GPU has", usage,
     false},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the system's watchdog ended a kernel that ran too long",
     timed_out, true},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is on already", usage, false},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not on", usage, false},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use", usage, false},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed", unclear, true},
    {710, "CUDA_ERROR_ASSERT", "a kernel's assertion failed", device_fault, true},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "no more peers can be mapped", usage, false},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already",
     usage, false},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered", usage,
     false},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's call stack was corrupted", device_fault,
     true},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction", device_fault,
     true},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address", device_fault,
     true},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong kind",
     device_fault, true},
    {718, "CUDA_ERROR_INVALID_PC", "a kernel's program counter left its code", device_fault, true},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel ended in an error of the GPU", device_fault, true},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "more blocks than the GPU can hold at once were asked for", usage, false},
    {800, "CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted", busy, false},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "this GPU, driver or system does not support it", usage,
     false},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "the NVLink fabric is not ready: Fabric Manager is not running or has not finished",
     unavailable, false},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "the driver library and the kernel module are of different versions", unavailable, false},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "a forward-compatibility library is loaded that this GPU does not support", unavailable,
     false},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS server cannot be reached", unavailable,
     false},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "the MPS server did not answer", unavailable, false},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready", unavailable, false},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "MPS has no room for another client", busy, false},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "MPS has no room for another connection", busy,
     false},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "MPS ended this client", unclear, true},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "this cannot be captured into a graph", usage,
     false},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the graph capture was spoilt", usage, false},
    {909, "CUDA_ERROR_TIMEOUT", "the driver gave up waiting", timed_out, false},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph could not be updated", usage, false},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "another device reported an error", unclear, true},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster size is not valid", usage, false},
    {999, "CUDA_ERROR_UNKNOWN", "an internal error of the driver; the kernel log may say more",
     unclear, true},
};
static_assert(std::is_sorted(std::begin(kErrors), std::end(kErrors),
                             [](const auto& a, const auto& b) { return a.code < b.code; }));

}  // namespace

const CudaErrorInfo* find_cuda_error(int code) {
  const auto* found =
      std::lower_bound(std::begin(kErrors), std::end(kErrors), code,
                       [](const CudaErrorInfo& info, int value) { return info.code < value; });
  return found != std::end(kErrors) && found->code == code ? found : nullptr;
}

std::string describe_cuda_error(int code) {
  const CudaErrorInfo* info = find_cuda_error(code);
  if (!info) return "CUDA error " + std::to_string(code);
  return std::string(info->name) + " (" + std::to_string(code) + "): " + std::string(info->meaning);
}

}  // namespace gpuready
