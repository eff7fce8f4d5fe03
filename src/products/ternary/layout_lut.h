// The layouts of bitnet.cpp's look-up kernels, TL1 and TL2.
#pragma once

#include <cstdint>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

Result<std::size_t> lut_bytes(FormatId id, Shape shape, Tiling tiling);
Tiling lut_tiling(FormatId id, Shape shape);
void write_lut(FormatId id, Shape shape, Tiling tiling, const std::int8_t* codes,
               std::uint8_t* bytes);
Result<void> read_lut(FormatId id, Shape shape, Tiling tiling, const std::uint8_t* bytes,
                      std::int8_t* codes);

}  // namespace gpuready::ternary
