// What `pack inspect` found, as a document and as text.
#pragma once

#include <string>

#include "pack/code/inspect.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

Json to_json(const pack::Inspection& inspection, const Envelope& envelope);  // schema/pack-inspect
// `details`: also what each library needs of the system, and where its code stands.
std::string render_terminal(const pack::Inspection& inspection, const TerminalStyle& style,
                            bool details);

}  // namespace gpuready
