// This process becomes another program: the last step of an init.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuready {

// execve(2) with our environment; `args` without argv[0]. Returns only when it fails. The program
// may take this many bytes of data (RLIMIT_DATA, which GPU drivers bear: they reserve addresses,
// not data, by the terabyte); 0: no limit.
Error replace_program(const std::string& path, const std::vector<std::string>& args,
                      std::uint64_t data_bytes = 0);

// The same by a command whose program PATH may find, with its name in front. Signals that we ignore
// are not ignored in it.
Error replace_by_command(std::span<const std::string> command);

}  // namespace gpuready
