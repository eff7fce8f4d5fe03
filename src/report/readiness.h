// When the verdicts about a GPU make it ready. Pure, and the one place that decides it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

std::vector<const Verdict*> verdicts_about(std::span<const Verdict> verdicts, const Gpu& gpu);

// All that was to be tested ran on the GPU and passed. What no device of its kind has (tensor
// cores, peers) does not count, but memory and compute are never among that; and what is derived
// from other figures (clocks) proves nothing where no test passed.
bool proves_ready(std::span<const Verdict* const> verdicts);

// Memory and compute both ran and passed: less was asked for where they did not.
bool ran_core_tests(std::span<const Verdict* const> verdicts);

// "fp8 e4m3 mma": the parts of the tests that could not be done here, without their reasons.
std::vector<std::string> parts_not_judged(std::span<const Verdict* const> verdicts);

}  // namespace gpuready
