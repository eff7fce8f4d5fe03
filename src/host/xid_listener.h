// A probe child of its own that watches the GPUs through NVML while something else runs: hears Xids
// and samples clocks, power, temperatures and counters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/probe_document.h"
#include "jobs/running_job.h"

namespace gpuready {

class XidListener {
 public:
  // Starts the child, for the GPUs at these PCI addresses or for all; one that cannot be started
  // hears nothing.
  explicit XidListener(const std::vector<std::string>& only = {});
  // Asks the child to stop and gives what it heard: answered calls "nvmlEventSetWait_v2(N)" with
  // {"pci","xid","at_ms"}, and "series(GPU,NAME)" with what was sampled.
  ProbeDocument stop();
  // What the child runs; it has no limit of time.
  static Job job(const std::vector<std::string>& only);

 private:
  std::optional<RunningJob> child_;
};

}  // namespace gpuready
