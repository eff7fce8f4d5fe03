// Packing into ternary_layout.h, on the host.
#pragma once

#include <vector>

#include "gpuready/ternary.h"
#include "kernel_abi/ternary_layout.h"

namespace gpuready::ternary {

std::size_t gpu_tile_bytes(Shape shape);
// From codes of -1, 0, +1, row-major.
std::vector<std::uint32_t> gpu_tiles(std::span<const std::int8_t> codes, Shape shape);
// From the CPU's packed form, whichever it is.
std::vector<std::uint32_t> gpu_tiles(const PackedWeights& weights);

}  // namespace gpuready::ternary
