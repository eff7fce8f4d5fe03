// diagnose(): from a Machine to its findings. Pure: no I/O, so it runs on a recorded machine.
#pragma once

#include <optional>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"

namespace gpuready {

struct DiagnoseOptions {
  std::optional<int> expected_gpus;  // --require-gpu=N; 1 for a bare --require-gpu
};

// Root causes, most severe first; what a cause explains is folded under it. Empty on a healthy
// machine.
std::vector<Finding> diagnose(const Machine& machine, const DiagnoseOptions& options = {});

// What was lost or changed between an earlier machine and this one: count, models, driver, links,
// ECC, NVLinks, memory.
std::vector<Finding> compare_with_baseline(const Machine& baseline, const Machine& now);

// What happened while tests ran: any increase of ECC counters, remaps, retired pages, PCIe replays,
// NVLink errors, and new Xids.
std::vector<Finding> compare_before_and_after(const Machine& before, const Machine& after);

}  // namespace gpuready
