#include "vm/clean.h"

#include <gtest/gtest.h>

namespace gpuready::vm {
namespace {

const PciAddress kGpu = *parse_pci_address("0000:17:00.0");

Json report(const char* status, double tested, int exit_code) {
  return {{"exit_code", exit_code},
          {"conclusion", "x"},
          {"verdicts",
           {{{"test", "memory"},
             {"pci_address", "0000:17:00.0"},
             {"status", status},
             {"reason", "y"},
             {"coverage", {{"tested_bytes", tested}, {"total_bytes", 100}}}}}}};
}

TEST(VmClean, OnlyAPassedTestOfNearlyAllMemoryIsClean) {
  EXPECT_TRUE(judge(report("passed", 98, 0), kGpu));
  EXPECT_FALSE(judge(report("passed", 80, 0), kGpu));
  EXPECT_FALSE(judge(report("not_tested", 98, 0), kGpu));
  EXPECT_FALSE(judge(report("failed", 98, 1), kGpu));
  EXPECT_FALSE(judge(report("passed", 98, 1), kGpu));  // something else is wrong with it
  EXPECT_FALSE(judge(report("passed", 98, 0), *parse_pci_address("0000:65:00.0")));
  EXPECT_FALSE(judge(Json{{"exit_code", 0}}, kGpu));
  EXPECT_FALSE(judge(Json{{"verdicts", "none"}}, kGpu));
}

}  // namespace
}  // namespace gpuready::vm
