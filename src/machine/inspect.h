// inspect(): one Machine from every source, in tiers. Files always; the rest as asked.
#pragma once

#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

struct InspectOptions {
  bool libraries = true;                // NVML; false: files only, nothing is loaded or started
  bool full = false;                    // also the CUDA driver, Vulkan, ROCm, Level Zero, tools
  bool kernel_log = false;              // read it (full implies it)
  bool counters = false;                // every counter that NVML has (full implies it)
  std::vector<std::string> fakes = {};  // backends to claim, already parsed (fake.h)
  bool is_gpuready = false;  // this process is the program, not one that uses the library
  std::chrono::milliseconds probe_timeout{30'000};  // plus 10 s for each GPU
  std::chrono::milliseconds most_probe_timeout = std::chrono::milliseconds::max();  // in all
};

Machine inspect(Host& host, const InspectOptions& options);

// Whether a variable of this process may hide GPUs that the machine has.
bool hides_gpus(const Visibility& visibility);
// The variables that may.
std::vector<std::string> hiding_variables();

}  // namespace gpuready
