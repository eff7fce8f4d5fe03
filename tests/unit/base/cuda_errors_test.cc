#include "base/cuda_errors.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

TEST(CudaErrors, NamesAndMeanings) {
  EXPECT_EQ(cuda_error_name(0), "CUDA_SUCCESS");
  EXPECT_EQ(cuda_error_name(214), "CUDA_ERROR_ECC_UNCORRECTABLE");
  EXPECT_EQ(cuda_error_name(999), "CUDA_ERROR_UNKNOWN");
  EXPECT_FALSE(cuda_error_text(802).empty());
}

TEST(CudaErrors, UnknownNumbersKeepTheirNumber) {
  EXPECT_EQ(cuda_error_name(12345), "CUDA_ERROR_12345");
  EXPECT_TRUE(cuda_error_text(12345).empty());
}

}  // namespace
}  // namespace gpuready
