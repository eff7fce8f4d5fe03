#include "base/nodes/document_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gpuready {
namespace {

struct Parts {
  std::vector<StreamPart> parts;  // by label, each label's in their order
  bool whole = false;
};
Parts split(std::string_view stream, const StreamLimits& limits = {}, std::size_t piece = 1 << 20) {
  Parts found;
  DocumentStream documents(limits,
                           [&](StreamPart part) { found.parts.push_back(std::move(part)); });
  for (std::size_t at = 0; at < stream.size(); at += piece)
    documents.feed(stream.substr(at, piece));
  found.whole = documents.finish();
  std::ranges::stable_sort(found.parts, {}, &StreamPart::label);
  return found;
}

// "label|text" of each, or "label!fault"; however the stream is cut into pieces.
std::vector<std::string> said(std::string_view stream, const StreamLimits& limits = {}) {
  std::vector<std::vector<std::string>> all;
  for (const std::size_t piece : {std::size_t{1 << 20}, std::size_t{1}, std::size_t{7}}) {
    auto& out = all.emplace_back();
    for (const StreamPart& part : split(stream, limits, piece).parts)
      out.push_back(part.label + (part.fault.empty() ? "|" + part.text : "!" + part.fault));
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
  return all[0];
}
using Said = std::vector<std::string>;

TEST(DocumentStream, TakesDocumentsHoweverTheyFollow) {
  EXPECT_EQ(said("{\"a\": 1}\n{\n  \"b\": {}\n}\n{}{\"c\": 2} {}"),
            (Said{"|{\"a\": 1}", "|{\n  \"b\": {}\n}", "|{}", "|{\"c\": 2}", "|{}"}));
  EXPECT_EQ(said(""), Said{});
  EXPECT_EQ(said(R"({"a": "}\"{ \\"}{})"), (Said{R"(|{"a": "}\"{ \\"})", "|{}"}));
}

TEST(DocumentStream, SeparatesWhatProgramsInterleave) {
  EXPECT_EQ(said(" 0: {\n10: {\n 0:   \"a\": 1\n10:   \"b\": 2\n10: }\n 0: }\n"),
            (Said{"0|{\n  \"a\": 1\n}", "10|{\n  \"b\": 2\n}"}));
  EXPECT_EQ(said("n-1.x: {\nn2: {}\nn-1.x:   \"a\": 1\nn-1.x: }\n"),
            (Said{"n-1.x|{\n  \"a\": 1\n}", "n2|{}"}));
  EXPECT_EQ(said("[pod/n7-x/check] {\n[pod/n8-y/check] {}\n[pod/n7-x/check] }\n"),
            (Said{"pod/n7-x/check|{\n}", "pod/n8-y/check|{}"}));
}

TEST(DocumentStream, WhatIsBrokenCostsOnlyItself) {
  EXPECT_EQ(said("{\n  \"a\": \"cut\n{\n  \"b\": 2\n}\nsrun: error: n7: task 3 {killed}\n{}\n{"),
            (Said{"!it ends too early", "|{\n  \"b\": 2\n}", "|{}", "!it ends too early"}));
  EXPECT_EQ(said("}]\n{}"), Said{"|{}"});
}

TEST(DocumentStream, IsLimited) {
  const StreamLimits limits{.document_bytes = 8, .documents = 2};
  EXPECT_EQ(said("{\"a\": 1}\n{\"a\": 10}\n", limits),
            (Said{"|{\"a\": 1}", "!it is longer than 8 bytes"}));
  // A line without end is not kept.
  EXPECT_EQ(said("{\"a\": \"" + std::string(1000, 'x') + "\"}\n{}\n", limits),
            (Said{"!it is longer than 8 bytes", "|{}"}));
  EXPECT_TRUE(split("{}{}", limits).whole);
  EXPECT_FALSE(split("{}{}{}", limits).whole);
  EXPECT_FALSE(split("1: {}\n2: {}\n3: {}", limits).whole);
  EXPECT_FALSE(split("a: x\nb: x\nc: x\nd: x\n", limits).whole);
  EXPECT_EQ(said("{}{}{}", limits).size(), 2u);
}

}  // namespace
}  // namespace gpuready
