// What `pack env` found, as a document and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

struct ShadowedLibrary {
  std::string name, system;  // the system's path
};
// What --check is about, if it is given.
enum class EnvCheck { none, this_machine, another_machine };
struct EnvReport {
  std::vector<std::string> folders = {};  // with libraries
  std::vector<ShadowedLibrary> shadowed = {};
  EnvCheck checks = EnvCheck::none;
  std::optional<std::string> change = {};   // of this machine since
  std::optional<std::string> variant = {};  // that is right for the machine
  bool right = true;                        // it is the one that is installed
  std::string again = {};                   // the command that installs it
};
void conclude(const EnvReport& report, Envelope& envelope);
std::string render_terminal(const EnvReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
