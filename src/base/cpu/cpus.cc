#include "base/cpu/cpus.h"

#include <algorithm>
#include <numeric>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace gpuready {

std::vector<unsigned> cpus_of_affinity() {
  std::vector<unsigned> cpus;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
#endif
  if (cpus.empty()) {
    cpus.resize(std::max(1u, std::thread::hardware_concurrency()));
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  return cpus;
}

std::string cpu_list(std::span<const unsigned> ascending) {
  std::string text;
  for (std::size_t first = 0, next = 0; first < ascending.size(); first = next) {
    for (next = first + 1; next < ascending.size() && ascending[next] == ascending[next - 1] + 1;)
      ++next;
    if (!text.empty()) text += ',';
    text += std::to_string(ascending[first]);
    if (next - first > 1) text += '-' + std::to_string(ascending[next - 1]);
  }
  return text;
}

}  // namespace gpuready
