#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuready::ternary {

struct HostMemory {
  std::uint64_t used_bytes = 0, total_bytes = 0;
};
// Nothing where the system does not tell.
std::optional<HostMemory> host_memory();
// Of the text of /proc/meminfo: MemTotal less MemAvailable.
std::optional<HostMemory> parse_meminfo(std::string_view text);

}  // namespace gpuready::ternary
