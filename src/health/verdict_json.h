// A Verdict as JSON and back: between a test's child and its parent, and in reports.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Absent optionals are absent; 64-bit words and offsets of bad words are hexadecimal strings, since
// many readers of JSON keep only 53 bits of a number.
Json to_json(const Verdict& verdict);
Result<Verdict> verdict_from_json(const Json& doc, std::string_view name);

}  // namespace gpuready
