// The C interface over gpu_info.h. Nothing is thrown across it.
#include "gpuready/gpuready.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/c_api/c_status.h"
#include "base/c_api/c_text.h"
#include "gpuready/gpu_info.h"

using gpuready::c_call;
using gpuready::copy_text;
using gpuready::ErrorKind;
using gpuready::fail;
using gpuready::give_struct;
using gpuready::null_pointer;
using gpuready::Result;
using gpuready::take_struct;

namespace {

gpuready_cuda_device to_c(const gpuready::CudaDeviceInfo& from) {
  gpuready_cuda_device to{};
  to.device_id = from.device_id;
  to.compute_capability_major = from.compute_capability.first;
  to.compute_capability_minor = from.compute_capability.second;
  to.multiprocessor_count = from.multiprocessor_count;
  to.max_threads_per_block = from.max_threads_per_block;
  to.supports_fp16 = from.supports_fp16;
  to.supports_bf16 = from.supports_bf16;
  to.supports_fp8 = from.supports_fp8;
  to.warp_size = from.warp_size;
  to.max_threads_per_multiprocessor = from.max_threads_per_multiprocessor;
  to.max_blocks_per_multiprocessor = from.max_blocks_per_multiprocessor;
  to.max_grid_x = from.max_grid_x;
  to.total_memory_bytes = from.total_memory_bytes;
  to.max_shared_memory_per_block_bytes = from.max_shared_memory_per_block_bytes;
  to.shared_memory_per_multiprocessor_bytes = from.shared_memory_per_multiprocessor_bytes;
  copy_text(to.name, from.name);
  copy_text(to.uuid, from.uuid.value_or(""));
  return to;
}

gpuready::CudaDeviceInfo from_c(const gpuready_cuda_device& from) {
  gpuready::CudaDeviceInfo to;
  to.device_id = from.device_id;
  to.multiprocessor_count = from.multiprocessor_count;
  to.max_threads_per_block = from.max_threads_per_block;
  to.warp_size = from.warp_size;
  to.max_threads_per_multiprocessor = from.max_threads_per_multiprocessor;
  to.max_blocks_per_multiprocessor = from.max_blocks_per_multiprocessor;
  to.max_grid_x = from.max_grid_x;
  to.max_shared_memory_per_block_bytes = from.max_shared_memory_per_block_bytes;
  to.shared_memory_per_multiprocessor_bytes = from.shared_memory_per_multiprocessor_bytes;
  return to;
}

template <std::size_t N>
std::optional<std::string> text_of(const char (&text)[N]) {
  const std::size_t length = strnlen(text, N);
  if (length == 0) return std::nullopt;
  return std::string(text, length);
}

}  // namespace

extern "C" {

int32_t gpuready_abi_version(void) { return GPUREADY_ABI_VERSION; }

void gpuready_refresh(void) {
  c_call([]() -> Result<void> {
    gpuready::refresh();
    return {};
  });
}

int32_t gpuready_gpu_available(void) {
  int32_t available = 0;
  c_call([&]() -> Result<void> {
    available = gpuready::gpu_available() ? 1 : 0;
    return {};
  });
  return available;
}

gpuready_status gpuready_get_gpu_info(gpuready_gpu_info* info) {
  return c_call([&]() -> Result<void> {
    const auto found = gpuready::try_get_gpu_info();
    if (!found) return fail(ErrorKind::bad_input, found.error().message);
    gpuready_gpu_info value{};
    value.cuda = found->cuda;
    value.metal = found->metal;
    value.rocm = found->rocm;
    value.vulkan = found->vulkan;
    value.opengl = found->opengl;
    value.wgpu = found->wgpu;
    value.faked = found->faked;
    copy_text(value.cuda_version, found->cuda_version.value_or(""));
    copy_text(value.rocm_version, found->rocm_version.value_or(""));
    copy_text(value.vulkan_version, found->vulkan_version.value_or(""));
    return give_struct("gpuready_gpu_info", value, info);
  });
}

gpuready_status gpuready_summary(const gpuready_gpu_info* info, char* text, size_t capacity) {
  return c_call([&]() -> Result<void> {
    if (text == nullptr || capacity == 0)
      return fail(ErrorKind::bad_input, "text is a null pointer, or its capacity is 0");
    const auto value = TRY(take_struct("gpuready_gpu_info", info));
    gpuready::GpuInfo found;
    found.cuda = value.cuda != 0;
    found.metal = value.metal != 0;
    found.rocm = value.rocm != 0;
    found.vulkan = value.vulkan != 0;
    found.opengl = value.opengl != 0;
    found.wgpu = value.wgpu != 0;
    found.faked = value.faked != 0;
    found.cuda_version = text_of(value.cuda_version);
    found.rocm_version = text_of(value.rocm_version);
    found.vulkan_version = text_of(value.vulkan_version);
    const auto summary = found.summary();
    const std::size_t length = std::min(summary.size(), capacity - 1);
    std::memcpy(text, summary.data(), length);
    text[length] = 0;
    return {};
  });
}

gpuready_status gpuready_preflight_check(void) {
  return c_call([]() -> Result<void> {
    const auto ready = gpuready::preflight_check();
    if (!ready) return fail(ErrorKind::no_device, ready.error().message);
    return {};
  });
}

gpuready_status gpuready_list_cuda_devices(gpuready_cuda_device* devices, size_t capacity,
                                           size_t* count) {
  return c_call([&]() -> Result<void> {
    if (count == nullptr || (devices == nullptr && capacity > 0))
      return null_pointer(count == nullptr ? "count" : "devices");
    *count = 0;
    const auto found = gpuready::list_cuda_devices();
    if (!found) return fail(ErrorKind::device, found.error().message);
    *count = found->size();
    // The caller's elements lie as far apart as its own version of the struct is large.
    const std::size_t step = capacity > 0 ? devices->size : 0;
    auto* at = reinterpret_cast<unsigned char*>(devices);
    for (std::size_t i = 0; i < std::min(capacity, found->size()); ++i, at += step) {
      auto* element = reinterpret_cast<gpuready_cuda_device*>(at);
      TRY(give_struct("gpuready_cuda_device", to_c((*found)[i]), element));
    }
    return {};
  });
}

gpuready_status gpuready_optimal_launch_params(int64_t rows, int64_t cols,
                                               const gpuready_cuda_device* device,
                                               gpuready_launch_params* params) {
  return c_call([&]() -> Result<void> {
    const auto found =
        device != nullptr
            ? gpuready::optimal_launch_params(
                  rows, cols, from_c(TRY(take_struct("gpuready_cuda_device", device))))
            : gpuready::optimal_launch_params(rows, cols);
    if (!found)
      return fail(device != nullptr ? ErrorKind::bad_input : ErrorKind::no_device,
                  found.error().message);
    gpuready_launch_params value{};
    value.block_x = found->block_x;
    value.block_y = found->block_y;
    value.blocks_per_multiprocessor = found->blocks_per_multiprocessor;
    value.grid_x = found->grid_x;
    value.grid_y = found->grid_y;
    value.shared_memory_bytes = found->shared_memory_bytes;
    return give_struct("gpuready_launch_params", value, params);
  });
}

}  // extern "C"
