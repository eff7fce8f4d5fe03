#include "bench/run/gpu_check.h"

#include <gtest/gtest.h>

namespace gpuready::bench {
namespace {

// "fit", "sick: why" or "unknown: why".
std::string read(const Result<JobOutcome>& outcome) {
  const auto check = gpu_check_of(outcome);
  if (!check.finding) return check.sick ? "sick" : "fit";
  return (check.sick ? "sick: " : "unknown: ") + *check.finding;
}
JobOutcome exited(int code, std::string out) {
  JobOutcome outcome;
  outcome.exit_code = code;
  outcome.out = std::move(out);
  return outcome;
}

// As a document of `check` says of itself.
std::string report(const std::string& conclusion) {
  return R"({"tool": {"name": "gpuready", "version": "1"}, "command": "check", "created_utc": )"
         R"("2026-03-01T12:00:00Z", "exit_code": 1, "exit_meaning": "", "notes": [], "duration_ms": 1)" +
         (conclusion.empty() ? "}" : R"(, "conclusion": ")" + conclusion + "\"}");
}

TEST(GpuCheck, ItsExitCodeDecidesAndItsReportSaysWhy) {
  const std::string said = report("GPU 0 fails its memory test.");
  EXPECT_EQ(read(exited(0, said)), "fit");
  EXPECT_EQ(read(exited(0, "")), "fit");
  EXPECT_EQ(read(exited(1, said)), "sick: GPU 0 fails its memory test.");
  EXPECT_EQ(read(exited(2, said)), "unknown: GPU 0 fails its memory test.");
  EXPECT_EQ(read(exited(4, said)), "unknown: GPU 0 fails its memory test.");
  EXPECT_EQ(read(exited(1, "")), "sick: it wrote no report");
  EXPECT_EQ(read(exited(4, "{")), "unknown: it wrote no report");
  EXPECT_EQ(read(exited(4, "{}")), "unknown: it wrote no report");
  EXPECT_EQ(read(exited(1, report("\\u001b[31mred"))), "sick: ?[31mred");
  EXPECT_EQ(read(exited(1, report(""))), "sick: ");
}

TEST(GpuCheck, OneThatDidNotEndByItselfSaysNothingOfTheGpu) {
  const std::string unended = "unknown: the check of the GPU's health did not end";
  EXPECT_EQ(read(fail(ErrorKind::not_found, "no such program")), unended);
  for (const JobEnd end : {JobEnd::signalled, JobEnd::timed_out, JobEnd::cancelled, JobEnd::hung})
    for (const int code : {0, 1}) {
      JobOutcome outcome = exited(code, report("GPU 0 fails."));
      outcome.end = end;
      EXPECT_EQ(read(outcome), unended) << to_string(end);
    }
}

}  // namespace
}  // namespace gpuready::bench
