// In place of device/discover.cc, in the library that has no code for GPUs.
#include "ternary/device/choose.h"

namespace gpuready::ternary {

Discovery discover_gpus(const Target&) {
  return {{}, {"libgpuready-ternary has no code for GPUs; libgpuready.so has"}, {}};
}

}  // namespace gpuready::ternary
