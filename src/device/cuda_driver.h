// The CUDA driver API, declared by ourselves and loaded by dlopen: building needs no CUDA toolkit
// and starting needs no driver. Only what is used is declared. Names, argument orders and attribute
// numbers are those of NVIDIA's driver API reference; each function is looked up under its newest
// name first. Vendor libraries belong into child processes (the driver can hang or crash).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready {

using CudaStatus = int;
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

// A function of the driver: its names, newest first, and what was found under one of them.
template <class Signature>
struct CudaSymbol;
template <class... Args>
struct CudaSymbol<CudaStatus(Args...)> {
  std::array<const char*, 2> names;
  CudaStatus (*function)(Args...) = nullptr;
  const char* found_name = nullptr;

  // Calls it. A missing symbol is an error that names it; any code but 0 an error with its meaning.
  Result<void> operator()(Args... args) const;
};

// Error for a CUDA status; `call` is the function's name.
std::unexpected<Error> cuda_failure(std::string_view call, CudaStatus status);
std::unexpected<Error> cuda_symbol_missing(std::string_view name);

template <class... Args>
Result<void> CudaSymbol<CudaStatus(Args...)>::operator()(Args... args) const {
  if (!function) return cuda_symbol_missing(names[0]);
  const CudaStatus status = function(args...);
  if (status != 0) return cuda_failure(found_name, status);
  return {};
}

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

struct CudaVirtualMemory {
  CudaSymbol<CudaStatus(std::size_t*, const CudaAllocationProperties*, int)> granularity{
      {"cuMemGetAllocationGranularity"}};
  CudaSymbol<CudaStatus(CudaAllocation*, std::size_t, const CudaAllocationProperties*,
                        unsigned long long)>
      create{{"cuMemCreate"}};
  CudaSymbol<CudaStatus(CudaAllocation)> release{{"cuMemRelease"}};
  CudaSymbol<CudaStatus(CudaPointer*, std::size_t, std::size_t, CudaPointer, unsigned long long)>
      reserve{{"cuMemAddressReserve"}};
  CudaSymbol<CudaStatus(CudaPointer, std::size_t)> free_address{{"cuMemAddressFree"}};
  CudaSymbol<CudaStatus(CudaPointer, std::size_t, std::size_t, CudaAllocation, unsigned long long)>
      map{{"cuMemMap"}};
  CudaSymbol<CudaStatus(CudaPointer, std::size_t)> unmap{{"cuMemUnmap"}};
  CudaSymbol<CudaStatus(CudaPointer, std::size_t, const CudaAccess*, std::size_t)> set_access{
      {"cuMemSetAccess"}};
};

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

struct CudaGraphs {
  CudaSymbol<CudaStatus(CudaHandle, int)> begin_capture{{"cuStreamBeginCapture_v2"}};
  CudaSymbol<CudaStatus(CudaHandle, CudaHandle*)> end_capture{{"cuStreamEndCapture"}};
  CudaSymbol<CudaStatus(CudaHandle*, CudaHandle, unsigned long long)> instantiate{
      {"cuGraphInstantiateWithFlags"}};
  CudaSymbol<CudaStatus(CudaHandle, CudaHandle)> launch{{"cuGraphLaunch"}};
  CudaSymbol<CudaStatus(CudaHandle)> destroy_executable{{"cuGraphExecDestroy"}};
  CudaSymbol<CudaStatus(CudaHandle)> destroy{{"cuGraphDestroy"}};
};

struct CudaDriver {
  std::string path;  // as it was opened

  CudaSymbol<CudaStatus(unsigned)> init{{"cuInit"}};
  CudaSymbol<CudaStatus(int*)> driver_version{{"cuDriverGetVersion"}};
  CudaSymbol<CudaStatus(int*)> device_count{{"cuDeviceGetCount"}};
  CudaSymbol<CudaStatus(CudaDeviceNumber*, int)> device_get{{"cuDeviceGet"}};
  CudaSymbol<CudaStatus(char*, int, CudaDeviceNumber)> device_name{{"cuDeviceGetName"}};
  // v2 tells a MIG instance's own UUID, the older one that of the whole GPU.
  CudaSymbol<CudaStatus(CudaUuid*, CudaDeviceNumber)> device_uuid{
      {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}};
  CudaSymbol<CudaStatus(std::size_t*, CudaDeviceNumber)> device_total_memory{
      {"cuDeviceTotalMem_v2", "cuDeviceTotalMem"}};
  CudaSymbol<CudaStatus(int*, CudaAttribute, CudaDeviceNumber)> device_attribute{
      {"cuDeviceGetAttribute"}};

