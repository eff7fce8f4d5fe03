#include "report/selftest_report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gpuready {
namespace {

SelfTestRow row(VerdictStatus status, std::uint64_t trials, std::uint64_t detected,
                std::optional<std::string> fault = "stuck") {
  SelfTestRow row;
  row.subject = "GPU 0";
  row.executor = "cuda";
  row.test = "memory";
  row.fault = std::move(fault);
  row.status = status;
  row.reason = "because";
  row.trials = trials;
  row.detected = detected;
  row.placed = detected;
  return row;
}

SelfTestReport report_of(std::vector<SelfTestRow> rows) {
  SelfTestReport report;
  report.tool_version = "1.2.3";
  report.created_utc = "2026-01-01T00:00:00Z";
  report.seed = 7;
  report.rows = std::move(rows);
  report.duration_ms = 12.5;
  conclude(report);
  return report;
}

TEST(SelfTestReport, OneMissedFaultIsExit1) {
  EXPECT_EQ(report_of({row(VerdictStatus::passed, 1000, 1000)}).exit, Exit::ok);
  EXPECT_EQ(report_of({row(VerdictStatus::passed, 9, 9), row(VerdictStatus::failed, 9, 8)}).exit,
            Exit::unhealthy);
}

TEST(SelfTestReport, WhatWasNotTriedIsExit4) {
  EXPECT_EQ(report_of({row(VerdictStatus::passed, 9, 9), row(VerdictStatus::timed_out, 0, 0)}).exit,
            Exit::unknown);
  EXPECT_EQ(report_of({}).exit, Exit::unknown);
  EXPECT_EQ(report_of({row(VerdictStatus::not_supported, 0, 0)}).exit, Exit::unknown);
}

TEST(SelfTestReport, TheConclusionCounts) {
  using enum VerdictStatus;
  EXPECT_EQ(
      report_of({row(passed, 900, 900), row(passed, 100, 100)}).conclusion,
      "Every injected fault was found where it must be, and no clean run failed: 1000 trials.");
  EXPECT_EQ(report_of({row(passed, 9, 9), row(failed, 9, 8), row(timed_out, 0, 0)}).conclusion,
            "1 of 3 cases did not end as they must.");
  for (const auto status : {not_tested, timed_out, inconclusive})
    EXPECT_EQ(report_of({row(passed, 9, 9), row(status, 0, 0)}).conclusion,
              "1 of 2 cases could not be tried.");
  EXPECT_EQ(report_of({row(not_supported, 0, 0)}).conclusion,
            "None of the cases can be tried here.");
}

TEST(SelfTestReport, RatesHaveTheirBounds) {
  const auto report = report_of({row(VerdictStatus::passed, 1000, 1000),
                                 row(VerdictStatus::failed, 100, 99, std::nullopt),
                                 row(VerdictStatus::not_tested, 0, 0)});
  const Json doc = to_json(report, report);
  EXPECT_EQ(doc.at("rows").at(0).at("rate"), 1);
  EXPECT_NEAR(doc.at("rows").at(0).at("rate_low").get<double>(), 0.99617, 1e-5);
  EXPECT_EQ(doc.at("rows").at(1).at("false_alarms"), 1) << "a clean run that did not pass";
  EXPECT_FALSE(doc.at("rows").at(2).contains("rate"));
  const std::string text = render_terminal(report, {});
  EXPECT_NE(text.find("1000 of 1000"), std::string::npos) << text;
  EXPECT_NE(text.find("99.62 to 100%"), std::string::npos) << text;
  EXPECT_NE(text.find("1 alarms in 100"), std::string::npos) << text;

  const std::filesystem::path folder = std::string(GPUREADY_BINARY_DIR) + "/test-documents";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "selftest.sample.json") << dump(doc);
}

}  // namespace
}  // namespace gpuready
