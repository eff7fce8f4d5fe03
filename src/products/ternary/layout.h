// Where each format keeps the codes. Scales are codec.cc's business.
#pragma once

#include <array>
#include <cstdint>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

// What an encoded tensor takes: bytes of codes, bytes in all, and scales kept beside them.
struct EncodedSize {
  std::size_t code_bytes = 0, bytes = 0, scales = 0;
};
Result<EncodedSize> encoded_size(FormatId id, Shape shape, Tiling tiling);

// The first tiling that fits the shape, for formats that need one.
Tiling fitting_tiling(FormatId id, Shape shape);

// `codes` are rows x cols of -1, 0, +1 (levels 0 to 3 for formats of four levels); `bytes` is
// zeroed and of encoded_size().bytes. Shape and tiling have been checked.
void write_codes(FormatId id, Shape shape, Tiling tiling, const std::int8_t* codes,
                 std::uint8_t* bytes);
Result<void> read_codes(FormatId id, Shape shape, Tiling tiling, const std::uint8_t* bytes,
                        std::int8_t* codes);

// The first of `codes` that is not -1, 0 or +1, or `count`.
std::size_t first_undefined(const std::int8_t* codes, std::size_t count);

// The weight that each value of two bits stands for; 2 where the format defines none. Of the
// formats of two bits a weight that are ternary.
std::array<std::int8_t, 4> weights_of_bits(FormatId id);

// Bytes of a block with its scale, of formats that keep a scale for each block among the codes.
inline std::size_t block_bytes(const Format& f) {
  return static_cast<std::size_t>(f.bits_per_weight * static_cast<double>(f.scale_block) / 8);
}

// Formats whose bytes are planes: codes in their order are [groups][4][width], and bytes
// [groups][width] with the first of the four in the upper bits. 0: no such format.
std::size_t plane_width(FormatId id, Shape shape);

}  // namespace gpuready::ternary
