// This process becomes another program: the last step of an init.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuready {

// execve(2) with our environment; `args` without argv[0]. Returns only when it fails.
Error replace_program(const std::string& path, const std::vector<std::string>& args);

}  // namespace gpuready
