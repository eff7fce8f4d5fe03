#include "bench/run/gpu_check.h"

#include "base/text.h"
#include "jobs/helper.h"
#include "value/envelope.h"
#include "value/read_fields.h"

namespace gpuready::bench {

GpuCheck check_gpu(const std::string& uuid, const JobWatch& watch) {
  Job job = helper_job({"check", "--level", "quick", "--device", uuid, "--json", "-", "--quiet"});
  job.limits.time = std::chrono::minutes(5);
  return gpu_check_of(run_job(job, watch));
}

GpuCheck gpu_check_of(const Result<JobOutcome>& outcome) {
  if (!outcome || outcome->end != JobEnd::exited)
    return {false, "the check of the GPU's health did not end"};
  if (outcome->exit_code == static_cast<int>(Exit::ok)) return {};
  const bool sick = outcome->exit_code == static_cast<int>(Exit::unhealthy);
  const auto doc = parse_json(outcome->out, "the check's report");
  const auto told = doc ? value::read_document<Envelope>(*doc, "") : std::unexpected(doc.error());
  return {sick, told ? printable(told->conclusion.value_or("")) : "it wrote no report"};
}

}  // namespace gpuready::bench
