// Writing ustar archives (POSIX.1-1988): regular files alone, always the same bytes for the same
// content. libarchive reads them; its writer would link every archive format that it knows.
#pragma once

#include <string>
#include <string_view>

namespace gpuready {

// Whether the format can hold this name: at most 255 bytes, split at a '/' into 155 and 100.
bool tar_name_fits(std::string_view name);
// Appends one file: owner root, mode 0644, time 0. The name must fit; content below 8 GiB.
void append_tar_file(std::string& tar, std::string_view name, std::string_view content);
void append_tar_end(std::string& tar);

}  // namespace gpuready
