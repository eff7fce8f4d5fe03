// What gpu_info.h keeps: one inspection of this machine in a process, and the quick answer of
// gpu_available(). inspect_machine() and refresh() are declared there.
#pragma once

#include "base/result.h"
#include "gpuready/machine.h"

namespace gpuready {

enum class FilesSay { no, yes, nothing };  // nothing: a driver must be asked

// Whether a backend is available, from a machine whose files alone were read.
FilesSay availability_by_files(const Machine& machine);

// From what is known already, else from files, else from the whole inspection.
Result<bool> live_gpu_available();

}  // namespace gpuready
