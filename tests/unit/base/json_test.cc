#include "base/json.h"

#include <gtest/gtest.h>

#include <ctime>
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

TEST(ParseJson, SizeIsLimited) {
  const auto doc = parse_json("[1,2,3]", "t", 6);
  ASSERT_FALSE(doc);
  EXPECT_EQ(doc.error().kind, ErrorKind::too_large);
}

TEST(ParseJson, TakesLinearTimeForManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  const auto start = std::clock();  // the processor's time: the machine may be busy
  EXPECT_TRUE(parse_json(text + "\"last\":0}", "t"));
  // Looking each key up among those before it would take minutes.
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
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

TEST(JsonWrites, NothingThatIsNoNumberOrText) {
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), std::nullopt);
  const auto text = dump(Json{{"s", "bad \xff byte"}});
  EXPECT_TRUE(parse_json(text, "t"));
  EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace gpuready
