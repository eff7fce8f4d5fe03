#include "fleet/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;
using fleet::NodeState;

constexpr ExitRule<fleet::Fleet> kFleet[] = {
    {[](const fleet::Fleet& f) { return f.count(NodeState::bad) > 0; }, Exit::unhealthy},
    {[](const fleet::Fleet& f) { return f.count(NodeState::absent) > 0; }, Exit::required_absent},
    {[](const fleet::Fleet& f) {
       return f.nodes.empty() || f.count(NodeState::unknown) > 0 || f.unread > 0;
     },
     Exit::unknown},
};

using fleet::SearchEnd;
using fleet::SlowFindings;

unsigned wrong_values(const SlowFindings& findings) {
  unsigned number = 0;
  for (const fleet::FailedPart& part : findings.failing) number += part.wrong;
  return number;
}

constexpr ExitRule<SlowFindings> kSlow[] = {
    {[](const SlowFindings& f) { return f.ended == SearchEnd::planned; }, Exit::ok},
    {[](const SlowFindings& f) { return !f.slow.empty() || wrong_values(f) > 1; }, Exit::unhealthy},
    {[](const SlowFindings& f) {
       return f.ended != SearchEnd::settled || !f.suspects.empty() || !f.unknown.empty() ||
              !f.left.empty() || !f.failing.empty();
     },
     Exit::unknown},
};

}  // namespace

Exit exit_of(const fleet::Fleet& fleet) { return first_that_holds(kFleet, fleet); }
Exit exit_of(const SlowFindings& findings) { return first_that_holds(kSlow, findings); }

}  // namespace gpuready
