// What two GPUs that NVLink joins must reach of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpuready/verdict.h"

namespace gpuready {

struct PeerRateFacts {
  int capability = 0;        // of both: 90 for 9.0
  std::optional<int> links;  // NVLinks between the two, or from either to the switches
};
// Gives the best rate of each direction its threshold, where one is known; says which are below.
std::vector<std::string> judge_peer_rates(std::vector<Metric>& metrics, const PeerRateFacts& facts);

}  // namespace gpuready
