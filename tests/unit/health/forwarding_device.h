// A device in front of the CPU's: a test overrides what is to be otherwise.
#pragma once

#include <cstdint>
#include <memory>

#include "device/cpu_device.h"
#include "device/device_proxy.h"

namespace gpuready {

class ForwardingDevice : public DeviceProxy {
 public:
  ForwardingDevice(unsigned threads, std::uint64_t memory_bytes)
      : ForwardingDevice(make_cpu_device({.threads = threads,
                                          .memory_free_bytes = memory_bytes,
                                          .memory_total_bytes = memory_bytes})) {}
  explicit ForwardingDevice(std::unique_ptr<Device> inner)
      : DeviceProxy(*inner), owned_(std::move(inner)) {}

 private:
  std::unique_ptr<Device> owned_;
};

}  // namespace gpuready
