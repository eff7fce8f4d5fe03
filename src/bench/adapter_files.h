// The embedded adapters as files, so that they can be run and read.
#pragma once

#include <string>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::bench {

// Writes adapter_files() into FOLDER/adapters-<16 hexadecimal digits of their SHA-256>, unless they
// stand there already as they are, and gives that folder as an absolute path.
Result<std::string> place_adapters(const std::string& folder, Host& host,
                                   Storage& storage = live_storage());

}  // namespace gpuready::bench
