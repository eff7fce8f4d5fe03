#include "base/cuda_errors.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

TEST(CudaErrors, NameAndMeaningOfAKnownNumber) {
  EXPECT_EQ(cuda_error_name(0), "CUDA_SUCCESS");
  EXPECT_EQ(describe_cuda_error(2), "CUDA_ERROR_OUT_OF_MEMORY (2): not enough free GPU memory");
}

TEST(CudaErrors, AnUnknownNumberIsToldAsSuch) {
  EXPECT_EQ(cuda_error_name(12345), "CUDA_ERROR_12345");
  EXPECT_EQ(find_cuda_error(1234), nullptr);
  EXPECT_EQ(describe_cuda_error(1234), "CUDA error 1234");
  EXPECT_EQ(describe_cuda_error(-1), "CUDA error -1");
}

TEST(CudaErrors, MemoryFaultsAreToldFromOtherFaults) {
  for (int code : {214, 220, 226}) {
    EXPECT_EQ(find_cuda_error(code)->kind, CudaErrorClass::memory_fault) << code;
  }
  EXPECT_EQ(find_cuda_error(700)->kind, CudaErrorClass::device_fault);
  EXPECT_EQ(find_cuda_error(702)->kind, CudaErrorClass::timed_out);
}

TEST(CudaErrors, EveryCauseTheDoctorAsksForIsInTheTable) {
  for (int code : {2,   34,  46,  100, 101, 201, 209, 214, 218, 220, 221, 222, 223, 224, 225,
                   226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 802, 803, 804, 999}) {
    ASSERT_NE(find_cuda_error(code), nullptr) << code;
    EXPECT_FALSE(find_cuda_error(code)->meaning.empty()) << code;
  }
}

TEST(CudaErrors, ErrorsThatSpoilTheContextAreSticky) {
  for (int code : {214, 700, 702, 719, 999}) EXPECT_TRUE(find_cuda_error(code)->sticky) << code;
  for (int code : {0, 2, 46, 222, 600}) EXPECT_FALSE(find_cuda_error(code)->sticky) << code;
}

}  // namespace
}  // namespace gpuready
