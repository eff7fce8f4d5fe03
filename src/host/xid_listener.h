// Xids as NVML reports them while something else runs, heard by a probe child of its own.
#pragma once

#include <optional>

#include "host/probe_document.h"
#include "host/process.h"

namespace gpuready {

class XidListener {
 public:
  XidListener();  // starts the child; one that cannot be started hears nothing
  // Asks the child to stop and gives what it heard: answered calls "nvmlEventSetWait_v2(N)" with
  // {"pci","xid"}.
  ProbeDocument stop();

 private:
  std::optional<Child> child_;
};

}  // namespace gpuready
