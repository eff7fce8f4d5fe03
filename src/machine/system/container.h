// Parsers behind read_container(): cgroup files of both versions (Linux,
// Documentation/admin-guide).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

struct CgroupPaths {                       // from /proc/self/cgroup
  std::optional<std::string> unified;      // "0::/path": version 2
  std::optional<std::string> memory, cpu;  // version 1 controllers
};
CgroupPaths parse_cgroup_paths(std::string_view text);

// Parts of a path that some rule knows a runtime or a job by; with "/" before, where a part begins.
std::vector<std::string_view> cgroup_markers();

// The known folder of a runtime that the layers of the root's overlay lie below, by mountinfo;
// empty: none does.
std::string_view layers_folder(std::string_view mounts);
// Whether a user namespace's uid_map gives a system its own users, as of an unprivileged LXC; one
// for a single program maps few.
bool maps_whole_system(std::string_view uid_map);

// memory.max, memory.limit_in_bytes: nothing for "max" and for version 1's "no limit", which is the
// greatest signed 64-bit number rounded down to a page.
std::optional<std::uint64_t> parse_memory_limit(std::string_view text);
// cpu.max "200000 100000" -> 2.0; nothing for "max ...".
std::optional<double> parse_cpu_max(std::string_view text);
// "/a/b" -> {"/a/b", "/a", "/"}; at most 64 levels. ".." and "." never leave the hierarchy.
std::vector<std::string> cgroup_ancestors(std::string_view path);
// A "key value" line of memory.stat.
std::optional<std::uint64_t> parse_stat(std::string_view text, std::string_view key);

// The memory that the machine has left, or that its control group's limit leaves, if that is less.
std::optional<std::uint64_t> available_memory_bytes(const Machine& machine);

}  // namespace gpuready
