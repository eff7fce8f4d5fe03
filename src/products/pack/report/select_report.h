// What `pack select` decided, as a document and as text.
#pragma once

#include <string>

#include "pack/store/select.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

struct SelectReport {
  std::string name, version;
  pack::Decision decision;
};
void conclude(const SelectReport& report, Envelope& envelope);
std::string render_terminal(const SelectReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
