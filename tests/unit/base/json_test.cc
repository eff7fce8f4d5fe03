#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace gpuready {
namespace {

TEST(ParseJson, ReadsEveryType) {
  const auto doc = parse_json(
      R"({"n":null,"b":true,"i":-1,"u":18446744073709551615,"d":1.5,"s":"x","a":[1,[]],"o":{}})",
      "t");
  ASSERT_TRUE(doc) << doc.error().message;
  EXPECT_EQ(
      dump_line(*doc),
      R"({"n":null,"b":true,"i":-1,"u":18446744073709551615,"d":1.5,"s":"x","a":[1,[]],"o":{}})");
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_line(*parse_json(R"({"z":1,"a":2,"m":3})", "t")), R"({"z":1,"a":2,"m":3})");
}

TEST(ParseJson, ScalarsAreDocuments) {
  EXPECT_EQ(*parse_json(" 7 ", "t"), 7);
  EXPECT_EQ(*parse_json("\"x\"", "t"), "x");
}

TEST(ParseJson, FaultsNameTheInput) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} x", "\"\xff\"", "nan", "[1e999]", "{a:1}",
                           "{\"a\":1,\"a\":2}", "'x'"}) {
    const auto doc = parse_json(text, "file.json");
    ASSERT_FALSE(doc) << text;
    EXPECT_EQ(doc.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(doc.error().message.starts_with("file.json: ")) << doc.error().message;
    EXPECT_GT(doc.error().message.size(), std::string("file.json: ").size()) << text;
  }
}

TEST(ParseJson, DuplicateKeysAreFoundInLargeObjectsToo) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_json(text + "\"last\":0}", "t"));
  const auto twice = parse_json(text + "\"k50\":0}", "t");
  ASSERT_FALSE(twice);
  EXPECT_TRUE(contains(twice.error().message, "k50"));
}

TEST(ParseJson, DepthIsLimited) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "t"));
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']'), "t"));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "t"));
}

// What the library says of a text, and what we make of it. Only we refuse a key that stands twice.
void expect_same_as_the_library(const std::string& text) {
  const Json library = Json::parse(text, nullptr, false);
  const auto ours = parse_json(text, "t");
  if (!ours && contains(ours.error().message, "stands twice")) return;
  ASSERT_EQ(ours.has_value(), !library.is_discarded()) << text;
  if (ours) {
    ASSERT_EQ(ours->dump(), library.dump()) << text;
    ASSERT_EQ(*ours, library) << text;
  }
}

TEST(ParseJson, TakesWhatTheLibraryTakesAndNothingElse) {
  for (const char* text : {"0",
                           "-0",
                           "-0.0",
                           "00",
                           "01",
                           "-",
                           "-1",
                           "+1",
                           "1.",
                           ".5",
                           "1.5",
                           "1e5",
                           "1E+5",
                           "1e-5",
                           "1e",
                           "1e+",
                           "-1.25e-3",
                           "1e308",
                           "1e309",
                           "1e-400",
                           "4.9e-324",
                           "123456789012345678",
                           "-123456789012345678",
                           "1234567890123456789",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "18446744073709551616",
                           "0x1",
                           "1a",
                           "true",
                           "tru",
                           "truex",
                           "null",
                           "nul",
                           "false",
                           "fals",
                           R"("a\"b")",
                           R"("\u0041\u00e9\u20ac")",
                           R"("\ud83d\ude00")",
                           R"("\ud83d")",
                           R"("\udc00")",
                           R"("\u12")",
                           R"("\u-123")",
                           R"("\u 123")",
                           R"("\x")",
                           R"("\b\f\n\r\t\/\\\"")",
                           "\"\t\"",
                           "\"\x7f\"",
                           "\"\xc3\xa9\"",
                           "\"\xc3\"",
                           "\"\xed\xa0\x80\"",
                           "\"open",
                           "\"open\\",
                           "[",
                           "[]",
                           "[ ]",
                           "[,]",
                           "[1,]",
                           "[1 2]",
                           "{}",
                           "{ }",
                           "{,}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{\"a\" : [ ] }",
                           "{1:2}",
                           "[]]",
                           "[] []",
                           " \t\r\n[] \n",
                           "\v[]",
                           "\xef\xbb\xbf[]",
                           "/**/[]",
                           "[NaN]",
                           "[Infinity]"})
    expect_same_as_the_library(text);
  expect_same_as_the_library(std::string("[]\0", 3));
  expect_same_as_the_library(std::string("\"\0\"", 3));
}

