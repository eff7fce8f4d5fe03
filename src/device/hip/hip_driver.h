// The HIP runtime, declared by ourselves and loaded by dlopen: building needs no ROCm and starting
// needs no runtime. Only what is used is declared, and only calls whose C signatures have stayed
// the same from ROCm 5.0 to 7: no struct is passed (hipDeviceProp_t has changed its layout). Names,
// argument orders and numbers are those of ROCm's include/hip/hip_runtime_api.h at the tags
// rocm-5.0.0, 5.3.0, 5.7.1, 6.0.0, 6.2.2 and of release 7's. Not verified on hardware.
#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "device/driver_library.h"

namespace gpuready {

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

extern const DriverApi kHipApi;
template <class... Args>
using HipFunction = DriverFunction<kHipApi, Args...>;

struct HipDriver {
  static constexpr const DriverApi& kApi = kHipApi;
  using Attribute = HipAttribute;
  using Pointer = HipPointer;

  explicit HipDriver(DriverLibrary opened) : library(std::move(opened)) {}
  DriverLibrary library;
  int version = 0;  // 60'200'000 and more for 6.2

  HipFunction<unsigned> init{library, "hipInit"};
  HipFunction<int*> runtime_version{library, "hipRuntimeGetVersion"};
  HipFunction<int*> device_count{library, "hipGetDeviceCount"};
  HipFunction<HipDeviceNumber> set_device{library, "hipSetDevice"};
  HipFunction<char*, int, HipDeviceNumber> device_pci_address{library, "hipDeviceGetPCIBusId"};
  HipFunction<char*, int, HipDeviceNumber> device_name{library, "hipDeviceGetName"};
  HipFunction<std::size_t*, HipDeviceNumber> device_total_memory{library, "hipDeviceTotalMem"};
  HipFunction<int*, HipAttribute, HipDeviceNumber> device_attribute{library,
                                                                    "hipDeviceGetAttribute"};

  HipFunction<std::size_t*, std::size_t*> memory_info{library, "hipMemGetInfo"};
  HipFunction<HipPointer*, std::size_t> memory_allocate{library, "hipMalloc"};
  HipFunction<HipPointer> memory_free{library, "hipFree"};
  HipFunction<void**, std::size_t, unsigned> host_allocate{library, "hipHostMalloc"};
  HipFunction<void*> host_free{library, "hipHostFree"};
  HipFunction<HipPointer, const void*, std::size_t, HipHandle> copy_to_device{library,
                                                                              "hipMemcpyHtoDAsync"};
  HipFunction<void*, HipPointer, std::size_t, HipHandle> copy_to_host{library,
                                                                      "hipMemcpyDtoHAsync"};
  HipFunction<HipPointer, HipPointer, std::size_t, HipHandle> copy_on_device{library,
                                                                             "hipMemcpyDtoDAsync"};

  HipFunction<HipHandle*, unsigned> stream_create{library, "hipStreamCreateWithFlags"};
  HipFunction<HipHandle> stream_destroy{library, "hipStreamDestroy"};
  HipFunction<HipHandle> stream_synchronize{library, "hipStreamSynchronize"};
  HipFunction<HipHandle*, unsigned> event_create{library, "hipEventCreateWithFlags"};
  HipFunction<HipHandle> event_destroy{library, "hipEventDestroy"};
  HipFunction<HipHandle, HipHandle> event_record{library, "hipEventRecord"};
  HipFunction<float*, HipHandle, HipHandle> event_elapsed_ms{library, "hipEventElapsedTime"};

  HipFunction<HipHandle*, const void*> module_load{library, "hipModuleLoadData"};
  HipFunction<HipHandle> module_unload{library, "hipModuleUnload"};
  HipFunction<HipHandle*, HipHandle, const char*> module_function{library, "hipModuleGetFunction"};
  HipFunction<HipHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
              HipHandle, void**, void**>
      launch{library, "hipModuleLaunchKernel"};
  HipFunction<HipHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
              HipHandle, void**>
      launch_cooperative{library, "hipModuleLaunchCooperativeKernel"};
  HipFunction<int*, HipHandle, int, std::size_t> resident_blocks{
      library, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"};

  // Opens the library and starts the runtime, once per process; the library is never closed. The
  // path in GPUREADY_HIP_LIBRARY, if set, is the only one tried.
  static Result<const HipDriver*> start();
};

}  // namespace gpuready
