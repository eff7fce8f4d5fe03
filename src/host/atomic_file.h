// Writing a file so that it is whole or untouched.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// Writes a temporary file in the same folder, syncs it and renames it over `path`. On any failure
// the old file is untouched and the temporary one removed. A symbolic link is followed; anything
// that is no regular file (a device, a folder) is refused, since renaming would replace it.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace gpuready
