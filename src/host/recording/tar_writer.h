// Writing ustar archives (POSIX.1-1988): regular files and symbolic links, always the same bytes
// for the same content. libarchive reads them; its writer would link every archive format that it
// knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuready {

// Whether the format can hold this name: at most 255 bytes, split at a '/' into 155 and 100.
bool tar_name_fits(std::string_view name);
// Of a file without a link's text, else of a symbolic link; owner root, time 0. The name must fit,
// and a link's text in 100 bytes. A size from 8 GiB on is written as GNU tar does (base 256).
struct TarEntry {
  std::string_view name;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0644;
  std::string_view link = {};
  char type = '\0';  // another one than these two
};
inline constexpr std::size_t kTarBlock = 512, kTarLinkBytes = 100;
std::string tar_header(const TarEntry& entry);  // one block; the content follows, filled up to one
// A whole entry as GNU tar writes it: the name of the one that follows, whose own does not fit.
std::string tar_long_name(std::string_view name);
inline std::size_t tar_padding(std::uint64_t size_bytes) {
  return (kTarBlock - size_bytes % kTarBlock) % kTarBlock;
}
// Appends one file: owner root, mode 0644, time 0. The name must fit; content below 8 GiB.
void append_tar_file(std::string& tar, std::string_view name, std::string_view content);
void append_tar_end(std::string& tar);

}  // namespace gpuready
