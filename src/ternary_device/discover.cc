#include "ternary_device/choose.h"

namespace gpuready::ternary {

Discovery discover_gpus(const Target&) {
  Discovery found;
  found.reasons.emplace_back("this build has no backend for GPUs");
  return found;
}

}  // namespace gpuready::ternary
