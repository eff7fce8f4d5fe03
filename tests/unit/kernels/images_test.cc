// Each test has code for every architecture and the oldest driver that serves it, or says what it
// leaves out; and each image is what its name says.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "base/cuda_releases.h"
#include "kernels/compute_kernel.h"
#include "kernels/matmul_kernel.h"
#include "kernels/memory_kernels.h"
#include "kernels/rate_kernel.h"
#include "kernels/record_kernel.h"
#include "kernels/tensor_kernels.h"
#include "kernels/transfer_kernels.h"

namespace gpuready {
namespace {

// NVIDIA, "CUDA Toolkit Release Notes": the release that brought each architecture. What is older
// than CUDA 9.0 is served by that.
const std::map<int, int> kOldestDriver = {
    {50, 9000},  {52, 9000},  {53, 9000},   {60, 9000},   {61, 9000},   {62, 9000},
    {70, 9000},  {72, 9020},  {75, 10000},  {80, 11000},  {86, 11010},  {87, 11040},
    {89, 11080}, {90, 11080}, {100, 12080}, {103, 12090}, {120, 12080}, {121, 12090},
};

TEST(Images, MemoryComputeAndBandwidthRunWithTheOldestDriverOfEveryArchitecture) {
  const Kernel* const kernels[] = {&kMemoryWrite,   &kMemoryVerify,     &kMemoryCopy,
                                   &kMemoryInvert,  &kMemoryHammer,     &kCompute,
                                   &kRate,          &kRecord,           &kTransferFill,
                                   &kTransferCheck, &kTransferCheckSum, &kMatmulF32};
  for (const auto& [capability, driver] : kOldestDriver)
    for (const Kernel* kernel : kernels)
      EXPECT_NE(best_image(kernel->cuda, capability, driver), nullptr)
          << kernel->name << ": " << why_no_image(kernel->cuda, capability, driver);
}

// The PTX ISA's first version with each instruction ("mma", "wgmma"). What a newer PTX would refuse
// besides, it would refuse for nothing.
TEST(Images, MatrixInstructionsNeedNoNewerDriverThanTheyMust) {
  struct Needed {
    const Kernel* kernel;
    int capability, driver;
  };
  const Needed all[] = {
      {&kTensorFp16M8N8K4, 70, 10010},      {&kTensorFp16M16N8K8, 75, 10020},
      {&kTensorInt8M8N8K16, 75, 10020},     {&kTensorBf16M16N8K16, 80, 11000},
      {&kTensorFp16M16N8K16, 80, 11000},    {&kTensorTf32M16N8K8, 80, 11000},
      {&kTensorInt8M16N8K32, 80, 11000},    {&kTensorFp8E4m3M16N8K32, 89, 12040},
      {&kTensorFp8E5m2M16N8K32, 89, 12040}, {&kTensorBf16Wgmma, 90, 12000},
      {&kTensorFp16Wgmma, 90, 12000},       {&kTensorTf32Wgmma, 90, 12000},
      {&kTensorInt8Wgmma, 90, 12000},       {&kTensorFp8E4m3Wgmma, 90, 12000},
      {&kTensorFp8E5m2Wgmma, 90, 12000},
  };
  for (const auto& [kernel, capability, driver] : all) {
    if (kernel->cuda[0].begin == kernel->cuda[0].end) continue;  // this build's compiler has it not
    EXPECT_NE(best_image(kernel->cuda, capability, driver), nullptr) << kernel->name;
    EXPECT_EQ(best_image(kernel->cuda, capability, driver - 10), nullptr) << kernel->name;
  }
  // So the burn of Ada runs with the first driver that serves it, beside an fp8 that does not.
  EXPECT_NE(best_image(kTensorBf16M16N8K16.cuda, 89, kOldestDriver.at(89)), nullptr);
}

TEST(Images, TargetsAreTheCapabilitiesOfTheTable) {
  const std::regex directives(R"(\.version (\d+\.\d+)\s+\.target sm_(\d+)(a?))");
  const Kernel* const kernels[] = {&kMemoryWrite,
                                   &kCompute,
                                   &kRate,
                                   &kRecord,
                                   &kTransferFill,
                                   &kPeerAtomics,
                                   &kMatmulF32,
                                   &kTensorFp16M8N8K4,
                                   &kTensorFp16M16N8K8,
                                   &kTensorBf16M16N8K16,
                                   &kTensorFp8E4m3M16N8K32,
                                   &kTensorBf16Wgmma};
  for (const Kernel* kernel : kernels)
    for (const KernelImage& image : kernel->cuda) {
      if (image.begin == image.end) continue;
      const auto text = unpack_image(image.begin, image.end);
      ASSERT_TRUE(text) << kernel->name;
      std::smatch found;
      const std::string head = text->substr(0, 4096);
      ASSERT_TRUE(std::regex_search(head, found, directives)) << kernel->name;
      EXPECT_EQ(std::stoi(found[2]), image.compute_capability) << kernel->name;
      EXPECT_EQ(found[3] == "a", image.architecture_exact) << kernel->name;
      EXPECT_NE(release_of_ptx(*parse_version(found[1].str())), nullptr) << kernel->name;
      EXPECT_NE(text->find(std::string(kernel->name)), text->npos) << kernel->name;
    }
}

}  // namespace
}  // namespace gpuready
