// What `pack select` decided, as a document and as text.
#pragma once

#include <string>
#include <vector>

#include "pack/store/select.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

struct SelectReport {
  std::string name, version;
  pack::Decision decision;
};
// One line each of what a build for pip leaves out: GPUs that need another build, thus another
// environment, and those that none serves.
std::vector<std::string> pip_notes(const SelectReport& report);
void conclude(const SelectReport& report, Envelope& envelope);
std::string render_terminal(const SelectReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
