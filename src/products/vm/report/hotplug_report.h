// What `vm plug` and `vm unplug` did.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "vm/hotplug/hotplug.h"

namespace gpuready {

struct HotPlugReport {
  std::string name;
  std::vector<vm::HotPlugged> devices;
};
std::string render_terminal(const HotPlugReport& report, const TerminalStyle& style);

}  // namespace gpuready
