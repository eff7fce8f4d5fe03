// Pieces of large files that are cut by their content, so that what is inserted or removed changes
// the pieces around it and no others: an update fetches those that no installed file holds.
//
// An archive cut into such pieces would be up to twice as large (ONNX Runtime's CUDA provider),
// since pieces repeat each other. So a release has a file of pieces beside each archive: zstd
// frames of what earlier releases lack, and an index of all pieces, which the next release is
// compared with.
//
// The cuts are FastCDC's (Xia et al., USENIX ATC 2016): a rolling sum over the last 64 bytes, which
// ends a piece rarely before the usual length, and often after it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::pack {

inline constexpr std::size_t kUsualCutBytes = 32u << 10;
inline constexpr std::size_t kLeastCutBytes = kUsualCutBytes / 4,
                             kMostCutBytes = kUsualCutBytes * 4;
// Smaller files are not cut: they are fetched whole.
inline constexpr std::uint64_t kLeastCutFile = 1u << 20;
// Content of a frame, so that pieces that lie side by side are compressed together.
inline constexpr std::size_t kMostFrameContent = 1u << 20;

// The length of the piece that these bytes, the rest of a file, begin with.
std::size_t cut_length(std::string_view rest);

struct Cut {
  std::string digest;  // the first 16 bytes of the SHA-256 of its content
  std::uint32_t bytes = 0;
};
Cut cut_of(std::string_view content);

// Pieces that follow each other in a file: in one frame of the file of pieces, or in none.
struct CutRun {
  std::vector<Cut> cuts;
  std::uint64_t offset_bytes = 0, frame_bytes = 0;
  std::uint64_t content_bytes() const;
};

// The runs of each large file of a variant, by the file's SHA-256.
using CutIndex = std::map<std::string, std::vector<CutRun>>;

// The index is the end of the file of pieces, after `frames_bytes` of frames. Whatever the bytes
// hold, the runs of what is returned lie before it, and unpack to at most kMostFrameContent.
std::string cut_index_text(const CutIndex& index);
Result<CutIndex> parse_cut_index(std::string_view text, std::uint64_t frames_bytes,
                                 const std::string& name);
// Of a whole file of pieces: how many of its last bytes are the index; 0: it has no index.
std::uint64_t cut_index_bytes(std::string_view file);

}  // namespace gpuready::pack
