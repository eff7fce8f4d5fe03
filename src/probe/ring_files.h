// The files that an io_uring holds beside descriptors: those that are registered with it, and those
// of requests that have not ended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

struct RingFiles {
  std::vector<std::string> registered;  // paths, as the kernel writes them
  std::string unknown;                  // why there may be others; empty: there are none
};
// Of /proc/PID/fdinfo/N (Linux, io_uring_show_fdinfo). Linux before 5.16 does not count requests,
// one before 6.12 shows only the last parts of paths, and none while the ring is busy.
RingFiles ring_files(std::string_view fdinfo);

}  // namespace gpuready
