// What the machine says after the tests that the tests themselves could not see.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "host/probe_document.h"

namespace gpuready {

// Adds to the machine what NVML reported of Xids while the tests ran (an XidListener's document),
// unless its kernel log tells the same Xid of the same GPU as well.
void add_heard_xids(const ProbeDocument& heard, const Machine& before, Machine& after);

// A memory Xid (48, 94, 95) that a GPU reported while its memory was tested turns its verdict into
// failed: ECC corrected or hid from the pattern what the driver nevertheless saw.
void apply_memory_xids(const Machine& before, const Machine& after, std::vector<Verdict>& verdicts);

}  // namespace gpuready
