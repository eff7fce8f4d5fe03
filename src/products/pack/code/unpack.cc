#include "pack/code/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <memory>

namespace gpuready::pack {
namespace {

constexpr int kMostWindowLog = 27;  // 128 MiB would be too much; frames of code have 8 MiB at most

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};
// One for each thread: making one costs more than most pieces.
ZSTD_DStream* zstd_stream() {
  thread_local const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  return stream.get();
}

// A length of LZ4: 4 bits, and where these are all set more bytes, until one is not 255.
std::optional<std::size_t> lz4_length(Bytes packed, std::size_t& at, std::size_t start) {
  if (start != 15) return start;
  std::size_t length = start;
  while (at < packed.size()) {
    const std::uint8_t more = packed[at++];
    length += more;
    if (more != 255) return length;
  }
  return std::nullopt;
}

}  // namespace

// LZ4 block format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
Unpacked unpack_lz4_block(Bytes packed, std::size_t most) {
  Unpacked out(most);
  std::size_t end = 0;
  for (std::size_t at = 0; at < packed.size() && end < most;) {
    const std::uint8_t token = packed[at++];
    const auto literals = lz4_length(packed, at, token >> 4);
    if (!literals || *literals > packed.size() - at) break;
    const auto take = std::min(*literals, most - end);
    std::copy_n(packed.begin() + at, take, out.begin() + end);
    at += *literals;
    end += take;
    const auto distance = load<std::uint16_t>(packed, at);
    if (!distance) break;  // the last sequence has none
    at += 2;
    auto length = lz4_length(packed, at, token & 15);
    if (!length || *distance == 0 || *distance > end) break;
    length = std::min(*length + 4, most - end);
    // Where it overlaps with itself, what was just written is copied again.
    for (std::size_t i = 0; i < *length; ++i, ++end) out[end] = out[end - *distance];
  }
  out.resize(end);
  return out;
}

Unpacked unpack_zstd(Bytes packed, std::size_t most) {
  ZSTD_DStream* stream = zstd_stream();
  if (stream == nullptr) return {};
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) return {};
  if (size != ZSTD_CONTENTSIZE_UNKNOWN) most = std::min<std::size_t>(most, size);
  Unpacked out(most);
  (void)ZSTD_DCtx_reset(stream, ZSTD_reset_session_only);
  (void)ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, kMostWindowLog);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size && in.pos < in.size) {
    const std::size_t before = to.pos, read = in.pos;
    const std::size_t more = ZSTD_decompressStream(stream, &to, &in);
    if (ZSTD_isError(more) != 0 || more == 0 || (to.pos == before && in.pos == read)) break;
  }
  out.resize(to.pos);
  return out;
}

Unpacked unpack_zlib(Bytes packed, std::size_t most) {
  Unpacked out(most);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return {};
  stream.next_in = const_cast<std::uint8_t*>(packed.data());
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), UINT_MAX));
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(most, UINT_MAX));
  (void)inflate(&stream, Z_SYNC_FLUSH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::optional<std::uint64_t> zstd_frame_bytes(Bytes packed) {
  const std::size_t size = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
  if (ZSTD_isError(size) != 0) return std::nullopt;
  return size;
}

}  // namespace gpuready::pack
