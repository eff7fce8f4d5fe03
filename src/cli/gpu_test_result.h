// What the gpu_test contract says of a machine: pure, from what was found and what was tested.
#pragma once

#include <string>

#include "cli/gpu_test_text.h"
#include "report/report.h"

namespace gpuready::cli {

// The GPUs are NVML's, by its indices: in a container these are the GPUs that it was given, however
// many the bus shows. An index whose handle NVML refuses belongs to the next lost GPU, in the order
// of PCI addresses, in which the driver counts. Error numbers and texts are CUDA's and NVML's; what
// no driver gave a number for (a wrong word, a missed deadline) is CUDA_ERROR_UNKNOWN with our
// text.
// GPUs that CUDA_VISIBLE_DEVICES hides from the caller are left out. One that passed its tests
// fails where an obligation of the quick level is broken, or owed and not judged; what is degraded
// is a note. The report is concluded.
// What a library that a variable names has passed is a failure, unless it is trusted.
GpuTestResult gpu_test_result(const Report& report, bool trust_named_libraries = false);

// Where the machine could not be looked at.
GpuTestResult gpu_test_without_answer(std::string kernel_release, std::string why);

}  // namespace gpuready::cli
