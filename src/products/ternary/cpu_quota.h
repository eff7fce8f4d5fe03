// How much CPU time the cgroups of this process give it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready::ternary {

using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

// CPUs that the tightest quota from the process's own cgroup up to the root allows, rounded up;
// nothing where there is none. Of cgroups version 2 (cpu.max), and else of version 1
// (cpu.cfs_quota_us).
std::optional<unsigned> quota_of(const ReadText& read);

// The same of the live system; the greatest number where there is none.
unsigned cpus_of_quota();

}  // namespace gpuready::ternary
