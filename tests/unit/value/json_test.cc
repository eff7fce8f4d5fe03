#include "value/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "fill.h"

namespace gpuready {
namespace {

template <class T>
class ValueJson : public ::testing::Test {};
using Values = ::testing::Types<Machine, Finding, Verdict, Samples>;
TYPED_TEST_SUITE(ValueJson, Values);

TYPED_TEST(ValueJson, EveryFieldGoesThereAndBack) {
  const Json doc = to_json(value::filled<TypeParam>());
  const auto back = value_from_json<TypeParam>(*parse_json(dump(doc), "test"), "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump(to_json(*back)), dump(doc));
}

void collect(const Json& doc, std::multiset<std::string>& texts) {
  if (doc.is_structured())
    for (const auto& item : doc) collect(item, texts);
  else if (!doc.is_boolean())
    texts.insert(doc.dump());
}

// One that is there twice was written from the wrong field.
TYPED_TEST(ValueJson, EveryFieldIsWrittenFromItsOwn) {
  std::multiset<std::string> texts;
  collect(to_json(value::filled<TypeParam>()), texts);
  const std::set<std::string> names = {"\"amd\"",         "\"nvlink\"", "\"warning\"",
                                       "\"check_again\"", "\"failed\"", "\"restarts_service\"",
                                       "\"guest\"",       "\"root\""};
  for (const auto& text : texts)
    EXPECT_TRUE(names.contains(text) || texts.count(text) == 1) << text;
}

TYPED_TEST(ValueJson, NothingKnownIsAShortDocumentThatIsReadAgain) {
  const Json doc = to_json(TypeParam{});
  const auto back = value_from_json<TypeParam>(doc, "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump(to_json(*back)), dump(doc));
}

TYPED_TEST(ValueJson, UnknownKeysArePassedOver) {
  Json doc = to_json(value::filled<TypeParam>());
  doc["of a later version"] = 1;
  EXPECT_TRUE(value_from_json<TypeParam>(doc, "test"));
}

TYPED_TEST(ValueJson, WhatIsNoObjectIsRefused) {
  for (const char* text : {"[]", "3", "null", "\"text\""})
    EXPECT_FALSE(value_from_json<TypeParam>(*parse_json(text, "test"), "test")) << text;
}

std::string error_of(const char* path, const Json& wrong) {
  Json doc = to_json(value::filled<Machine>());
  doc[Json::json_pointer(path)] = wrong;
  const auto back = value_from_json<Machine>(doc, "node 7");
  return back ? "" : back.error().message;
}

TEST(ValueJson, ErrorsNameThePathAndWhatIsWrongThere) {
  EXPECT_EQ(error_of("/gpus/0/memory/total_bytes", "1 GiB"),
            "node 7: gpus[0].memory.total_bytes is not a whole number");
  EXPECT_EQ(error_of("/gpus/0/memory/total_bytes", -1),
            "node 7: gpus[0].memory.total_bytes is out of range");
  EXPECT_EQ(error_of("/gpus/0/index", 4294967296), "node 7: gpus[0].index is out of range");
  EXPECT_EQ(error_of("/gpus/0/vendor", "acme"), "node 7: gpus[0].vendor is not one of its names");
  EXPECT_EQ(error_of("/gpus/0/pci", "17:00"), "node 7: gpus[0].pci is not a PCI address");
  EXPECT_EQ(error_of("/pci/0/vendor_id", "0x123456"), "node 7: pci[0].vendor_id is out of range");
  EXPECT_EQ(error_of("/nodes/0/mode", "0999"), "node 7: nodes[0].mode is not an octal number");
  EXPECT_EQ(error_of("/system", 3), "node 7: system is not an object");
  EXPECT_EQ(error_of("/gpus", 3), "node 7: gpus is not a list");
  EXPECT_EQ(error_of("/full", nullptr), "node 7: full is missing");
}

TEST(ValueJson, ASetButEmptyVariableIsTold) {
  Machine machine;
  machine.visibility.cuda_visible_devices = "";
  EXPECT_EQ(to_json(machine).at("visibility"), (Json{{"cuda_visible_devices", ""}}));
}

TEST(ValueJson, ZeroThatWasReportedStaysAndNothingIsAbsent) {
  Machine machine;
  machine.gpus.emplace_back().memory.used_bytes = 0;
  const Json gpu = to_json(machine).at("gpus").at(0);
  EXPECT_EQ(gpu.at("memory"), (Json{{"used_bytes", 0}}));
  EXPECT_FALSE(gpu.contains("clocks"));
  EXPECT_FALSE(gpu.contains("name"));
}

TEST(ValueJson, NumbersThatAreNoneNeverReachADocument) {
  Verdict verdict;
  verdict.duration_ms = std::numeric_limits<double>::quiet_NaN();
  verdict.metrics = {{"rate", std::numeric_limits<double>::infinity(), "B/s", {}, {}}};
  const Json doc = to_json(verdict);
  EXPECT_FALSE(doc.contains("duration_ms"));
  EXPECT_FALSE(doc.at("metrics").at(0).contains("value"));
  EXPECT_FALSE(value_from_json<Verdict>(doc, "test"))
      << "and a metric without a value is not one of 0";
}

TEST(ValueJson, WordsKeepAll64Bits) {
  Verdict verdict;
  verdict.bad_words = {{0xffffffffffff8, 0xdeadbeef00000001, 0xdeadbeef00000003, "address"}};
  const Json doc = to_json(verdict);
  EXPECT_EQ(doc.at("bad_words").at(0).at("bits"), "0x0000000000000002");
  EXPECT_EQ(value_from_json<Verdict>(doc, "test")->bad_words[0].expected, 0xdeadbeef00000001u);
}

TEST(ValueJson, EveryNameIsReadBack) {
  for (const auto& [status, name] : kNames<VerdictStatus>) {
    Verdict verdict;
    verdict.status = status;
    EXPECT_EQ(to_json(verdict).at("status"), name);
    EXPECT_EQ(value_from_json<Verdict>(to_json(verdict), "test")->status, status);
  }
}

TEST(ValueJson, EndlessFindingsEnd) {
  Finding finding;
  for (int i = 0; i < 40; ++i) {
    Finding outer;
    outer.explains.push_back(std::move(finding));
    finding = std::move(outer);
  }
  EXPECT_TRUE(parse_json(dump(to_json(finding)), "test"));
}

}  // namespace
}  // namespace gpuready
