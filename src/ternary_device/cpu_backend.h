#pragma once

#include <memory>

#include "ternary_device/backend.h"

namespace gpuready::ternary {

Result<std::unique_ptr<Backend>> make_cpu_backend(const EngineOptions& options = {});

}  // namespace gpuready::ternary
