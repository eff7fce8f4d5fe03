// A GPU of the fake CUDA driver that executes the PTX it is given, in a child.
#pragma once

#include "../unit/device/in_child.h"
#include "device/cuda/cuda_device.h"

namespace gpuready {

// `fake` is what the driver is told, "cc=8.0,sms=3": of several of one kind the first. What `work`
// returned, or why the GPU was not opened.
inline std::string on_ptx_gpu(const std::string& fake,
                              const std::function<std::string(Device&)>& work) {
  return in_child(
      fake + ",guard=4KiB",
      [&] {
        auto device = open_cuda_device(kFakeGpu0);
        return device ? work(**device) : "not opened: " + device.error().message;
      },
      "fake_cuda_ptx");
}

}  // namespace gpuready
