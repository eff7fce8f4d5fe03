// Faults on purpose of what a test asks of its device: a copy that changes a bit, a launch that
// does nothing. They are made in front of the device, so every test meets them unknowing.
#pragma once

#include "health/test.h"

namespace gpuready {

using OneDeviceTest = Verdict (*)(Device&, const TestOptions&, const TestHooks&);

// Runs the test on `device` with the fault of the options, which is_device_fault(), in one of all
// the calls that it makes.
Verdict test_on_spoiled_device(OneDeviceTest test, Device& device, const TestOptions& options,
                               const TestHooks& hooks);

}  // namespace gpuready
