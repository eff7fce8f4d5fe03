// NVIDIA's own list of the GPUs that a driver serves, which its installers bring along.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

inline constexpr std::string_view kSupportedGpusFile = "supported-gpus.json";

// The PCI device ids, sorted, each once, without those that the list leaves to an older branch
// ("legacybranch").
Result<std::vector<std::uint16_t>> parse_supported_gpus(std::string_view text,
                                                        std::string_view name);

}  // namespace gpuready::vm
