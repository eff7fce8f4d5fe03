#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace gpuready {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(ErrorKind::bad_input, "odd", number);
  return number / 2;
}
Result<void> must_be_small(int number) {
  if (number > 100) return fail(ErrorKind::too_large, "above 100");
  return {};
}
Result<int> quarter(int number) {
  TRY(must_be_small(number));
  return TRY(half(TRY(half(number))));
}

TEST(Try, GivesTheValue) { EXPECT_EQ(quarter(12), 3); }

TEST(Try, ReturnsTheFirstError) {
  const auto outer = quarter(7), inner = quarter(6), large = quarter(200);
  ASSERT_FALSE(outer || inner || large);
  EXPECT_EQ(outer.error().code, 7);
  EXPECT_EQ(inner.error().code, 3);
  EXPECT_EQ(large.error().kind, ErrorKind::too_large);
}

TEST(Try, MovesWhatCannotBeCopied) {
  const auto make = [](bool good) -> Result<std::unique_ptr<int>> {
    if (!good) return fail(ErrorKind::cancelled, "stopped");
    return std::make_unique<int>(5);
  };
  const auto use = [&](bool good) -> Result<int> {
    const std::unique_ptr<int> pointer = TRY(make(good));
    return *pointer;
  };
  EXPECT_EQ(use(true), 5);
  EXPECT_EQ(use(false).error().kind, ErrorKind::cancelled);
}

TEST(FailErrno, NamesWhatFailedAndItsKind) {
  const Result<int> result = fail_errno("/dev/nvidia0", EACCES);
  EXPECT_EQ(result.error().kind, ErrorKind::no_permission);
  EXPECT_EQ(result.error().code, EACCES);
  EXPECT_EQ(result.error().message, "/dev/nvidia0: Permission denied");
}

}  // namespace
}  // namespace gpuready
