// Claimed GPUs, for testing what others do with or without one. A fake exists nowhere: it is marked
// in every output and nothing executes on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready {

// Backends named in a list split at comma, semicolon, bar or white space, in a fixed order, each
// once. "gpu" is all of them; "none" or nothing is {"none"}: a machine without a GPU.
Result<std::vector<std::string>> parse_fakes(std::string_view spec);

// Whether a variable that switches something on does: anything but "", "0", "false", "no", "off".
bool is_set(const std::optional<std::string>& value);

// What --fake (`flag`), else GPUREADY_FAKE, else BITNET_GPU_FAKE asks for; empty when none of them
// is given. An error when GPUREADY_STRICT or BITNET_STRICT_NO_FAKE_GPU forbids it, or forbids a
// library that a variable names (named_libraries.h).
Result<std::vector<std::string>> choose_fakes(Host& host, const std::optional<std::string>& flag,
                                              bool is_gpuready = false);

}  // namespace gpuready
