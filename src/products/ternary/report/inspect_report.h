// What `ternary inspect` found in a GGUF file, as a document and as text.
#pragma once

#include <string>

#include "report/report.h"
#include "ternary/gguf/gguf_inspect.h"
#include "value/envelope.h"

namespace gpuready {

struct InspectReport {
  std::string path;
  const ternary::gguf::File* file;
  ternary::gguf::FileReport found;
};
std::string render_terminal(const InspectReport& report, const TerminalStyle& style);

// The part of a tensor's codes, undefined ones included.
double share(std::uint64_t part, const ternary::gguf::Census& census);

}  // namespace gpuready
