#include "base/closest.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

TEST(Closest, TheWordThatWasMeantIsFound) {
  const std::vector<std::string> words = {"check", "test", "detect", "doctor", "--require-gpu"};
  EXPECT_EQ(closest("chekc", words), "check");
  EXPECT_EQ(closest("detct", words), "detect");
  EXPECT_EQ(closest("--require-gpus", words), "--require-gpu");
  EXPECT_FALSE(closest("frobnicate", words));
  EXPECT_FALSE(closest("x", words));
  EXPECT_EQ(did_you_mean("chekc", words), "; did you mean check?");
  EXPECT_EQ(did_you_mean("x", words), "");
}

}  // namespace
}  // namespace gpuready
