// What GPUs of the same model in one machine tell about each other: who is slower than the rest,
// and whose results differ. Pure.
#pragma once

#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Takes the verdicts of all tests.
// - Rates ("/s") of one test and name: a GPU below 0.95 of the median of its siblings is a finding
//   ("slower-than-siblings"). Pairs are compared with pairs of the same models and kind of path.
//   What depends on the host more than on the GPU (pageable memory, NUMA nodes) is not compared.
// - Digests of one test and name: who differs from the majority has failed by vote; where there is
//   none (two that differ, say), all are inconclusive. A verdict that failed already stays as it
//   is.
std::vector<Finding> compare_siblings(const Machine& machine, std::vector<Verdict>& verdicts);

}  // namespace gpuready
