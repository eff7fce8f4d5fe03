#include <gtest/gtest.h>

#include "report/summary.h"

namespace gpuready {
namespace {

// A GPU's number is what users know it by; an address is for what has no number.
TEST(Wording, AFindingConcernsGpusByNumberAndOtherDevicesByAddress) {
  Finding finding;
  EXPECT_EQ(concerned_text(finding), "");
  finding.pci = {PciAddress{0, 0x17, 0, 0}, PciAddress{0, 0x18, 0, 1}};
  EXPECT_EQ(concerned_text(finding), "0000:17:00.0, 0000:18:00.1");
  finding.gpus = {0, 2};
  EXPECT_EQ(concerned_text(finding), "GPU 0, GPU 2");
}

}  // namespace
}  // namespace gpuready
