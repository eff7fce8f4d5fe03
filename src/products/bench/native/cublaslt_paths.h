// Where cuBLASLt may be beside the loader's own places.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"

namespace gpuready::bench {

// In the packages of each Python of PATH (nvidia/cu13, nvidia/cublas), and in CUDA toolkits; the
// newest first.
std::vector<std::string> cublaslt_paths(Host& host);
std::vector<std::string> cublaslt_paths();  // of this machine

}  // namespace gpuready::bench
