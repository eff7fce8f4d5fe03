// What a release publishes for updates: see cuts.h.
#pragma once

#include "host/host.h"
#include "host/storage.h"
#include "pack/release/manifest.h"

namespace gpuready::pack {

// Earlier releases whose files an update may begin with.
inline constexpr std::size_t kEarlierReleases = 3;

// Writes NAME-VERSION-VARIANT.pieces into the folder, for a variant whose archive is this one file.
// It holds each piece that one of the last releases lacks: those whose files of pieces are in the
// folder. None for a variant without large files.
Result<std::vector<PieceFile>> write_pieces(Host& host, const Manifest& manifest,
                                            const Variant& variant, const std::string& archive,
                                            const std::string& folder, Storage& storage);

}  // namespace gpuready::pack
