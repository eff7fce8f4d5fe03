// Exit codes of `gpuready fleet`.
#pragma once

#include "fleet/fleet.h"
#include "fleet/slow/findings.h"
#include "report/exit_rules.h"

namespace gpuready {

Exit exit_of(const fleet::Fleet& fleet);
Exit exit_of(const fleet::SlowFindings& findings);

}  // namespace gpuready
