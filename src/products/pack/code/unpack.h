// The compressions of device code. Each gives as much as was asked for and no more, so that the
// start of a piece costs little, whatever its size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace gpuready::pack {

using Unpacked = std::vector<std::uint8_t>;

// At most the first `most` bytes of what the input holds, and what was there before it turned out
// to be damaged or cut short; empty where nothing was. Of zstd one window is kept besides.
Unpacked unpack_lz4_block(Bytes packed, std::size_t most);
Unpacked unpack_zstd(Bytes packed, std::size_t most);
Unpacked unpack_zlib(Bytes packed, std::size_t most);

// Of the zstd frame that begins here: its bytes, found from the sizes of its blocks. Nothing where
// there is no whole frame.
std::optional<std::uint64_t> zstd_frame_bytes(Bytes packed);

}  // namespace gpuready::pack
