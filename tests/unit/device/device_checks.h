// What every GPU's executor must do, whichever driver is behind it: each says how that went.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.h"

namespace gpuready {

inline std::string copy_back_and_forth(Device& device) {
  auto stream = device.create_stream();
  auto a = DeviceBuffer::make(device, 4096), b = DeviceBuffer::make(device, 4096);
  auto timer = StreamTimer::make(device, *stream);
  std::uint64_t sent = 0x0123456789abcdef, got = 0;
  (void)timer->start();
  (void)device.copy_to_device(*stream, a->address(), &sent, sizeof sent);
  (void)device.copy_on_device(*stream, b->address(), a->address(), sizeof sent);
  (void)device.copy_to_host(*stream, &got, b->address(), sizeof got);
  auto ms = timer->stop_ms();
  auto pinned = device.allocate_pinned(4096);
  const bool whole = got == sent && ms && *ms >= 0 && pinned && device.release_pinned(*pinned) &&
                     device.destroy_stream(*stream);
  return whole ? "whole" : "broken";
}

// The codes of what a call after a failed copy answers, and of what the device was lost by.
inline std::string call_after_failed_copy(Device& device) {
  const int value = 0;
  auto memory = device.allocate(4096);
  (void)device.copy_to_device({}, *memory, &value, sizeof value);
  return std::to_string(device.allocate(4096).error().code) + " " +
         std::to_string(device.lost()->code);
}

inline std::string allocate_too_much(Device& device) {
  const DeviceFault fault = device.fault_of(device.allocate(1ull << 40).error());
  if (fault != DeviceFault::out_of_memory) return "another fault";
  return device.allocate(1 << 20) ? "goes on" : "lost";
}

}  // namespace gpuready
