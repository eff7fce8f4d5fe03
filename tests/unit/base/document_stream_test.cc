#include "base/nodes/document_stream.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

// "label|text" of each, or "label!fault".
std::vector<std::string> said(std::string_view stream, const StreamLimits& limits = {}) {
  std::vector<std::string> out;
  for (const StreamPart& part : split_documents(stream, limits).parts)
    out.push_back(part.label + (part.fault.empty() ? "|" + part.text : "!" + part.fault));
  return out;
}
using Said = std::vector<std::string>;

TEST(DocumentStream, TakesDocumentsHoweverTheyFollow) {
  EXPECT_EQ(said("{\"a\": 1}\n{\n  \"b\": {}\n}\n{}{\"c\": 2} {}"),
            (Said{"|{\"a\": 1}", "|{\n  \"b\": {}\n}", "|{}", "|{\"c\": 2}", "|{}"}));
  EXPECT_EQ(said(""), Said{});
  EXPECT_EQ(said(R"({"a": "}\"{ \\"}{})"), (Said{R"(|{"a": "}\"{ \\"})", "|{}"}));
}

TEST(DocumentStream, SeparatesWhatSrunInterleaves) {
  EXPECT_EQ(said(" 0: {\n10: {\n 0:   \"a\": 1\n10:   \"b\": 2\n10: }\n 0: }\n"),
            (Said{"0|{\n  \"a\": 1\n}", "10|{\n  \"b\": 2\n}"}));
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
  EXPECT_FALSE(split_documents("{}{}", limits).cut);
  EXPECT_TRUE(split_documents("{}{}{}", limits).cut);
  EXPECT_TRUE(split_documents("1: {}\n2: {}\n3: {}", limits).cut);
  EXPECT_EQ(said("{}{}{}", limits).size(), 2u);
}

}  // namespace
}  // namespace gpuready
