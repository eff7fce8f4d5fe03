// The conditions of a node, in the form that node-problem-detector's custom plugins have: an exit
// code and one line of at most 80 bytes. Pure.
#pragma once

#include <optional>
#include <string>

#include "report/kept_results.h"
#include "report/report.h"

namespace gpuready::kubernetes {

// Whether the problem that the condition names exists: `False`, `True` and `Unknown` of the node's
// condition. (exit_rules.h gives the codes.)
enum class Problem { none, exists, undetermined };

struct Condition {
  Problem problem = Problem::undetermined;
  std::string
      line;  // printable ASCII; without ages and counters, so that it changes with the cause
};

// GpuNotReady: a GPU is unusable, a cause of an error is known, or the latest test failed. `report`
// was concluded as doctor's is. A driver that does not answer is a problem, not an unknown.
Condition not_ready(const Report& report, const Result<StatusReport>& status);

// GpuNotReady of a node whose driver is not below the root that was named.
Condition without_driver(std::string_view root);

// GpuUntested: no test that counts now has proven every GPU. A condition of its own, since
// node-problem-detector shows Unknown as healthy: what cannot be read is untested.
Condition untested(const Result<StatusReport>& status);

}  // namespace gpuready::kubernetes
