// The document of one benchmark run.
#pragma once

#include "bench/record/run_record.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

// "xla is the fastest of 4 stacks: 0.153 ms (p50)."
std::string conclusion_of(const bench::RunRecord& run);
// `path`: where the document stands.
std::string render_terminal(const bench::RunRecord& run, const Envelope& envelope,
                            const std::string& path, const TerminalStyle& style);

}  // namespace gpuready
