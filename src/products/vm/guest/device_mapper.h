// Mappings of the kernel's device mapper.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

struct LinearPart {
  std::uint64_t sectors = 0;
  std::string device;  // "254:1"
  std::uint64_t device_sector = 0;
  bool operator==(const LinearPart&) const = default;
};
struct LinearMap {
  std::string name, uuid;  // in /dev/mapper
  bool read_only = false;
  std::vector<LinearPart> parts;
};
// Makes this mapping, unless it exists: "/dev/mapper/NAME".
Result<std::string> map_device(const LinearMap& map);

}  // namespace gpuready::vm
