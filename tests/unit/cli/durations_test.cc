#include "cli/durations.h"

#include <gtest/gtest.h>

namespace gpuready::cli {
namespace {

TEST(Words, TimesHaveUnits) {
  EXPECT_DOUBLE_EQ(*parse_seconds("90"), 90);
  EXPECT_DOUBLE_EQ(*parse_seconds("0.5"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_seconds("5s"), 5);
  EXPECT_DOUBLE_EQ(*parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_seconds("5sec"), 5);
  EXPECT_DOUBLE_EQ(*parse_seconds("2m"), 120);
  EXPECT_DOUBLE_EQ(*parse_seconds("2min"), 120);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5h"), 5400);
  EXPECT_DOUBLE_EQ(*parse_seconds("2d"), 172800);
  EXPECT_DOUBLE_EQ(*parse_seconds("1e3"), 1000);
  EXPECT_DOUBLE_EQ(*parse_seconds("1e3ms"), 1);
  for (const char* wrong : {"", "s", "5 s", "5x", "1h30", "nan", "one"})
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
}

}  // namespace
}  // namespace gpuready::cli
