// What `ternary convert` did, as a document.
#pragma once

#include <string>

#include "report/envelope.h"
#include "ternary/gguf_convert.h"

namespace gpuready {

struct ConvertPaths {
  std::string in, out;
  ternary::FormatId to;
};
Json to_json(const ConvertPaths& paths, const ternary::gguf::ConvertReport& report,
             const Envelope& envelope);  // schema/ternary-convert

}  // namespace gpuready
