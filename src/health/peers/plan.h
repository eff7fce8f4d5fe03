// Which pairs of GPUs are tested, and which at the same time.
#pragma once

#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "health/worker/job.h"

namespace gpuready {

struct UntestedGpu {
  const Gpu* gpu;
  std::string reason;
};

struct PairPlan {
  // Pairs that share no GPU run at the same time, each in one child.
  std::vector<std::vector<TestJob>> waves;
  std::vector<Verdict> not_run;
};

// `singles` are jobs of one device each; MIG instances have no peers and are left out. Pairs with a
// GPU that is not tested are reported; that there is no second GPU only where the test was `named`.
PairPlan plan_pairs(const Machine& machine, const HealthTest& test,
                    const std::vector<TestJob>& singles, const std::vector<UntestedGpu>& untested,
                    bool named);

// "NVLink, 18 links", "NVLink through NVSwitch, 18 links", "PCIe, same switch"; nothing where it is
// not known.
std::optional<std::string> name_path(const Machine& machine, int gpu_a, int gpu_b);

}  // namespace gpuready
