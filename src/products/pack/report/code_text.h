// Device code and what becomes of it on a GPU, in words.
#pragma once

#include <string>
#include <vector>

#include "pack/code/file_report.h"
#include "pack/rules/explain.h"

namespace gpuready {

// "sm_80, sm_90a, compute_90 (PTX 8.5)", each once; stubs and what must be linked first are left
// out.
std::string targets_text(const pack::FileReport& file);
// "all 185 modules", "85 of 185 modules", "none of 185 modules", "no device code"
std::string runs_text(const pack::FileAnswer& answer);

}  // namespace gpuready
