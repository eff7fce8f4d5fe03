// Exit codes of `gpuready kubernetes condition`: what node-problem-detector makes of them.
#pragma once

#include "kubernetes/report/condition.h"
#include "value/envelope.h"

namespace gpuready {

// 0: the condition is False; 1: True; any other: Unknown.
Exit exit_of(const kubernetes::Condition& condition);

}  // namespace gpuready
