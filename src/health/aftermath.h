// What the machine says after the tests that the tests themselves could not see.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

// A memory Xid (48, 94, 95) that a GPU reported while its memory was tested turns its verdict into
// failed: ECC corrected or hid from the pattern what the driver nevertheless saw.
void apply_memory_xids(const Machine& before, const Machine& after, std::vector<Verdict>& verdicts);

}  // namespace gpuready
