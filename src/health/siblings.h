// What GPUs of the same model in one machine tell about each other: who is slower than the rest,
// and whose results differ. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

inline constexpr std::string_view kDiffersFromSiblings = "differs-from-siblings";
inline constexpr std::string_view kSlowerThanSiblings = "slower-than-siblings";

// Whether a rate is the GPU's own and was measured for long enough to be compared with those of
// other GPUs of its model.
bool is_comparable(const Verdict& verdict, const Metric& metric);

// Takes the verdicts of all tests.
// - Rates: find_slower_siblings() (siblings.cc), without the GPUs of `shared`, by index, which
//   others used meanwhile.
// - Digests of one test and name: who differs from the majority has failed by vote; where there is
//   none (two that differ, say), all are inconclusive. A verdict that failed already stays as it
//   is.
std::vector<Finding> compare_siblings(const Machine& machine, std::vector<Verdict>& verdicts,
                                      const std::vector<int>& shared = {});

}  // namespace gpuready
