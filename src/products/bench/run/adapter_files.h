// The embedded adapters as files, so that they can be run and read.
#pragma once

#include <string>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::bench {

// Writes adapter_files() into RESULTS/adapters-<16 hexadecimal digits of their SHA-256>, unless
// they are there already as they are, and gives that folder as an absolute path. Where another user
// could change what is there, they are written into the caller's own cache folder instead.
Result<std::string> place_adapters(const std::string& results, Host& host,
                                   Storage& storage = live_storage());

// The absolute path of a folder that has adapters' scripts; an error for another one.
Result<std::string> adapters_in(const std::string& folder, Host& host);

}  // namespace gpuready::bench
