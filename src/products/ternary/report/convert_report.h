// What `ternary convert` did, as a document.
#pragma once

#include <string>

#include "ternary/gguf/gguf_convert.h"

namespace gpuready {

struct ConvertOutcome {
  std::string in, out;
  ternary::FormatId to;
  ternary::gguf::ConvertReport report;
};

}  // namespace gpuready
