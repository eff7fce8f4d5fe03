#include "device/kernel.h"

#include <fmt/format.h>
#include <zstd.h>

namespace gpuready {

Result<std::string> unpack_image(const unsigned char* begin, const unsigned char* end) {
  const auto bytes = static_cast<std::size_t>(end - begin);
  const auto size = ZSTD_getFrameContentSize(begin, bytes);
  if (size == ZSTD_CONTENTSIZE_ERROR)  // no frame of zstd
    return std::string(reinterpret_cast<const char*>(begin), bytes);
  std::string text(size == ZSTD_CONTENTSIZE_UNKNOWN ? 0 : size, '\0');
  const std::size_t unpacked = ZSTD_decompress(text.data(), text.size(), begin, bytes);
  if (ZSTD_isError(unpacked) || unpacked != text.size())
    return fail(ErrorKind::bad_input,
                fmt::format("an embedded kernel image cannot be unpacked: {}",
                            ZSTD_isError(unpacked) ? ZSTD_getErrorName(unpacked) : "its size"));
  return text;
}

}  // namespace gpuready
