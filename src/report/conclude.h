// conclude(): from what was found to one sentence and one exit code. Pure; the only place that
// decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace gpuready {

struct Requirements {
  std::optional<int> required_gpus = std::nullopt;  // --require-gpu[=N]
  std::vector<std::string> devices = {};  // --device: only these were asked about; empty: all
};

// A GPU that work could be given to as far as is known: bound to its driver, started, not excluded,
// not faked, and no error finding or failed verdict about it.
bool is_usable(const Report& report, const Gpu& gpu);

// Sets report.exit and report.conclusion.
void conclude(Report& report, const Requirements& requirements);

}  // namespace gpuready
