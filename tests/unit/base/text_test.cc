#include "base/text.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

TEST(Text, TrimStripsBlanksAndNul) {
  EXPECT_EQ(trim(std::string_view(" \t\r\n\0x y\0\n", 10)), "x y");
  EXPECT_EQ(trim("   "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, LinesNeedNoLastNewline) {
  EXPECT_EQ(lines("a\r\nb\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(lines("a\n"), std::vector<std::string_view>{"a"});
  EXPECT_TRUE(lines("").empty());
}

TEST(Text, SplitDropsEmptyPieces) {
  EXPECT_EQ(split(",a;;b,", ",;"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(split(",,", ",").empty());
}

TEST(Text, JoinPutsSeparatorsBetween) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ","), "");
  EXPECT_EQ(join({"", ""}, ","), ",");
}

TEST(Text, AfterPrefix) {
  EXPECT_EQ(after_prefix("GPU-1", "GPU-"), "1");
  EXPECT_EQ(after_prefix("GP", "GPU-"), std::nullopt);
}

TEST(Numbers, WholeTextOrNothing) {
  EXPECT_EQ(parse_int(" -12\n"), -12);
  EXPECT_EQ(parse_uint("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " ", "12x", "1 2", "0x10", "99999999999999999999", "+1", "1.5"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
    EXPECT_EQ(parse_uint(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_uint("-1"), std::nullopt);
}

TEST(Numbers, HexWithOrWithoutPrefix) {
  EXPECT_EQ(parse_hex("0x10de\n"), 0x10deu);
  EXPECT_EQ(parse_hex("10DE"), 0x10deu);
  EXPECT_EQ(parse_hex("0x"), std::nullopt);
  EXPECT_EQ(parse_hex("10000000000000000"), std::nullopt);
}

TEST(Numbers, DoublesAreFinite) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  for (const char* text : {"nan", "inf", "1e999", "", "1.5 GHz"})
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
}

TEST(Text, PrintableKeepsTextAndHidesControl) {
  EXPECT_EQ(printable("a\x1b[31m\nb\t"), "a?[31m\nb\t");
  EXPECT_EQ(printable("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(printable("\xc3"), "?");
  EXPECT_EQ(printable("\x1f \x7f"), "? ?");
  EXPECT_EQ(printable("\xed\x9f\xbf\xed\xa0\x80"), "\ud7ff???");  // a surrogate
  EXPECT_EQ(printable("\ufffd\ufffe\uffff"), "\ufffd??");         // not in XML
  EXPECT_EQ(printable("\xe0\xa0\x80\xe0\x9f\xbf"), "\u0800???");  // overlong
  EXPECT_EQ(printable("\xf0\x90\x80\x80\xf0\x8f\xbf\xbf"), "\U00010000????");
  EXPECT_EQ(printable("\xf4\x8f\xbf\xbd\xf4\x90\x80\x80"), "\U0010fffd????");  // beyond Unicode
  EXPECT_EQ(printable("\xf8\x88\x80\x80\x80"), "?????");
  EXPECT_EQ(printable("\xe2\x82"), "??");
  EXPECT_EQ(printable("\xc0\xaf"), "??");  // overlong
  EXPECT_EQ(printable("\xc2\x9b"), "?");   // C1: a terminal's CSI
  // Directions, joiners, fillers and tags change how a line reads, and show nothing.
  EXPECT_EQ(printable("a\u202eb\u200bc\u2066d\ufeffe\U000e0041f\u3164g\u2028h"), "a?b?c?d?e?f?g?h");
  for (char c = 0; c < ' '; ++c) {
    const std::string shown = c == '\n' || c == '\t' ? std::string(1, c) : "?";
    EXPECT_EQ(printable({&c, 1}), shown) << static_cast<int>(c);
  }
  EXPECT_EQ(printable("\x7f"), "?");
  EXPECT_EQ(printable("\u4e2d\U0001f600"), "\u4e2d\U0001f600");
}

TEST(Versions, AreComparedNumberByNumber) {
  EXPECT_LT(parse_version("580.9"), parse_version("580.65"));
  EXPECT_LT(parse_version("12.4"), parse_version("12.4.1"));
  EXPECT_EQ(parse_version("580.065"), parse_version("580.65"));
  EXPECT_EQ(parse_version("580.159.04")->major(), 580);
  for (const char* text : {"", "12.", ".4", "12.x", "12..4", "-1.2", "99999999999.1"})
    EXPECT_EQ(parse_version(text), std::nullopt) << text;
}

TEST(Versions, AreFoundInText) {
  EXPECT_EQ(find_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue"),
            "580.159.04");
  EXPECT_EQ(find_version("libcuda.so.535.54.3"), "535.54.3");
  EXPECT_EQ(find_version("no 7 version"), std::nullopt);
  EXPECT_EQ(find_version("at the end 12.4."), "12.4");
}

TEST(Text, CaseIsAsciiOnly) {
  EXPECT_TRUE(equals_ignore_case("NVidia", "nvIDIA"));
  EXPECT_FALSE(equals_ignore_case("nvidia", "nvidi"));
  EXPECT_EQ(to_lower("AbC\xc3\x89"), "abc\xc3\x89");
}

}  // namespace
}  // namespace gpuready
