// Folders, and all above them.
#pragma once

#include <cstdint>
#include <string>

#include "host/storage.h"

namespace gpuready {

// What exists stays as it is; what is made has `mode`, less the process's mask. The names survive a
// loss of power.
Result<void> make_folders(const std::string& path, Storage& storage = live_storage(),
                          std::uint32_t mode = 0755);

}  // namespace gpuready
