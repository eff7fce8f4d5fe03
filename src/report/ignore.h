// --ignore: findings that the user knows of and that are not to count. They stay in the document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace gpuready {

struct IgnoreRule {
  std::string id;                     // of a finding
  std::optional<std::string> device;  // an index, PCI address or UUID; absent: of whatever device
  std::string text() const { return device ? id + "@" + *device : id; }
};
// "pcie-link-degraded", "no-driver@0000:03:00.0"; an error for any other text.
Result<std::vector<IgnoreRule>> parse_ignore_rules(const std::vector<std::string>& texts);

// Moves the findings that a rule names from the report's findings to those that are ignored, with
// what follows from them. Of a finding about several GPUs the others' part stays.
void ignore_findings(const std::vector<IgnoreRule>& rules, Report& report);
// Notes what is ignored, and which rules found nothing to ignore.
void note_ignored(const std::vector<IgnoreRule>& rules, Report& report);

// A GPU that no program can use, and an ignored error is about it: it is not tested, and counts no
// more than one that is not there.
bool is_ignored(const Report& report, const Gpu& gpu);

}  // namespace gpuready
