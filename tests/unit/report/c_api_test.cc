// The C interface's documents.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "gpuready/gpuready.h"

namespace gpuready {
namespace {

class CDocuments : public ::testing::Test {
 protected:
  void SetUp() override { setenv("GPUREADY_FAKE", "cuda", 1); }
  void TearDown() override { unsetenv("GPUREADY_FAKE"); }

  static Json document(gpuready_status (*make)(char**)) {
    char* text = nullptr;
    EXPECT_EQ(make(&text), GPUREADY_OK) << gpuready_last_error();
    if (text == nullptr) return {};
    const auto doc = parse_json(text, "document");
    gpuready_free(text);
    EXPECT_TRUE(doc) << doc.error().message;
    return doc.value_or(Json());
  }
};

TEST_F(CDocuments, OfTheMachineAndOfItsDiagnosisAreReports) {
  const Json machine = document(gpuready_inspect_json);
  EXPECT_EQ(machine.at("schema"), "gpuready.report");
  EXPECT_EQ(machine.at("command"), "detect");
  EXPECT_EQ(machine.at("machine").at("faked"), Json::array({"cuda"}));
  EXPECT_FALSE(machine.contains("findings"));
  const Json diagnosis = document(gpuready_diagnose_json);
  EXPECT_EQ(diagnosis.at("command"), "doctor");
  EXPECT_TRUE(diagnosis.at("findings").is_array());
  EXPECT_EQ(diagnosis.at("machine").at("gpus"), machine.at("machine").at("gpus"));
}

TEST_F(CDocuments, AnErrorLeavesNothingToFree) {
  setenv("GPUREADY_FAKE", "tpu", 1);
  char* text = const_cast<char*>("not ours");
  EXPECT_EQ(gpuready_inspect_json(&text), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(text, nullptr);
  EXPECT_NE(std::strstr(gpuready_last_error(), "tpu"), nullptr);
  EXPECT_EQ(gpuready_diagnose_json(nullptr), GPUREADY_BAD_ARGUMENT);
  gpuready_free(nullptr);
}

}  // namespace
}  // namespace gpuready
