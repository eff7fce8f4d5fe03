// When the kernel logged what findings quote, and which processes the quoted Xids name.
#pragma once

#include <vector>

#include "gpuready/finding.h"

namespace gpuready::doctor {

// Sets `logged` of these findings, and of those folded under them.
void add_log_times(std::vector<Finding>& findings, const Machine& machine);

}  // namespace gpuready::doctor
