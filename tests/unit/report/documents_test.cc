// Writes the documents that tests/schema validates, and checks what a schema cannot say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "report/report.h"
#include "samples.h"

namespace gpuready {
namespace {

// No null anywhere, and no number that JSON does not have (which would be written as null).
void expect_no_null(const Json& doc, const std::string& where) {
  EXPECT_FALSE(doc.is_null()) << where;
  if (!doc.is_structured()) return;
  for (const auto& [key, value] : doc.items()) expect_no_null(value, where + "/" + key);
}

TEST(ReportDocument, OfEverySampleParsesAgainAndHoldsNoNull) {
  const std::filesystem::path folder = std::string(GPUREADY_BINARY_DIR) + "/test-documents";
  std::filesystem::create_directories(folder);
  for (const auto& [name, report] : samples::all()) {
    const std::string text = dump(to_json(report));
    const auto parsed = parse_json(text, name);
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().message;
    expect_no_null(*parsed, name);
    std::ofstream(folder / ("report." + name + ".json")) << text;
  }
}

TEST(ReportDocument, AGpuHasTheIdsOfItsFindingsAndOfThoseFoldedUnderOthers) {
  const auto finding = [](std::string id, std::vector<int> gpus) {
    Finding made;
    made.id = std::move(id);
    made.gpus = std::move(gpus);
    return made;
  };
  Report report;
  report.machine.gpus.resize(3);
  for (int i = 0; i < 3; ++i) report.machine.gpus[static_cast<std::size_t>(i)].index = i;
  report.findings = {finding("outer", {0}), finding("other", {0, 1})};
  report.findings->front().explains = {finding("inner", {0}), finding("neighbour", {1})};
  const Json status = to_json(report).at("gpu_status");
  EXPECT_EQ(status.at(0).at("findings"), Json::array({"outer", "inner", "other"}));
  EXPECT_EQ(status.at(1).at("findings"), Json::array({"neighbour", "other"}));
  EXPECT_EQ(status.at(2).at("findings"), Json::array());
}

TEST(ReportDocument, AbsentIsAbsentAndAskedIsEmptyList) {
  Report report;
  Json doc = to_json(report);
  EXPECT_FALSE(doc.contains("findings"));
  EXPECT_FALSE(doc.contains("verdicts"));
  report.findings.emplace();
  doc = to_json(report);
  EXPECT_EQ(doc.at("findings"), Json::array());
  EXPECT_EQ(doc.at("machine").at("gpus"), Json::array());
  EXPECT_FALSE(doc.at("machine").contains("container"));
}

TEST(ReportDocument, ZeroThatWasReportedStays) {
  Report report;
  report.machine.gpus.emplace_back().memory.used_bytes = 0;
  EXPECT_EQ(to_json(report).at("machine").at("gpus").at(0).at("memory"), (Json{{"used_bytes", 0}}));
}

TEST(ReportDocument, FakedMachineSaysWhat) {
  EXPECT_EQ(to_json(samples::faked()).at("machine").at("faked"), Json::array({"cuda"}));
  EXPECT_FALSE(to_json(samples::healthy()).at("machine").contains("faked"));
}

TEST(ReportDocument, NotANumberIsLeftOut) {
  Report report;
  report.duration_ms = std::numeric_limits<double>::quiet_NaN();
  report.machine.container.cpu_limit = std::numeric_limits<double>::infinity();
  const Json doc = to_json(report);
  EXPECT_FALSE(doc.contains("duration_ms"));
  EXPECT_FALSE(doc.at("machine").contains("container"));
}

TEST(ReportDocument, AddressesAreTextAndIdentifiersHexadecimal) {
  const Json doc = to_json(samples::healthy());
  EXPECT_EQ(doc.at("machine").at("gpus").at(0).at("pci"), "0000:17:00.0");
  EXPECT_EQ(doc.at("machine").at("pci").at(0).at("device_id"), "0x2335");
  EXPECT_EQ(doc.at("machine").at("pci").at(0).at("class_code"), "0x030200");
}

TEST(ReportDocument, EveryExitHasAMeaningOfItsOwn) {
  std::set<std::string> meanings;
  for (int code = 0; code <= 4; ++code) {
    Report report;
    report.exit = static_cast<Exit>(code);
    const Json doc = to_json(report);
    EXPECT_EQ(doc.at("exit_code"), code);
    meanings.insert(doc.at("exit_meaning").get<std::string>());
  }
  EXPECT_EQ(meanings.size(), 5u);
}

}  // namespace
}  // namespace gpuready
