// Products by a library that computes them in the host's memory (fake_cublaslt.cc).
#include "device/cuda/cublaslt.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace gpuready {
namespace {

DeviceAddress address_of(const void* memory) { return reinterpret_cast<DeviceAddress>(memory); }

// cuBLASLt's API reference: c[m,n] = a[m,k] b[k,n] + bias, row-major.
TEST(CublasLt, MultipliesRowMajorMatricesOfEitherOrientation) {
  const std::string fake = std::string(GPUREADY_BINARY_DIR) + "/fake_drivers/fake_cublaslt.so";
  ::setenv("GPUREADY_LIBCUBLASLT", fake.c_str(), 1);
  const auto lt = CublasLt::open({});
  ASSERT_TRUE(lt) << lt.error().message;
  EXPECT_EQ((*lt)->version(), "13.1.0");
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};                        // 2 rows of 3
  const std::vector<float> b = {1, 0, 2, -1, 3, 1, 0, 2, 0, 1, 1, -2};    // 3 rows of 4
  const std::vector<float> b_t = {1, 3, 0, 0, 1, 1, 2, 0, 1, -1, 2, -2};  // 4 rows of 3
  const std::vector<float> bias = {10, 20, 30, 40};
  std::vector<char> workspace(1024);
  for (const bool transposed : {false, true})
    for (const bool biased : {false, true})
      for (const LtCompute compute : {LtCompute::fp32, LtCompute::tf32}) {
        const auto product = (*lt)->prepare({.m = 2,
                                             .n = 4,
                                             .k = 3,
                                             .b_transposed = transposed,
                                             .bias = biased ? address_of(bias.data()) : 0,
                                             .type = LtType::fp32,
                                             .compute = compute},
                                            workspace.size(), 2);
        ASSERT_TRUE(product) << product.error().message;
        ASSERT_EQ(product->algorithms().size(), 2u);
        for (const LtAlgorithm& algorithm : product->algorithms()) {
          EXPECT_LE(algorithm.workspace_bytes, workspace.size());
          std::vector<float> c(8);
          const auto done =
              product->launch({address_of(a.data()), address_of(transposed ? b_t.data() : b.data()),
                               address_of(c.data())},
                              algorithm, address_of(workspace.data()), {});
          ASSERT_TRUE(done) << done.error().message;
          std::vector<float> expected = {7, 5, 5, -3, 19, 11, 14, -6};
          if (biased) expected = {17, 25, 35, 37, 29, 31, 44, 34};
          EXPECT_EQ(c, expected) << transposed << biased;
        }
      }
  ::unsetenv("GPUREADY_LIBCUBLASLT");
}

}  // namespace
}  // namespace gpuready
