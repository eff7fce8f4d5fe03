// What `vm initrd` wrote, as a document and on a terminal.
#pragma once

#include <string>

#include "report/report.h"
#include "vm/initrd/initrd.h"

namespace gpuready {

struct InitrdOutcome {
  std::string path;
  vm::InitrdReport report;
};
std::string render_terminal(const InitrdOutcome& outcome, const TerminalStyle& style);

}  // namespace gpuready
