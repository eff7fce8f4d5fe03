#include "value/toml_text.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

std::string wrong_with(std::string_view text) {
  const auto checked = check_toml_text(text, "f");
  return checked ? "nothing" : checked.error().message;
}

TEST(TomlText, ADateHasATimeAfterItsT) {
  for (const char* good :
       {"a = 2026-11-22T12:00:00Z\n", "a = 2026-11-22t12:00:00\n", "a = 2026-11-22T1",
        "a = 2026-11-22T1x\n", "a = 2026-11-22\n", "a = 2026-11-22 12:00:00\n", "T = 1\n",
        "a.2026-11-2T = 1\n", "a = \"2026-11-22T\"\n"})
    EXPECT_EQ(wrong_with(good), "nothing") << good;
  for (const char* bad : {"a = 2026-11-22T", "a = 2026-11-22t\n", "a = 2026-11-22Tx1:00:00\n"})
    EXPECT_EQ(wrong_with(bad), "f: line 1: a date is followed by no time") << bad;
}

}  // namespace
}  // namespace gpuready
