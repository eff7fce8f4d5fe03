// Which of the bandwidth test's rates are judged, and by what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "gpuready/verdict.h"
#include "health/bandwidth/link_facts.h"

namespace gpuready {

struct RateFacts {
  const DeviceInfo& device;
  bool shared = false;                     // others may use the GPU
  const std::optional<LinkFacts>& link;    // under load
  bool real_link = true;                   // not what a virtual machine shows
  std::uint64_t host_bytes, device_bytes;  // copied at once
  PcieLink most = {};                      // of the GPU's link, as NVML told it
  std::optional<std::string> excuse = {};  // why copies cannot be held to the link
};

struct RateJudgement {
  std::vector<std::string> below;    // rates that are less than they must be
  std::vector<std::string> unclear;  // what may be less than it must be
  std::vector<std::string> notes;    // what is not judged, and why
};
// Gives the metrics the thresholds that can be derived.
RateJudgement judge_rates(std::vector<Metric>& metrics, const RateFacts& facts);

}  // namespace gpuready
