#include "cli/gpu_test_text.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

GpuTestResult good() {
  GpuTestResult result;
  result.kernel_release = "5.15.0";
  result.cuda_version = 12020;
  result.gpus = {{{}, "NVIDIA A100", "GPU-1", {}}};
  return result;
}

TEST(GpuTestText, IsTheContractToTheLetter) {
  EXPECT_EQ(gpu_test_text(good()),
            "Linux Kernel Version: 5.15.0\n"
            "CUDA Driver Version: 12.2\n"
            "Found 1 GPUs:\n"
            "GPU 0: NVIDIA A100 (UUID: GPU-1)\n"
            "GPU 0 memory allocation test passed.\n");
  EXPECT_TRUE(gpu_test_passed(good()));
}

TEST(GpuTestText, EveryFailureHasItsLine) {
  auto result = good();
  result.gpus[0].failure = {214, "uncorrectable ECC error"};
  result.gpus.push_back({GpuTestFailure{15, "GPU is lost"}, "", "", {}});
  const auto text = gpu_test_text(result);
  EXPECT_TRUE(contains(
      text, "GPU 0 memory allocation test failed. Error code: 214 (uncorrectable ECC error)\n"));
  EXPECT_TRUE(contains(text, "Failed to get handle for GPU 1: GPU is lost (Error code: 15)\n"));
  EXPECT_FALSE(gpu_test_passed(result));
}

TEST(GpuTestText, StopsWhenNvmlDoesNotStart) {
  auto result = good();
  result.cuda_version.reset();
  result.cuda_failure = {803, "system has unsupported display driver / cuda driver combination"};
  result.nvml_failure = "Driver/library version mismatch";
  const auto text = gpu_test_text(result);
  EXPECT_TRUE(contains(text, "Failed to get CUDA driver version. Error code: 803 ("));
  EXPECT_TRUE(text.ends_with("Failed to initialize NVML: Driver/library version mismatch\n"));
}

// The caller takes any line with these words for a failure.
TEST(GpuTestText, LinesThatTellNoFailureHoldNoFailureWord) {
  auto result = good();
  result.kernel_release = "6.1-unable-Error";
  result.gpus[0].name = "cannot\nfailed";
  for (const char* word : {"failed", "error", "cannot", "unable"})
    EXPECT_FALSE(contains(to_lower(gpu_test_text(result)), word)) << word;
}

TEST(GpuTestText, NoGpuIsNotPassed) {
  auto result = good();
  result.gpus.clear();
  EXPECT_TRUE(contains(gpu_test_text(result), "Found 0 GPUs:\n"));
  EXPECT_FALSE(gpu_test_passed(result));
}

}  // namespace
}  // namespace gpuready
