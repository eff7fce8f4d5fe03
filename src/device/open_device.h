// Opens a device by what names it to its executor.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/cpu_device.h"
#include "device/device.h"

namespace gpuready {

// "cpu", "cuda:GPU-6fc1...", "cuda:MIG-...", "vulkan:<device UUID>", "hip:<PCI address>/<gfx
// target>".
struct DeviceChoice {
  std::string executor;
  std::string id = {};  // empty for the CPU
  bool operator==(const DeviceChoice&) const = default;
};
std::string to_string(const DeviceChoice& choice);
Result<DeviceChoice> parse_device_choice(std::string_view text);

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice,
                                            const CpuDeviceOptions& cpu);
// What an error of open_device() says about the device.
DeviceFault fault_of_opening(const DeviceChoice& choice, const Error& error);
// What it calls the parts that work at once: "SM", "CU", "thread"; "group" where they have no name.
std::string_view executor_unit(std::string_view executor);
// What is to be reported with every result of this executor; empty when there is nothing.
std::string_view executor_caveat(std::string_view executor);

}  // namespace gpuready
