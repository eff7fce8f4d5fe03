// Which executor runs the tests of a GPU: one explicit priority list, with an override.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/open_device.h"
#include "gpuready/machine.h"

namespace gpuready {

// "cpu", "cuda", ...: what --device accepts beside the names of GPUs.
bool is_executor_name(std::string_view name);
// The executor that a --device list asks for, if it names one; "cpu" does not count.
std::optional<std::string> forced_executor(const std::vector<std::string>& devices);

// How to open this GPU. An error says why nothing here can.
Result<DeviceChoice> choose_executor(const Machine& machine, const Gpu& gpu,
                                     const std::optional<std::string>& forced);

}  // namespace gpuready
