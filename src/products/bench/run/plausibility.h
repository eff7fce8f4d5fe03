// Whether the times that a stack states can be true, by what the workload needs and by what was
// seen from outside. docs/bench-run.md, "Times that are not believed", states the rule.
#pragma once

#include <optional>
#include <string>

#include "bench/run/answer.h"

namespace gpuready::bench {

// When a process ran, by the monotonic clock in milliseconds; for what is sampled beside it.
struct Span {
  double begin_ms = 0, end_ms = 0;
};

// No device takes less than this for one iteration: the ceilings stand several times above what any
// reaches. `threads`: of the CPU, for that device.
double least_iteration_ns(const Request& request, unsigned threads);

// Marks an answer that is ok as not_believable where its times cannot be true. Its stamps are
// dropped, with a note, where they are of another clock. `process`: its life as seen from outside.
void check_times(Answer& answer, const Request& request, Span process, unsigned threads);

}  // namespace gpuready::bench
