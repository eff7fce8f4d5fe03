#pragma once

#include <string_view>

#include "base/json.h"
#include "ternary_device/verify.h"

namespace gpuready::ternary {

struct DocumentLabels {
  std::string tool_version, created_utc;
};
Json to_json(const VerifyReport& report, const DocumentLabels& labels);  // schema/ternary-verify
// The subjects, checks and tensors of such a document, as a child process wrote it. Nothing where
// it is not one.
std::optional<VerifyReport> read_verify_report(const Json& document);

}  // namespace gpuready::ternary
