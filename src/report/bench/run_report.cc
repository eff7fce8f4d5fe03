#include "report/bench/run_report.h"

namespace gpuready {

Json to_json(const bench::RunRecord& run, const Envelope& envelope) {
  Json doc = begin_document("gpuready.bench-run", envelope);
  doc["run"] = bench::to_json(run);
  return doc;
}

}  // namespace gpuready
