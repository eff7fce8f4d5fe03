// What this machine's GPUs can be used for, through the C++ library.
//   find_package(gpuready), link gpuready::machine
#include <cstdio>

#include "gpuready/gpu_info.h"

int main() {
  const auto info = gpuready::get_gpu_info();
  std::printf("%s\n", info.summary().c_str());
  if (const auto ready = gpuready::preflight_check(); !ready) {
    std::printf("%s\n", ready.error().message.c_str());
    return 1;
  }
  const auto devices = gpuready::list_cuda_devices();
  if (!devices) {
    std::printf("%s\n", devices.error().message.c_str());
    return 1;
  }
  for (const auto& device : *devices) {
    std::printf("CUDA device %d: %s, compute capability %d.%d, %.1f GB, %d multiprocessors\n",
                device.device_id, device.name.c_str(), device.compute_capability.first,
                device.compute_capability.second,
                static_cast<double>(device.total_memory_bytes) / 1e9, device.multiprocessor_count);
    if (const auto launch = gpuready::optimal_launch_params(4096, 4096, device))
      std::printf("  4096 x 4096: blocks of %d x %d, grid of %lld x %lld, %llu bytes shared\n",
                  launch->block_x, launch->block_y, static_cast<long long>(launch->grid_x),
                  static_cast<long long>(launch->grid_y),
                  static_cast<unsigned long long>(launch->shared_memory_bytes));
  }
  return 0;
}
