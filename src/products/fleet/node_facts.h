// The facts by which siblings are compared. A new one is a row of a table.
#pragma once

#include "fleet/node_report.h"
#include "gpuready/machine.h"

namespace gpuready::fleet {

inline constexpr std::string_view kGpuCount = "GPUs";  // the fact

// Sets `model`, `gpus`, `facts` and the rates that are not measured, such as memory.
void read_facts(const Machine& machine, NodeReport& out);

}  // namespace gpuready::fleet
