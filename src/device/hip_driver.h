// The HIP runtime, declared by ourselves and loaded by dlopen: building needs no ROCm and starting
// needs no runtime. Only what is used is declared, and only calls whose C signatures have stayed
// the same from ROCm 5.0 to 7: no struct is passed (hipDeviceProp_t has changed its layout). Names,
// argument orders and numbers are those of ROCm's include/hip/hip_runtime_api.h at the tags
// rocm-5.0.0, 5.3.0, 5.7.1, 6.0.0, 6.2.2 and of release 7's. Not verified on hardware.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

using HipStatus = int;
using HipDeviceNumber = int;
using HipPointer = void*;  // hipDeviceptr_t
using HipHandle = void*;   // modules, functions, streams and events are opaque pointers

// hipDeviceAttribute_t. The enumeration was renumbered in 5.0 and has only grown at the end since.
enum class HipAttribute : int {
  ecc_enabled = 0,
  cooperative_launch = 10,
  integrated = 16,
  kernel_exec_timeout = 18,
  l2_cache_bytes = 19,
  max_threads_per_block = 56,
  max_threads_per_multiprocessor = 57,
  memory_bus_width_bits = 59,
  memory_clock_rate_khz = 60,
  multiprocessor_count = 63,
  max_shared_memory_per_block = 74,
  warp_size = 87,
};
// hipRuntimeGetVersion(): major * 10'000'000 + minor * 100'000 + patch.
inline constexpr int kLeastHipVersion = 50'000'000;

// Markers in hipModuleLaunchKernel's `extra` (HIP_LAUNCH_PARAM_...).
inline void* const kHipLaunchBufferPointer = reinterpret_cast<void*>(1);
inline void* const kHipLaunchBufferSize = reinterpret_cast<void*>(2);
inline void* const kHipLaunchEnd = reinterpret_cast<void*>(3);

template <class Signature>
struct HipSymbol;
template <class... Args>
struct HipSymbol<HipStatus(Args...)> {
  const char* name;
  HipStatus (*function)(Args...) = nullptr;

  // Calls it. A missing symbol is an error that names it; any code but 0 an error with its meaning.
  Result<void> operator()(Args... args) const;
};

// Error for a HIP status; `call` is the function's name.
std::unexpected<Error> hip_failure(std::string_view call, HipStatus status);
std::unexpected<Error> hip_symbol_missing(std::string_view name);

template <class... Args>
Result<void> HipSymbol<HipStatus(Args...)>::operator()(Args... args) const {
  if (!function) return hip_symbol_missing(name);
  const HipStatus status = function(args...);
  if (status != 0) return hip_failure(name, status);
  return {};
}

struct HipDriver {
  std::string path;  // as it was opened
  int version = 0;   // 60'200'000 and more for 6.2

  HipSymbol<HipStatus(unsigned)> init{"hipInit"};
  HipSymbol<HipStatus(int*)> runtime_version{"hipRuntimeGetVersion"};
  HipSymbol<HipStatus(int*)> device_count{"hipGetDeviceCount"};
  HipSymbol<HipStatus(HipDeviceNumber)> set_device{"hipSetDevice"};
  HipSymbol<HipStatus(char*, int, HipDeviceNumber)> device_pci_address{"hipDeviceGetPCIBusId"};
  HipSymbol<HipStatus(char*, int, HipDeviceNumber)> device_name{"hipDeviceGetName"};
  HipSymbol<HipStatus(std::size_t*, HipDeviceNumber)> device_total_memory{"hipDeviceTotalMem"};
  HipSymbol<HipStatus(int*, HipAttribute, HipDeviceNumber)> device_attribute{
      "hipDeviceGetAttribute"};

  HipSymbol<HipStatus(std::size_t*, std::size_t*)> memory_info{"hipMemGetInfo"};
  HipSymbol<HipStatus(HipPointer*, std::size_t)> memory_allocate{"hipMalloc"};
  HipSymbol<HipStatus(HipPointer)> memory_free{"hipFree"};
  HipSymbol<HipStatus(void**, std::size_t, unsigned)> host_allocate{"hipHostMalloc"};
  HipSymbol<HipStatus(void*)> host_free{"hipHostFree"};
  HipSymbol<HipStatus(HipPointer, const void*, std::size_t, HipHandle)> copy_to_device{
      "hipMemcpyHtoDAsync"};
  HipSymbol<HipStatus(void*, HipPointer, std::size_t, HipHandle)> copy_to_host{
      "hipMemcpyDtoHAsync"};
  HipSymbol<HipStatus(HipPointer, HipPointer, std::size_t, HipHandle)> copy_on_device{
      "hipMemcpyDtoDAsync"};

  HipSymbol<HipStatus(HipHandle*, unsigned)> stream_create{"hipStreamCreateWithFlags"};
  HipSymbol<HipStatus(HipHandle)> stream_destroy{"hipStreamDestroy"};
  HipSymbol<HipStatus(HipHandle)> stream_synchronize{"hipStreamSynchronize"};
  HipSymbol<HipStatus(HipHandle*, unsigned)> event_create{"hipEventCreateWithFlags"};
  HipSymbol<HipStatus(HipHandle)> event_destroy{"hipEventDestroy"};
  HipSymbol<HipStatus(HipHandle, HipHandle)> event_record{"hipEventRecord"};
  HipSymbol<HipStatus(float*, HipHandle, HipHandle)> event_elapsed_ms{"hipEventElapsedTime"};

  HipSymbol<HipStatus(HipHandle*, const void*)> module_load{"hipModuleLoadData"};
  HipSymbol<HipStatus(HipHandle)> module_unload{"hipModuleUnload"};
  HipSymbol<HipStatus(HipHandle*, HipHandle, const char*)> module_function{"hipModuleGetFunction"};
  HipSymbol<HipStatus(HipHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, HipHandle, void**, void**)>
      launch{"hipModuleLaunchKernel"};
  HipSymbol<HipStatus(HipHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, HipHandle, void**)>
      launch_cooperative{"hipModuleLaunchCooperativeKernel"};
  HipSymbol<HipStatus(int*, HipHandle, int, std::size_t)> resident_blocks{
      "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"};

  // Opens the library and starts the runtime, once per process; the library is never closed. The
  // path in GPUREADY_HIP_LIBRARY, if set, is the only one tried.
  static Result<const HipDriver*> start();
};

}  // namespace gpuready
