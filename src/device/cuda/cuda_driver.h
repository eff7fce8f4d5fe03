// The CUDA driver API, declared by ourselves and loaded by dlopen: building needs no CUDA toolkit
// and starting needs no driver. Only what is used is declared. Names, argument orders and attribute
// numbers are those of NVIDIA's driver API reference. Vendor libraries belong into child processes
// (the driver can hang or crash).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "device/driver_library.h"

namespace gpuready {

using CudaDeviceNumber = int;
using CudaPointer = unsigned long long;
using CudaHandle = void*;  // contexts, modules, functions, streams and events are opaque pointers
struct CudaUuid {
  std::array<unsigned char, 16> bytes;
};

enum class CudaAttribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  multiprocessor_count = 16,
  kernel_exec_timeout = 17,
  integrated = 18,
  ecc_enabled = 32,
  pci_bus_id = 33,
  pci_device_id = 34,
  memory_clock_rate_khz = 36,
  memory_bus_width_bits = 37,
  l2_cache_bytes = 38,
  max_threads_per_multiprocessor = 39,
  pci_domain_id = 50,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  cooperative_launch = 95,
};

enum class CudaPeerAttribute : int {
  performance_rank = 1,
  native_atomic_supported = 3,
};

extern const DriverApi kCudaApi;
template <class... Args>
using CudaFunction = DriverFunction<kCudaApi, Args...>;

// Memory that is mapped explicitly (driver API reference, "Virtual Memory Management").
struct CudaMemoryLocation {
  int type = 1;  // a device
  int id = 0;
};
struct CudaAllocationProperties {
  int type = 1;  // pinned: not managed
  int handle_types = 0;
  CudaMemoryLocation location;
  void* win32_metadata = nullptr;
  unsigned char flags[8] = {};
};
struct CudaAccess {
  CudaMemoryLocation location;
  int flags = 3;  // read and write
};
using CudaAllocation = unsigned long long;

