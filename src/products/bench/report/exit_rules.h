// Exit codes of `gpuready bench`.
#pragma once

#include <span>
#include <string>

#include "bench/compare/promote.h"
#include "report/exit_rules.h"

namespace gpuready {

Exit exit_of(const bench::Comparison& comparison);
Exit exit_of(const bench::Promotion& promotion);

struct BenchRun {
  const bench::RunRecord& run;
  std::span<const std::string> named;  // stacks, on the command line
  bool sick = false;                   // the GPU, by our own check
};
Exit exit_of(const BenchRun& outcome);

}  // namespace gpuready
