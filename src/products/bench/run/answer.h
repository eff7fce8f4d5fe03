// What an adapter wrote, read as the contract has it: one JSON object, last on its standard output.
// Whatever was written gives an answer: what is not an answer is an error with its reason.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/run/reference.h"
#include "bench/run/request.h"
#include "jobs/job.h"

namespace gpuready::bench {

struct Answer {
  std::string mode, device_name, timer, stopped_by;
  std::map<std::string, std::string> versions, settings;
  Repeat repeat;                      // its status and reason, too
  std::vector<double> sampled_at_ms;  // of the monotonic clock; one a sample, or none
  std::uint64_t iterations_per_sample = 1;
  std::optional<std::uint64_t> iterations;  // timed, of a stack that gives no samples
  bool reference = false;                   // not to be ranked
  // Of a stack that is unavailable: whether it could do this work where it is installed.
  bool supported = true;
};

// `out` is what it wrote, of which the end is enough. Work other than the request's is
// different_work; the digest is not looked at.
Answer read_answer(std::string_view out, const Request& request);

// The answer of a child that ended so.
Answer answer_of(const JobOutcome& outcome, const Request& request, const JobLimits& limits);

// Marks an answer as different_work when its digest is not that of the work.
void check_digest(Answer& answer, const Request& request, std::span<const ExpectedDigest> expected);

}  // namespace gpuready::bench
