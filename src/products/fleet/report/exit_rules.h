// Exit codes of `gpuready fleet`.
#pragma once

#include "fleet/fleet.h"
#include "report/exit_rules.h"

namespace gpuready {

Exit exit_of(const fleet::Fleet& fleet);

}  // namespace gpuready
