// What a verdict is about.
#pragma once

#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Of this GPU, of a MIG instance of it (by its address), or of a pair that it is one of.
bool is_about(const Verdict& verdict, const Gpu& gpu);

}  // namespace gpuready
