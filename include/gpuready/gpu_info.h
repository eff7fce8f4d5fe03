// Which GPU backends this machine has, in a few calls. Each call inspects the machine anew,
// vendors' libraries in child processes of the helper executable (GPUREADY_HELPER, else the
// gpuready beside this program, of this installation, or in PATH), and takes the fraction of a
// second that the drivers need to start: keep the answer.
//
// GPUREADY_FAKE and BITNET_GPU_FAKE claim backends; what is claimed says so (`faked`) and is no
// device: list_cuda_devices() never lists a fake.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

struct GpuInfo {
  bool cuda = false;                        // the driver started and has a device
  std::optional<std::string> cuda_version;  // the greatest that the driver supports, "12.1"
  bool metal = false;
  bool rocm = false;  // the kernel driver has a GPU, and ROCm is installed
  std::optional<std::string> rocm_version;
  bool vulkan = false;  // a device that is no CPU
  std::optional<std::string> vulkan_version;
  bool opengl = false;  // a GPU with a driver, and a GL or EGL library
  bool wgpu = false;    // WebGPU: runs on Vulkan or Metal
  bool faked = false;

  bool any_available() const { return cuda || metal || rocm || vulkan || opengl || wgpu; }
  // "Available GPU backends: CUDA 12.1, ROCm 6.0" or "No GPU backends available"; "(faked)" is
  // added to a fake.
  std::string summary() const;
};

GpuInfo gpu_info_of(const Machine& machine);
// An error names a fake that cannot be understood, or that strict mode forbids.
std::expected<GpuInfo, std::string> try_get_gpu_info();
GpuInfo get_gpu_info();  // nothing available when the above is an error
bool gpu_available();
// An error begins with "No GPU backend detected." and says what would have to be mended.
std::expected<void, std::string> preflight_check();
std::expected<void, std::string> preflight_check(const Machine& machine);

struct CudaDeviceInfo {
  int device_id = 0;  // CUDA's ordinal in this environment
  std::string name;
  std::optional<std::string> uuid;
  std::pair<int, int> compute_capability{0, 0};  // major, minor
  std::uint64_t total_memory = 0;                // bytes
  int multiprocessor_count = 0;
  int max_threads_per_block = 0;
  std::uint64_t max_shared_memory_per_block = 0;  // bytes, without opting in
  bool supports_fp16 = false;                     // arithmetic: compute capability 5.3 and newer
  bool supports_bf16 = false;                     // arithmetic: compute capability 8.0 and newer
  // For the launch formula; 0 where the driver did not tell.
  int warp_size = 0, max_threads_per_multiprocessor = 0, max_blocks_per_multiprocessor = 0;
  std::int64_t max_grid_x = 0;
  std::uint64_t shared_memory_per_multiprocessor = 0;
};

// By ordinal. Empty on a machine without one; an error when the driver is there and fails.
std::expected<std::vector<CudaDeviceInfo>, std::string> list_cuda_devices();
std::expected<std::vector<CudaDeviceInfo>, std::string> cuda_devices_of(const Machine& machine);

struct LaunchParams {
  int block_x = 0, block_y = 0;           // threads; x runs over columns
  std::int64_t grid_x = 0, grid_y = 0;    // blocks
  std::uint64_t shared_memory_bytes = 0;  // of one block
  int blocks_per_multiprocessor = 0;      // resident at once
};

// For a kernel with one thread for each element of a rows x cols result, which stages two tiles of
// 32 floats' depth in shared memory (a tiled matrix product):
//   block_x = the warp size, so that a warp reads consecutive columns;
//   block_y = the greatest power of two with block_x * block_y <= min(256, max threads per block)
//             whose tiles (block_x + block_y) * 32 * 4 bytes fit a block's shared memory, halved
//             while there are fewer blocks than multiprocessors;
//   grid    = the result divided by the block, rounded up (grid_x at most the device's limit,
//   grid_y
//             at most 65535, CUDA's limit for every device: a kernel strides over the rest);
//   resident = min(threads, blocks, shared memory of a multiprocessor divided by a block's).
// An error when rows, cols or a needed limit is not positive.
std::expected<LaunchParams, std::string> optimal_launch_params(std::int64_t rows, std::int64_t cols,
                                                               const CudaDeviceInfo& device);
// The same on CUDA device 0.
std::expected<LaunchParams, std::string> optimal_launch_params(std::int64_t rows,
                                                               std::int64_t cols);

}  // namespace gpuready
