// What `pack select` decided, as a document and as text.
#pragma once

#include <string>

#include "pack/store/select.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

struct SelectReport {
  std::string name, version;
  pack::SelectMachine machine;
  pack::Selection selection;
};
void conclude(const SelectReport& report, Envelope& envelope);
Json to_json(const SelectReport& report, const Envelope& envelope);  // schema/pack-select
// The part of a document that explains a choice.
Json to_json(const pack::Selection& selection, const pack::SelectMachine& machine);
std::string render_terminal(const SelectReport& report, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
