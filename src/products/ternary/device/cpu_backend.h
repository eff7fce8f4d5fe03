#pragma once

#include <memory>

#include "gpuready/ternary.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

Result<std::unique_ptr<Backend>> make_cpu_backend(const EngineOptions& options = {});
std::unique_ptr<Backend> make_cpu_backend(CpuEngine engine);

}  // namespace gpuready::ternary
