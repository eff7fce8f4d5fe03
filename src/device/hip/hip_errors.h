// HIP's error numbers: names, what they mean to a person, and what they say about the GPU. Numbers
// and names are those of hipError_t in ROCm's hip_runtime_api.h (the same from release 5.0 to 7).
#pragma once

#include <string>
#include <string_view>

#include "device/device.h"

namespace gpuready {

struct HipErrorInfo {
  int code;
  std::string_view name;     // "hipErrorOutOfMemory"
  std::string_view meaning;  // one clause, plain words
  DeviceFault fault;
  bool sticky;  // nothing that the process does with this GPU can be relied on from then on
};

const HipErrorInfo* find_hip_error(int code);  // nullptr: not in the table
// "hipErrorOutOfMemory (2): not enough free GPU memory"; "HIP error 1234" for one not in the table.
std::string describe_hip_error(int code);

}  // namespace gpuready
