#include "health/verdict_json.h"

#include <gtest/gtest.h>

#include <limits>

namespace gpuready {
namespace {

Verdict full_verdict() {
  Verdict v;
  v.test = "memory";
  v.subject = "GPU 0";
  v.uuid = "GPU-1";
  v.pci_address = "0000:17:00.0";
  v.executor = "cuda";
  v.status = VerdictStatus::failed;
  v.reason = "because";
  v.coverage = Coverage{1, 2, 3, 4};
  v.metrics = {{"copy_rate", 4.3e12, "B/s", 1.0, "here"}, {"plain", 1, "1", {}, {}}};
  v.bad_words_total = 70;
  v.bad_words = {{0xffffffffffff8, 0xdeadbeef00000001, 0xdeadbeef00000003, "address"}};
  v.duration_ms = 12.5;
  v.injected_fault = "bitflip";
  return v;
}

TEST(VerdictJson, GoesThereAndBackUnchanged) {
  const Json doc = to_json(full_verdict());
  const auto back = verdict_from_json(*parse_json(dump(doc), "test"), "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump(to_json(*back)), dump(doc));
  EXPECT_EQ(back->bad_words[0].expected, 0xdeadbeef00000001u) << "all 64 bits survive";
  EXPECT_EQ(back->coverage->reserved_bytes, 4u);
  EXPECT_FALSE(back->metrics[1].threshold);
}

TEST(VerdictJson, WhatIsNotKnownIsAbsent) {
  Verdict v;
  v.test = "memory";
  const Json doc = to_json(v);
  for (const char* key : {"uuid", "pci_address", "coverage", "executor"}) {
    EXPECT_FALSE(doc.contains(key)) << key;
  }
}

TEST(VerdictJson, NoNumberThatIsNoneReachesADocument) {
  Verdict v = full_verdict();
  v.duration_ms = std::numeric_limits<double>::quiet_NaN();
  v.metrics[0].threshold = std::numeric_limits<double>::infinity();
  const Json doc = to_json(v);
  EXPECT_FALSE(doc.contains("duration_ms"));
  EXPECT_FALSE(doc["metrics"][0].contains("threshold"));
}

TEST(VerdictJson, EveryStatusHasANameThatIsReadBack) {
  using enum VerdictStatus;
  for (auto status : {passed, failed, not_tested, not_supported, timed_out, inconclusive}) {
    Verdict v;
    v.test = "memory";
    v.status = status;
    EXPECT_EQ(verdict_from_json(to_json(v), "test")->status, status);
  }
}

TEST(VerdictJson, WhatIsNoVerdictIsRefused) {
  for (const char* text :
       {"{}", "[]", "3", R"({"test":"memory"})", R"({"test":"memory","status":"great"})",
        R"({"test":"memory","status":"passed","coverage":{"tested_bytes":-1}})",
        R"({"test":"memory","status":"passed","metrics":[{"name":"x"}]})",
        R"({"test":"memory","status":"passed","bad_words":[{"offset_bytes":"zz"}]})"}) {
    EXPECT_FALSE(verdict_from_json(*parse_json(text, "test"), "test")) << text;
  }
}

}  // namespace
}  // namespace gpuready
