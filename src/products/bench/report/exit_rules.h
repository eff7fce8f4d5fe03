// Exit codes of `gpuready bench`.
#pragma once

#include <optional>
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
// What another machine said of its run, in its document.
Exit exit_elsewhere(const Result<Envelope>& told);
// The command's, `elsewhere` or by the rules of this machine.
Exit exit_of_run(const BenchRun& outcome, std::optional<Exit> elsewhere);
// Of a run that could not be kept.
constexpr int exit_unkept(int code) {
  return code == static_cast<int>(Exit::unhealthy) ? code : static_cast<int>(Exit::usage);
}
// Of what kept a run from being made.
Exit exit_of_run_error(ErrorKind kind);

}  // namespace gpuready
