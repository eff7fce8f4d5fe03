// Folders, and all above them.
#pragma once

#include <string>

#include "host/storage.h"

namespace gpuready {

// What exists stays as it is. The names survive a loss of power.
Result<void> make_folders(const std::string& path, Storage& storage = live_storage());

}  // namespace gpuready
