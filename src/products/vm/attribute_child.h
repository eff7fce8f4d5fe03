// Writes that may never return run in a child of our own: unbinding waits for a driver's users,
// binding and resets for the device.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

inline constexpr const char* kAttributeChild = "__attribute";

// The child's side: `gpuready __attribute PATH VALUE` writes one attribute of the PCI or
// mediated bus and
// prints the errno. Returns the process's exit code.
int run_attribute_child(std::span<const std::string> args);

// The parent's. `hung` when the driver did not return by the deadline and the child waits in the
// kernel; nothing that touches the device's lock may be done then.
Result<void> write_in_child(Host& host, const std::string& path, const std::string& value,
                            std::chrono::milliseconds deadline);

}  // namespace gpuready::vm
