// What `ternary inspect` found in a GGUF file, as a document and as text.
#pragma once

#include <string>

#include "report/envelope.h"
#include "report/report.h"
#include "ternary/gguf_inspect.h"

namespace gpuready {

Json to_json(const std::string& path, const ternary::gguf::File& file,
             const ternary::gguf::FileReport& report,
             const Envelope& envelope);  // schema/ternary-inspect
std::string render_terminal(const ternary::gguf::File& file,
                            const ternary::gguf::FileReport& report, const TerminalStyle& style);

}  // namespace gpuready
