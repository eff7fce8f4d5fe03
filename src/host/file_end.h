// The end of a file that may be of any size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

struct FileEnd {
  std::string text;                                // whole lines, where something was left out
  std::size_t unread_bytes = 0, unread_lines = 0;  // before it
};

FileEnd end_of(std::string text, std::size_t most_bytes);

// At most the last `most_bytes`; little more memory is used. A pipe or a device is read only where
// the path names an open descriptor (/dev/stdin, /dev/fd/N): a pipe to its end, a device for at
// most 1 GiB (then too_large).
Result<FileEnd> read_file_end(const std::string& path, std::size_t most_bytes);

// Of a file that the caller's environment names and another user may own, such as the summary of a
// CI runner: its size, 0 if it is missing, and more text at its end. Unlike Storage, links are
// followed; a missing file is created.
Result<std::size_t> size_of_named_file(const std::string& path);
Result<void> append_to_named_file(const std::string& path, std::string_view text);

}  // namespace gpuready
