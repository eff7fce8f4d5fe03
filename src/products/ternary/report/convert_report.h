// What `ternary convert` did, as a document.
#pragma once

#include <string>

#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_identify.h"

namespace gpuready {

struct ConvertOutcome {
  std::string in, out;
  std::vector<ternary::gguf::LikelyLayout> assumed;  // of tensors whose layout was not named
  ternary::gguf::ConvertReport report;
};

}  // namespace gpuready