  CudaSymbol<CudaStatus(CudaHandle*, CudaDeviceNumber)> primary_context_retain{
      {"cuDevicePrimaryCtxRetain"}};
  CudaSymbol<CudaStatus(CudaDeviceNumber)> primary_context_release{
      {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"}};
  CudaSymbol<CudaStatus(CudaHandle)> context_set_current{{"cuCtxSetCurrent"}};

  CudaSymbol<CudaStatus(std::size_t*, std::size_t*)> memory_info{
      {"cuMemGetInfo_v2", "cuMemGetInfo"}};
  CudaSymbol<CudaStatus(CudaPointer*, std::size_t)> memory_allocate{
      {"cuMemAlloc_v2", "cuMemAlloc"}};
  CudaSymbol<CudaStatus(CudaPointer)> memory_free{{"cuMemFree_v2", "cuMemFree"}};
  CudaVirtualMemory virtual_memory;
  CudaSymbol<CudaStatus(void**, std::size_t, unsigned)> host_allocate{{"cuMemHostAlloc"}};
  CudaSymbol<CudaStatus(void*)> host_free{{"cuMemFreeHost"}};
  CudaSymbol<CudaStatus(CudaPointer, const void*, std::size_t, CudaHandle)> copy_to_device{
      {"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"}};
  CudaSymbol<CudaStatus(void*, CudaPointer, std::size_t, CudaHandle)> copy_to_host{
      {"cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync"}};
  CudaSymbol<CudaStatus(CudaPointer, CudaPointer, std::size_t, CudaHandle)> copy_on_device{
      {"cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync"}};

  CudaSymbol<CudaStatus(CudaHandle*, unsigned)> stream_create{{"cuStreamCreate"}};
  CudaSymbol<CudaStatus(CudaHandle)> stream_destroy{{"cuStreamDestroy_v2", "cuStreamDestroy"}};
  CudaSymbol<CudaStatus(CudaHandle)> stream_synchronize{{"cuStreamSynchronize"}};
  CudaSymbol<CudaStatus(CudaHandle*, unsigned)> event_create{{"cuEventCreate"}};
  CudaSymbol<CudaStatus(CudaHandle)> event_destroy{{"cuEventDestroy_v2", "cuEventDestroy"}};
  CudaSymbol<CudaStatus(CudaHandle, CudaHandle)> event_record{{"cuEventRecord"}};
  CudaSymbol<CudaStatus(float*, CudaHandle, CudaHandle)> event_elapsed_ms{
      {"cuEventElapsedTime_v2", "cuEventElapsedTime"}};

  CudaSymbol<CudaStatus(CudaHandle*, const void*, unsigned, int*, void**)> module_load{
      {"cuModuleLoadDataEx"}};
  CudaSymbol<CudaStatus(CudaHandle)> module_unload{{"cuModuleUnload"}};
  CudaSymbol<CudaStatus(CudaHandle*, CudaHandle, const char*)> module_function{
      {"cuModuleGetFunction"}};
  CudaSymbol<CudaStatus(CudaHandle, int, int)> function_set_attribute{{"cuFuncSetAttribute"}};
  CudaSymbol<CudaStatus(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CudaHandle, void**, void**)>
      launch{{"cuLaunchKernel"}};
  CudaSymbol<CudaStatus(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CudaHandle, void**)>
      launch_cooperative{{"cuLaunchCooperativeKernel"}};
  CudaSymbol<CudaStatus(const CudaLaunchConfiguration*, CudaHandle, void**, void**)>
      launch_configured{{"cuLaunchKernelEx"}};
  CudaGraphs graphs;
  CudaSymbol<CudaStatus(int*, CudaHandle, int, std::size_t)> resident_blocks{
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor"}};

  CudaSymbol<CudaStatus(void*, std::size_t, unsigned)> host_register{
      {"cuMemHostRegister_v2", "cuMemHostRegister"}};
  CudaSymbol<CudaStatus(void*)> host_unregister{{"cuMemHostUnregister"}};
  CudaSymbol<CudaStatus(int*, CudaDeviceNumber, CudaDeviceNumber)> can_access_peer{
      {"cuDeviceCanAccessPeer"}};
  CudaSymbol<CudaStatus(int*, CudaPeerAttribute, CudaDeviceNumber, CudaDeviceNumber)>
      peer_attribute{{"cuDeviceGetP2PAttribute"}};
  CudaSymbol<CudaStatus(CudaHandle, unsigned)> enable_peer_access{{"cuCtxEnablePeerAccess"}};
  CudaSymbol<CudaStatus(CudaPointer, CudaHandle, CudaPointer, CudaHandle, std::size_t, CudaHandle)>
      copy_peer{{"cuMemcpyPeerAsync"}};

  // Opens the library and calls cuInit, once per process; the library is never closed. The path in
  // GPUREADY_LIBCUDA, if set, is the only one tried.
  static Result<const CudaDriver*> start();
};

struct CudaDeviceIdentity {
  CudaDeviceNumber number = 0;
  std::string uuid;  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
};
Result<std::vector<CudaDeviceIdentity>> list_cuda_identities(const CudaDriver& driver);
std::string format_cuda_uuid(const CudaUuid& uuid, std::string_view prefix);

}  // namespace gpuready
