#include "report/text_layout.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using Lines = std::vector<std::string>;

TEST(TextLayout, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\u00e9"), 1u);
  EXPECT_EQ(display_width("e\u0301"), 1u);  // combining accent
  EXPECT_EQ(display_width("\u4e2d\u6587"), 4u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(TextLayout, CutNeverExceedsAndNeverSplitsACharacter) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("\u4e2d\u6587\u4e2d\u6587", 6), "\u4e2d...");
  EXPECT_EQ(cut("abcdef", 2), "..");
}

TEST(TextLayout, WrapBreaksAtBlanksAndLongWordsAnywhere) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefghij k", 4), (Lines{"abcd", "efgh", "ij k"}));
  EXPECT_EQ(wrap("(torch.compile, CUDA graphs)", 12),
            (Lines{"(torch.", "compile,", "CUDA graphs)"}));
  EXPECT_EQ(wrap("a.bcdefghijkl", 8), (Lines{"a.bcdefg", "hijkl"}));  // too short a line
  EXPECT_EQ(wrap("", 10), (Lines{""}));
}

TEST(TextLayout, CommandIsBrokenBetweenWordsWithABackslash) {
  EXPECT_EQ(wrap_command("sudo nvidia-smi --gpu-reset -i 0", 20),
            (Lines{"sudo nvidia-smi \\", "  --gpu-reset -i 0"}));
  EXPECT_EQ(wrap_command("short", 20), (Lines{"short"}));
}

TEST(TextLayout, CommandIsNeverBrokenInsideQuotesOrComments) {
  EXPECT_EQ(wrap_command("echo 'a b c d e f g h'", 12), (Lines{"echo \\", "  'a b c d e f g h'"}));
  EXPECT_EQ(wrap_command("true # a b c d e f g h", 10), (Lines{"true # a b c d e f g h"}));
  EXPECT_EQ(wrap_command("echo a\\ b\\ c\\ d", 8), (Lines{"echo \\", "  a\\ b\\ c\\ d"}));
}

TEST(TextLayout, OneLineHoldsNothingThatMovesOrHides) {
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
  EXPECT_EQ(one_line("a\x1b[31m\x07"), "a?[31m?");
  EXPECT_EQ(one_line("a\u202e\u200bb"), "a??b");
  EXPECT_EQ(one_line("\xff\xfe"), "??");
}

TEST(TextLayout, AsciiReplacesOnceACharacter) { EXPECT_EQ(to_ascii("\u00e9\u4e2d."), "??."); }

}  // namespace
}  // namespace gpuready
