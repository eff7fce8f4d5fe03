// diagnose(): from a Machine to its findings. Pure: no I/O, so it runs on a recorded machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"

namespace gpuready {

// The finding that --require-gpu is not met. It tells what was asked for and no fault, so it counts
// as no error.
inline constexpr std::string_view kExpectedGpuCount = "expected-gpu-count";

struct DiagnoseOptions {
  std::optional<int> expected_gpus;  // --require-gpu=N; 1 for a bare --require-gpu
  bool compute_asked = false;        // by a test, or by naming a GPU: displays are then not enough
};

// Root causes, most severe first; what a cause explains is folded under it. Empty on a healthy
// machine.
std::vector<Finding> diagnose(const Machine& machine, const DiagnoseOptions& options = {});

// Of all that the functions here can find, as docs/findings.md lists them; "xid-N" for any Xid.
std::vector<std::string> finding_ids();

// An error that concerns this GPU, here or folded under it. One about the whole machine blames no
// GPU: those that it keeps from work say so themselves (access_to in machine/gpu_use.h).
bool blames(const Finding& finding, const Gpu& gpu);

// What was lost or changed between an earlier machine and this one: count, models, driver, links,
// ECC, NVLinks, memory.
std::vector<Finding> compare_with_baseline(const Machine& baseline, const Machine& now);

// What happened while tests ran, in this time: any increase of ECC counters, remaps, retired pages,
// PCIe replays, NVLink errors, and new Xids. Corrected errors and replays are errors where they
// rise faster than they may (counter_limits()).
std::vector<Finding> compare_before_and_after(const Machine& before, const Machine& after,
                                              double seconds = 0);

}  // namespace gpuready
