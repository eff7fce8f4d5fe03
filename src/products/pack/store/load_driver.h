// The driver API as far as a load test needs it, found when it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "pack/release/probe.h"

namespace gpuready::pack {

// On the one GPU that this process sees. What is loaded stays: the process ends after its test.
class LoadDriver {
 public:
  Result<void> start();
  Result<void> load(const void* image);  // and unload
  // Launches the kernel where the image holds it, and compares what it must have written. False:
  // the image has no kernel of that name.
  Result<bool> launch(const void* image, const Probe& probe);

 private:
  using Address = unsigned long long;
  Result<void> run(void* function, const Probe& probe);
  Result<void> prepare(const Probe& probe, std::vector<Address>& values);
  Result<void> compare(const Probe& probe, const std::vector<Address>& values);

  int (*load_)(void**, const void*, unsigned, int*, void**) = nullptr;
  int (*unload_)(void*) = nullptr;
  int (*get_function_)(void**, void*, const char*) = nullptr;
  int (*allocate_)(Address*, std::size_t) = nullptr;
  int (*to_device_)(Address, const void*, std::size_t, void*) = nullptr;
  int (*to_host_)(void*, Address, std::size_t, void*) = nullptr;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                 void**, void**) = nullptr;
  int (*wait_)(void*) = nullptr;
};

}  // namespace gpuready::pack
