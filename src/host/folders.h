// Folders, and all above them.
#pragma once

#include <cstdint>
#include <string>

#include "host/host.h"
#include "host/storage.h"

namespace gpuready {

// What exists stays as it is; what is made has `mode`, less the process's mask. The names survive a
// loss of power.
Result<void> make_folders(const std::string& path, Storage& storage = live_storage(),
                          std::uint32_t mode = 0755);

// A file, a link (which is not followed) or a folder with all that it holds; none is not an error.
Result<void> remove_tree(Host& host, Storage& storage, const std::string& path);

}  // namespace gpuready
