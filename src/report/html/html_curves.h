// The samples as curves, with the tests' spans of time below each.
#pragma once

#include <string>

#include "report/summary.h"

namespace gpuready {

std::string html_curves(const Report& report, const Summary& summary);

}  // namespace gpuready
