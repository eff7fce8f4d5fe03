// The CPU as an executor: kernels are C++ functions run by several threads; a stream is finished
// with what it was given before the call returns.
#pragma once

#include <cstdint>
#include <memory>

#include "device/device.h"

namespace gpuready {

struct CpuDeviceOptions {
  unsigned threads = 0;  // 0: as many as this process may run on
  // What the caller knows of the host's memory (MemAvailable, the cgroup's limit); this library
  // reads no files.
  std::uint64_t memory_free_bytes = 0, memory_total_bytes = 0;
};

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options);

}  // namespace gpuready
