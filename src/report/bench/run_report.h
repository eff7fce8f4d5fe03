// The document of one benchmark run.
#pragma once

#include "bench/run_record.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

Json to_json(const bench::RunRecord& run,
             const Envelope& envelope);  // schema/bench-run.schema.json

// "xla is the fastest of 4 stacks: 0.153 ms (p50)."
std::string conclusion_of(const bench::RunRecord& run);
// `path`: where the document stands.
std::string render_terminal(const bench::RunRecord& run, const Envelope& envelope,
                            const std::string& path, const TerminalStyle& style);

}  // namespace gpuready
