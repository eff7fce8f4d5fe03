// What `vm doctor` found, as a document and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/diagnose/console.h"

namespace gpuready {

struct VmDoctorReport {
  std::string side;         // "host", "guest", "console"
  std::size_t devices = 0;  // of a host: that were asked about
  std::vector<Finding> findings = {};
  std::vector<std::string> unseen = {};
  std::optional<std::string> bus_unread = {};     // why: nothing is known of the devices then
  std::optional<vm::ConsoleReport> console = {};  // its findings are in `findings`
};

std::string render_terminal(const VmDoctorReport& report, const TerminalStyle& style);
std::string conclusion(const VmDoctorReport& report);

}  // namespace gpuready
