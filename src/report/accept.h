// --accept: findings that the user knows of and that are not to count. They stay in the document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/obligations.h"
#include "report/report.h"

namespace gpuready {

struct AcceptRule {
  std::string text;                  // as it was written
  std::string id;                    // of a finding, or an obligation that may be degraded
  std::vector<std::string> devices;  // words of gpus_named(); empty: of whatever device
  std::string because = {};          // who asked for it; empty: --accept
};
// Findings and obligations that a rule may name, in addition to "xid-N".
std::vector<std::string> acceptable_names();
// "pcie-link-degraded", "no-driver@0000:03:00.0"; an error for any other text.
Result<std::vector<AcceptRule>> parse_accept_rules(const std::vector<std::string>& texts);

// The same with the devices' names in this machine. An error lists its GPUs.
Result<AcceptRule> on_machine(AcceptRule rule, const Machine& machine);

// The rules that name obligations.
std::vector<Accepted> accepted_obligations(const std::vector<AcceptRule>& rules);

// Moves the findings that a rule names from the report's findings to those that are accepted, with
// what follows from them. Of a finding about several GPUs the others' part stays.
void accept_findings(const std::vector<AcceptRule>& rules, Report& report);
// Notes what is accepted, and which rules found nothing to accept.
void note_accepted(const std::vector<AcceptRule>& rules, Report& report);

// A GPU that no program can use, and an accepted error is about it: it is not tested, and counts no
// more than one that is not there.
bool is_set_aside(const Report& report, const Gpu& gpu);

}  // namespace gpuready
