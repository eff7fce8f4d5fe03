// Which GPU backends this machine has, in a few calls. CMake target: gpuready::machine.
//
// The machine is inspected once in a process: by the first call that needs it, and kept for those
// that follow, until refresh(). An inspection asks vendors' libraries in child processes of the
// helper executable (GPUREADY_HELPER, else the gpuready beside this program, of this installation,
// or in PATH) and takes the fraction of a second that the drivers need to start. gpu_available()
// starts no driver where files decide. Every function may be called from any thread. A forked child
// inspects the machine itself.
//
// GPUREADY_FAKE and BITNET_GPU_FAKE claim backends (docs/fakes-and-variables.md); they are read
// again by every call. A fake is marked (`faked`) and not a device: list_cuda_devices() never
// lists it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/result.h"

namespace gpuready::inline v0 {

struct GpuInfo {
  bool cuda = false;                        // the driver started and has a device
  std::optional<std::string> cuda_version;  // the greatest that the driver supports, "12.1"
  bool metal = false;
  bool rocm = false;  // the kernel driver has a GPU, and ROCm is installed
  std::optional<std::string> rocm_version;
  bool vulkan = false;  // a device other than a CPU
  std::optional<std::string> vulkan_version;
  bool opengl = false;  // a GPU with a driver, and a GL or EGL library
  bool wgpu = false;    // WebGPU runs on Vulkan and Metal; a fake of any backend claims it as well
  bool faked = false;

  bool any_available() const { return cuda || metal || rocm || vulkan || opengl || wgpu; }
  // "Available GPU backends: CUDA 12.1, ROCm 6.0" or "No GPU backends available"; "(faked)" is
  // added to a fake.
  std::string summary() const;
};

// Errors of all functions without a Machine: bad_input names a fake that is not valid, or the
// variable that forbids fakes.

// The inspection that all calls share, the drivers included.
Result<std::shared_ptr<const Machine>> inspect_machine();
// Discards it: the next call that needs the machine inspects it again.
void refresh();

// Whether any backend is available. Takes milliseconds and starts no driver where files decide: no
// GPU has a device node here, or NVIDIA's kernel module, device nodes and libcuda are there and of
// one version. A driver may still refuse to start, which preflight_check() finds out; where the
// machine was inspected already, or files do not decide, the answer is that of get_gpu_info().
// False when fakes are not valid.
bool gpu_available();

Result<GpuInfo> try_get_gpu_info();
GpuInfo get_gpu_info();  // nothing available when the above is an error
GpuInfo gpu_info_of(const Machine& machine);

// Starts the drivers. An error (no_device) begins with "No GPU backend detected." and says what
// must be mended.
Result<void> preflight_check();
Result<void> preflight_check(const Machine& machine);

struct CudaDeviceInfo {
  int device_id = 0;  // CUDA's ordinal in this environment
  std::string name;
  std::optional<std::string> uuid;
  std::pair<int, int> compute_capability{0, 0};  // major, minor
  std::uint64_t total_memory_bytes = 0;
  int multiprocessor_count = 0;
  int max_threads_per_block = 0;
  std::uint64_t max_shared_memory_per_block_bytes = 0;  // without opting in
  bool supports_fp16 = false;                           // arithmetic: capability 5.3 and newer
  bool supports_bf16 = false;                           // arithmetic: capability 8.0 and newer
  bool supports_fp8 = false;                            // tensor cores: capability 8.9 and newer
  // For the launch formula; 0 where the driver reports none.
  int warp_size = 0, max_threads_per_multiprocessor = 0, max_blocks_per_multiprocessor = 0;
  std::int64_t max_grid_x = 0;
  std::uint64_t shared_memory_per_multiprocessor_bytes = 0;
};

// By ordinal. Empty on a machine without one; an error (device, with the driver's code) when the
// driver is there and fails.
Result<std::vector<CudaDeviceInfo>> list_cuda_devices();
Result<std::vector<CudaDeviceInfo>> cuda_devices_of(const Machine& machine);

struct LaunchParams {
  int block_x = 0, block_y = 0;           // threads; x runs over columns
  std::int64_t grid_x = 0, grid_y = 0;    // blocks
  std::uint64_t shared_memory_bytes = 0;  // of one block
  int blocks_per_multiprocessor = 0;      // resident at once
};

// For a kernel with one thread for each element of a rows x cols result, which stages two tiles of
// 32 floats' depth in shared memory (a tiled matrix product):
//   block_x  = the warp size, so that a warp reads consecutive columns;
//   block_y  = the greatest power of two with block_x * block_y <= min(256, max threads per block)
//              whose tiles (block_x + block_y) * 32 * 4 bytes fit a block's shared memory, halved
//              while there are fewer blocks than multiprocessors;
//   grid     = the result divided by the block, rounded up (grid_x at most the device's limit,
//              grid_y at most 65535, CUDA's limit for every device: a kernel strides over the
//              rest);
//   resident = min(threads, blocks, shared memory of a multiprocessor divided by a block's).
// bad_input when rows or cols is not positive; unsupported when the device reports no limits or
// cannot hold one tile.
Result<LaunchParams> optimal_launch_params(std::int64_t rows, std::int64_t cols,
                                           const CudaDeviceInfo& device);
// The same on CUDA device 0; no_device where there is none.
Result<LaunchParams> optimal_launch_params(std::int64_t rows, std::int64_t cols);

}  // namespace gpuready::inline v0
