// The CPUs that this process may use.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace gpuready {

// Their numbers in ascending order, by sched_getaffinity(2): what taskset, a batch system or a
// container's cpuset left. Where the system does not tell, all of the machine. Never empty.
std::vector<unsigned> cpus_of_affinity();
// As the kernel writes them: 0, 1, 2, 3 and 8 are "0-3,8".
std::string cpu_list(std::span<const unsigned> ascending);
inline unsigned count_of_affinity() { return static_cast<unsigned>(cpus_of_affinity().size()); }

}  // namespace gpuready
