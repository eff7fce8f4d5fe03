// A probe child of its own that watches the GPUs through NVML while something else runs: hears Xids
// and samples clocks, power, temperatures and counters.
#pragma once

#include <optional>

#include "host/probe_document.h"
#include "jobs/running_job.h"

namespace gpuready {

class XidListener {
 public:
  XidListener();  // starts the child; one that cannot be started hears nothing
  // Asks the child to stop and gives what it heard: answered calls "nvmlEventSetWait_v2(N)" with
  // {"pci","xid","at_ms"}, and "series(GPU,NAME)" with what was sampled.
  ProbeDocument stop();

 private:
  std::optional<RunningJob> child_;
};

}  // namespace gpuready
