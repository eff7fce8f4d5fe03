// What `pack inspect` found, as a document and as text.
#pragma once

#include <string>

#include "pack/code/inspect.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

// `details`: also what each library needs of the system, and where its code stands.
std::string render_terminal(const pack::Inspection& inspection, const TerminalStyle& style,
                            bool details);

}  // namespace gpuready
