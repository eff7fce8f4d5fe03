// The driver of NVIDIA's GPU Operator lies below a root of its own, /run/nvidia/driver, with the C
// library of its distribution beside it. So its folder must not become a search path of the loader:
// only NVML is opened from there, by its path.
#pragma once

#include <string>

#include "host/host.h"

namespace gpuready::kubernetes {

// The path of libnvidia-ml.so.1 below `root`; not_found if no folder that drivers use has it.
Result<std::string> nvml_below(Host& host, std::string root);

}  // namespace gpuready::kubernetes
