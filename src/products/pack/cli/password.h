// Passwords: from a file, or typed at the terminal. Never from an argument or a variable, which
// others on the machine can read.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::cli {

// The first line of the file ("-": standard input), else what is typed at the terminal without
// being shown. `twice`: typed again, to be sure.
Result<std::string> read_password(Host& host, const std::optional<std::string>& file,
                                  const std::string& prompt, bool twice);

}  // namespace gpuready::cli
