// conclude(): from what was found about a machine to one sentence, and to the numbers that
// exit_rules.h decides by. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/gpu_use.h"
#include "report/obligations.h"
#include "report/policy.h"
#include "report/report.h"

namespace gpuready {

struct Requirements {
  std::optional<int> required_gpus = std::nullopt;  // --require-gpu[=N]
  std::vector<std::string> devices = {};  // --device: only these were asked about; empty: all
  bool test_gpus = true;                  // false: the user asked for no test of a GPU
  Asked asked = {};                       // of the GPUs that are tested
  Policy policy = {};                     // what must be here
  bool trust_named_libraries = false;     // results by them count as the system driver's
};

// One entry a GPU: may work be given to it? What the machine tells (access_to in
// machine/gpu_use.h), then error findings, failed verdicts and broken obligations of it. A report
// without findings is diagnosed for this, so that `detect` counts as `doctor` does.
std::vector<GpuAccess> usability(const Report& report);

// Those of usability() that are usable.
std::vector<bool> usable_gpus(const Report& report);

// Sets report.exit, report.conclusion and report.obligations.
void conclude(Report& report, const Requirements& requirements);

}  // namespace gpuready
