#include "vm/clean/clean.h"

#include <gtest/gtest.h>

#include "unit/products/vm/fake_kernel.h"
#include "value/json.h"

namespace gpuready::vm {
namespace {

const PciAddress kGpu = *parse_pci_address("0000:17:00.0");

Json report(VerdictStatus status, std::uint64_t tested, int exit_code) {
  Verdict verdict;
  verdict.test = "memory";
  verdict.pci_address = kGpu.text();
  verdict.status = status;
  verdict.coverage = Coverage{.tested_bytes = tested, .total_bytes = 100, .reserved_bytes = {}};
  return {
      {"exit_code", exit_code}, {"conclusion", "x"}, {"verdicts", Json::array({to_json(verdict)})}};
}

TEST(VmClean, OnlyAPassedTestOfNearlyAllMemoryIsClean) {
  EXPECT_TRUE(judge(report(VerdictStatus::passed, 98, 0), kGpu));
  EXPECT_FALSE(judge(report(VerdictStatus::passed, 80, 0), kGpu));
  EXPECT_FALSE(judge(report(VerdictStatus::not_tested, 98, 0), kGpu));
  EXPECT_FALSE(judge(report(VerdictStatus::failed, 98, 1), kGpu));
  EXPECT_FALSE(
      judge(report(VerdictStatus::passed, 98, 1), kGpu));  // something else is wrong with it
  EXPECT_FALSE(judge(report(VerdictStatus::passed, 98, 0), *parse_pci_address("0000:65:00.0")));
  EXPECT_FALSE(judge(Json{{"exit_code", 0}}, kGpu));
  EXPECT_FALSE(judge(Json{{"verdicts", "none"}}, kGpu));
}

TEST(VmClean, TheTestEndsAtItsDeadline) {
  struct Watching : FakeKernel {
    Result<JobOutcome> run(const Job& job) override {
      limit = job.limits.time;
      return FakeKernel::run(job);
    }
    std::optional<std::chrono::milliseconds> limit;
  } kernel;
  kernel.add(kGpu.text(), {});
  EXPECT_TRUE(clean(kGpu, "/state", std::chrono::minutes(7), kernel, kernel));
  EXPECT_EQ(kernel.limit, std::chrono::minutes(7));
}

}  // namespace
}  // namespace gpuready::vm
