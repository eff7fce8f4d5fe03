// Who is slower than the other GPUs of the same model. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

// GPUs are siblings when their models are the same: name and memory. For a pair, both models and
// the path between them. Nothing for what is not a whole GPU (a MIG instance, the host).
std::optional<std::string> sibling_model(const Machine& machine, const Verdict& verdict);

// "slower-than-siblings": a finding for each GPU and cause (its memory, its SMs, its link to the
// host, its links to other GPUs), with every metric that shows it. A GPU that is slow in more than
// one pair is reported once. Compared are rates that no one else had a share in while they were
// measured:
//   memory, SMs        below 0.95 of the median of the others
//   links to others    the same; over NVLink, xGMI or one PCIe switch alone, because pairs that
//                      share a host bridge are measured at the same time
//   link to the host   below 0.90 one way and 0.80 both ways: the host's memory, which lies nearer
//                      to some GPUs than to others, has a part in it
// An error below 0.75 of it, but for links to the host; a warning else.
// Pageable memory, single NUMA nodes and copies of all GPUs together are not compared.
std::vector<Finding> find_slower_siblings(const Machine& machine,
                                          const std::vector<Verdict>& verdicts);

}  // namespace gpuready
