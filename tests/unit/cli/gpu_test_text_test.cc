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

// cuDriverGetVersion(): 1000 times the major version and 10 times the minor one.
TEST(GpuTestText, CudasVersionIsItsTwoNumbers) {
  auto result = good();
  for (const auto& [number, text] :
       {std::pair(12000, "12.0"), {12020, "12.2"}, {11080, "11.8"}, {13000, "13.0"}}) {
    result.cuda_version = number;
    EXPECT_TRUE(contains(gpu_test_text(result),
                         std::string("\nCUDA Driver Version: ") + text + "\nFound 1 GPUs:\n"))
        << gpu_test_text(result);
  }
}

TEST(GpuTestText, PassesIfBothLibrariesAnswerAndEveryGpuPassed) {
  const auto passed = [](auto&& change) {
    auto result = good();
    result.gpus.push_back(result.gpus[0]);
    change(result);
    return gpu_test_passed(result);
  };
  EXPECT_TRUE(passed([](GpuTestResult&) {}));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.nvml_failure = "lost"; }));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.count_failure = "lost"; }));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.cuda_version.reset(); }));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.gpus.clear(); }));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.gpus[1].failure = {2, "no memory"}; }));
  EXPECT_FALSE(passed([](GpuTestResult& result) { result.gpus[1].handle_failure = {15, ""}; }));
}

TEST(GpuTestText, StopsWhereTheGpusCannotBeCounted) {
  auto result = good();
  result.count_failure = "GPU is\nlost";
  EXPECT_TRUE(gpu_test_text(result).ends_with("12.2\nFailed to get GPU count: GPU is lost\n"));
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