// Launches with attributes (driver API reference, "cuLaunchKernelEx").
struct CudaLaunchAttribute {
  int id = 0;
  int padding = 0;
  union {
    char bytes[64];
    int number;
  } value = {};
};
struct CudaLaunchConfiguration {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  CudaHandle stream = nullptr;
  const CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct CudaDriver {
  static constexpr const DriverApi& kApi = kCudaApi;
  using Attribute = CudaAttribute;
  using Pointer = CudaPointer;

  explicit CudaDriver(DriverLibrary opened) : library(std::move(opened)) {}
  DriverLibrary library;

  CudaFunction<unsigned> init{library, "cuInit"};
  CudaFunction<int*> driver_version{library, "cuDriverGetVersion"};
  CudaFunction<int*> device_count{library, "cuDeviceGetCount"};
  CudaFunction<CudaDeviceNumber*, int> device_get{library, "cuDeviceGet"};
  CudaFunction<char*, int, CudaDeviceNumber> device_name{library, "cuDeviceGetName"};
  // v2 tells a MIG instance's own UUID, the older one that of the whole GPU.
  CudaFunction<CudaUuid*, CudaDeviceNumber> device_uuid{library, "cuDeviceGetUuid_v2",
                                                        "cuDeviceGetUuid"};
  CudaFunction<std::size_t*, CudaDeviceNumber> device_total_memory{library, "cuDeviceTotalMem_v2",
                                                                   "cuDeviceTotalMem"};
  CudaFunction<int*, CudaAttribute, CudaDeviceNumber> device_attribute{library,
                                                                       "cuDeviceGetAttribute"};

  CudaFunction<CudaHandle*, CudaDeviceNumber> primary_context_retain{library,
                                                                     "cuDevicePrimaryCtxRetain"};
  CudaFunction<CudaDeviceNumber> primary_context_release{library, "cuDevicePrimaryCtxRelease_v2",
                                                         "cuDevicePrimaryCtxRelease"};
  CudaFunction<CudaHandle> context_set_current{library, "cuCtxSetCurrent"};
  CudaFunction<CudaHandle*> context_get_current{library, "cuCtxGetCurrent"};
  CudaFunction<CudaHandle> context_push{library, "cuCtxPushCurrent_v2", "cuCtxPushCurrent"};
  CudaFunction<CudaHandle*> context_pop{library, "cuCtxPopCurrent_v2", "cuCtxPopCurrent"};
  CudaFunction<CudaDeviceNumber*> context_device{library, "cuCtxGetDevice"};

  CudaFunction<std::size_t*, std::size_t*> memory_info{library, "cuMemGetInfo_v2", "cuMemGetInfo"};
  CudaFunction<CudaPointer*, std::size_t> memory_allocate{library, "cuMemAlloc_v2", "cuMemAlloc"};
  CudaFunction<CudaPointer> memory_free{library, "cuMemFree_v2", "cuMemFree"};
  CudaFunction<void**, std::size_t, unsigned> host_allocate{library, "cuMemHostAlloc"};
  CudaFunction<void*> host_free{library, "cuMemFreeHost"};
  CudaFunction<CudaPointer, const void*, std::size_t, CudaHandle> copy_to_device{
      library, "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"};
  CudaFunction<void*, CudaPointer, std::size_t, CudaHandle> copy_to_host{
      library, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync"};
  CudaFunction<CudaPointer, CudaPointer, std::size_t, CudaHandle> copy_on_device{
      library, "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync"};

  CudaFunction<CudaHandle*, unsigned> stream_create{library, "cuStreamCreate"};
  CudaFunction<CudaHandle> stream_destroy{library, "cuStreamDestroy_v2", "cuStreamDestroy"};
  CudaFunction<CudaHandle> stream_synchronize{library, "cuStreamSynchronize"};
  CudaFunction<CudaHandle*, unsigned> event_create{library, "cuEventCreate"};
  CudaFunction<CudaHandle> event_destroy{library, "cuEventDestroy_v2", "cuEventDestroy"};
  CudaFunction<CudaHandle, CudaHandle> event_record{library, "cuEventRecord"};
  CudaFunction<float*, CudaHandle, CudaHandle> event_elapsed_ms{library, "cuEventElapsedTime_v2",
                                                                "cuEventElapsedTime"};

  CudaFunction<CudaHandle*, const void*, unsigned, int*, void**> module_load{library,
                                                                             "cuModuleLoadDataEx"};
  CudaFunction<CudaHandle> module_unload{library, "cuModuleUnload"};
  CudaFunction<CudaHandle*, CudaHandle, const char*> module_function{library,
                                                                     "cuModuleGetFunction"};
  CudaFunction<CudaHandle, int, int> function_set_attribute{library, "cuFuncSetAttribute"};
  CudaFunction<CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               CudaHandle, void**, void**>
      launch{library, "cuLaunchKernel"};
  CudaFunction<CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               CudaHandle, void**>
      launch_cooperative{library, "cuLaunchCooperativeKernel"};
  CudaFunction<const CudaLaunchConfiguration*, CudaHandle, void**, void**> launch_configured{
      library, "cuLaunchKernelEx"};
  CudaFunction<int*, CudaHandle, int, std::size_t> resident_blocks{
      library, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};

  CudaFunction<void*, std::size_t, unsigned> host_register{library, "cuMemHostRegister_v2",
                                                           "cuMemHostRegister"};
  CudaFunction<void*> host_unregister{library, "cuMemHostUnregister"};
  CudaFunction<int*, CudaDeviceNumber, CudaDeviceNumber> can_access_peer{library,
                                                                         "cuDeviceCanAccessPeer"};
  CudaFunction<int*, CudaPeerAttribute, CudaDeviceNumber, CudaDeviceNumber> peer_attribute{
      library, "cuDeviceGetP2PAttribute"};
  CudaFunction<CudaHandle, unsigned> enable_peer_access{library, "cuCtxEnablePeerAccess"};
  CudaFunction<CudaPointer, CudaHandle, CudaPointer, CudaHandle, std::size_t, CudaHandle> copy_peer{
      library, "cuMemcpyPeerAsync"};

  CudaFunction<std::size_t*, const CudaAllocationProperties*, int> allocation_granularity{
      library, "cuMemGetAllocationGranularity"};
  CudaFunction<CudaAllocation*, std::size_t, const CudaAllocationProperties*, unsigned long long>
      allocation_create{library, "cuMemCreate"};
  CudaFunction<CudaAllocation> allocation_release{library, "cuMemRelease"};
  CudaFunction<CudaPointer*, std::size_t, std::size_t, CudaPointer, unsigned long long>
      address_reserve{library, "cuMemAddressReserve"};
  CudaFunction<CudaPointer, std::size_t> address_free{library, "cuMemAddressFree"};
  CudaFunction<CudaPointer, std::size_t, std::size_t, CudaAllocation, unsigned long long>
      address_map{library, "cuMemMap"};
  CudaFunction<CudaPointer, std::size_t> address_unmap{library, "cuMemUnmap"};
  CudaFunction<CudaPointer, std::size_t, const CudaAccess*, std::size_t> address_set_access{
      library, "cuMemSetAccess"};

  CudaFunction<CudaHandle, int> capture_begin{library, "cuStreamBeginCapture_v2"};
  CudaFunction<CudaHandle, CudaHandle*> capture_end{library, "cuStreamEndCapture"};
  CudaFunction<CudaHandle*, CudaHandle, unsigned long long> graph_instantiate{
      library, "cuGraphInstantiateWithFlags"};
  CudaFunction<CudaHandle, CudaHandle> graph_launch{library, "cuGraphLaunch"};
  CudaFunction<CudaHandle> graph_destroy_executable{library, "cuGraphExecDestroy"};
  CudaFunction<CudaHandle> graph_destroy{library, "cuGraphDestroy"};

  // Opens the library and calls cuInit, once per process; the library is never closed. The path in
  // GPUREADY_LIBCUDA, if set, is the only one tried.
  static Result<const CudaDriver*> start();
};

}  // namespace gpuready
