// The document of one benchmark run.
#pragma once

#include "bench/run_record.h"
#include "report/envelope.h"

namespace gpuready {

Json to_json(const bench::RunRecord& run,
             const Envelope& envelope);  // schema/bench-run.schema.json

}  // namespace gpuready
