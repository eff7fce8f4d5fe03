// The part of the Summary that is about tests.
#pragma once

#include "report/summary.h"

namespace gpuready {

TestSummary summarize_test(const Machine& machine, const Verdict& verdict);
// Sets test_names, test_rows and injected, from `tests`.
void add_rows(Summary& summary);

}  // namespace gpuready
