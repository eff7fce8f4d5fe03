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

// Whether the node is ready, and what says so. `report` is empty if the driver's container does
// not run.
struct JudgedNode {
  std::optional<Report> report;
  Result<StatusReport> status;
  Condition condition;
};
// Of a look that may have failed: where the driver has a root of its own, it is a problem of the
// node if nothing is found below that, and no mistake of who asks.
Result<JudgedNode> judge_node(Result<Report> look, Result<StatusReport> status,
                              const std::optional<std::string>& driver_root);

// How long inspection may take at first, which adds time for each GPU: node-problem-detector kills
// what takes 30 s in the configuration that is installed. `asked`: in all, as the user wants it.
double look_seconds(std::optional<double> asked, std::size_t gpus);

}  // namespace gpuready::kubernetes