TEST(ParseJson, TakesWhatTheLibraryTakesOfChangedText) {
  const std::string text =
      R"({"schema":"gpuready.x","n":[0,-1,18446744073709551615,1.5e-3,true,false,null],"s":"a\n\u00e9é\ud83d\ude00",)"
      R"("o":{"p":{},"q":[[]],"r":"/sys/bus/pci/devices/0000:17:00.0"}})";
  constexpr std::string_view kBytes = "{}[]\",:\\ utfn0-19.eE+\x01\xff\x7f";
  std::uint64_t state = 1;
  const auto below = [&](std::size_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>((state >> 33) % limit);
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = text;
    for (std::size_t left = 1 + below(3); left > 0; --left) {
      const auto at = below(changed.size());
      if (below(3) == 0)
        changed.erase(at, 1 + below(6));
      else if (below(2) == 0)
        changed.insert(at, 1, kBytes[below(kBytes.size())]);
      else
        changed[at] = kBytes[below(kBytes.size())];
    }
    expect_same_as_the_library(changed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ParseJson, SizeIsLimited) {
  const auto doc = parse_json("[1,2,3]", "t", 6);
  ASSERT_FALSE(doc);
  EXPECT_EQ(doc.error().kind, ErrorKind::too_large);
}

TEST(ParseJson, TakesLinearTimeForManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 600'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  // Looking each key up among those before it would take longer than the test may.
  EXPECT_TRUE(parse_json(text + "\"last\":0}", "t"));
}

TEST(JsonReads, AreTypedAndRanged) {
  const Json doc =
      *parse_json(R"({"i":-1,"big":18446744073709551615,"d":1.5,"s":"x","b":true,"n":null})", "t");
  EXPECT_EQ(get_int(doc, "i"), -1);
  EXPECT_EQ(get_uint(doc, "i"), std::nullopt);
  EXPECT_EQ(get_int(doc, "big"), std::nullopt);
  EXPECT_EQ(get_uint(doc, "big"), UINT64_MAX);
  EXPECT_EQ(get_int(doc, "d"), std::nullopt);
  EXPECT_EQ(get_double(doc, "i"), -1.0);
  EXPECT_EQ(get_string(doc, "i"), std::nullopt);
  EXPECT_EQ(get_bool(doc, "b"), true);
  EXPECT_EQ(get_string(doc, "absent"), std::nullopt);
  EXPECT_TRUE(member(doc, "n").is_null());
  EXPECT_TRUE(member(Json::array(), "n").is_null());
}

TEST(JsonWrites, AbsentIsAbsent) {
  Json doc = Json::object();
  put(doc, "none", std::optional<int>());
  put(doc, "zero", std::optional<int>(0));
  put(doc, "empty", std::string());
  EXPECT_EQ(dump_line(doc), R"({"zero":0})");
}

// What `--json -` shows on a terminal: no control, no direction, and the same text when it is read.
TEST(Json, DeceptiveCharactersAreEscapedAndReadBack) {
  const Json doc{{"s", "a\u009b\u202e\u200b\x7f\x1b\U000e0041\u00e9"}};
  EXPECT_EQ(dump_line(doc), "{\"s\":\"a\\u009b\\u202e\\u200b\\u007f\\u001b\\udb40\\udc41\u00e9\"}");
  EXPECT_EQ(*parse_json(dump_line(doc), "t"), doc);
  EXPECT_EQ(dump(Json{{"k\u202e", "\u2066\x7f"}}), "{\n  \"k\\u202e\": \"\\u2066\\u007f\"\n}\n");
}

TEST(JsonWrites, NothingThatIsNoNumberOrText) {
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), std::nullopt);
  const auto text = dump(Json{{"s", "bad \xff byte"}});
  EXPECT_TRUE(parse_json(text, "t"));
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(Json, KeepsEmptyWhatIsLeftOut) {
  constexpr std::string_view kLeftOut[] = {"samples"};
  const auto kept = [&](std::string_view text) {
    const auto doc = parse_json(text, "x", 1 << 20, kLeftOut);
    return doc ? dump_line(*doc) : doc.error().message;
  };
  EXPECT_EQ(kept(R"({"samples": [1, {"a": [2]}], "b": [3]})"), R"({"samples":[],"b":[3]})");
  EXPECT_EQ(kept(R"({"c": {"samples": {"a": {"a": 1}}, "b": 2}})"),
            R"({"c":{"samples":{},"b":2}})");
  EXPECT_EQ(kept(R"({"l": [{"samples": 1}, {"b": [2]}]})"), R"({"l":[{"samples":1},{"b":[2]}]})");
  // Beyond ASCII the library reads.
  EXPECT_EQ(kept("{\"samples\": [\"\u00e9\"], \"b\": \"\u00e9\"}"),
            "{\"samples\":[],\"b\":\"\u00e9\"}");
  const std::string deep = "{\"samples\": " + std::string(64, '[') + std::string(64, ']') + "}";
  EXPECT_NE(kept(deep).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace gpuready
