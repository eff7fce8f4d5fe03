// What `vm args` tells.
#pragma once

#include <string>

#include "report/report.h"
#include "vm/guest_args.h"

namespace gpuready {

struct ArgsReport {
  vm::Hypervisor hypervisor;
  vm::GuestArgs args;
};
// To be copied: one line of arguments, or XML. Notes are comments of the shell or of XML.
std::string render_terminal(const ArgsReport& report, const TerminalStyle& style);

}  // namespace gpuready
