// What `pack env` found, as a document and as text.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

struct EnvReport {
  std::vector<std::string> folders;                           // with libraries
  std::vector<std::pair<std::string, std::string>> shadowed;  // name, the system's path
  // Of --check.
  bool checked = false;
  std::optional<std::string> change;   // of the machine since
  std::optional<std::string> variant;  // that is right now
  bool right = true;                   // it is the one that is installed
  std::string again;                   // the command that installs it
};
void conclude(const EnvReport& report, Envelope& envelope);
Json to_json(const EnvReport& report, const Envelope& envelope);  // schema/pack-env
std::string render_terminal(const EnvReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
