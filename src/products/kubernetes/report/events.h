// A node as NVSentinel sees it: the faults that make it not ready, and what is without fault.
// Pure.
#pragma once

#include <vector>

#include "kubernetes/health_event.h"
#include "kubernetes/report/condition.h"

namespace gpuready::kubernetes {

// Checks of their own for GPUs and for the node, since an event without entities is about the whole
// check.
inline constexpr std::string_view kGpuCheck = "GpureadyGpuFault";
inline constexpr std::string_view kNodeCheck = "GpureadyNodeFault";

// `condition` is not_ready() of the same report and status, and `report` is absent without a
// driver. Only what is known to be without fault is healthy, so a GPU that was not judged clears
// nothing. Empty if the condition is undetermined.
std::vector<HealthEvent> health_events(const Condition& condition, const Report* report,
                                       const Result<StatusReport>& status);

// A line for each event.
std::string lines_of(const std::vector<HealthEvent>& events);

}  // namespace gpuready::kubernetes
