// What node-problem-detector and Node Feature Discovery are given, by the tables in
// docs/kubernetes.md.
#include "kubernetes/report/condition.h"

#include <gtest/gtest.h>

#include "doctor/diagnose.h"
#include "host/recording/recording.h"
#include "kubernetes/driver_root.h"
#include "kubernetes/report/exit_rules.h"
#include "kubernetes/report/features.h"
#include "report/conclude.h"
#include "unit/report/healthy.h"

namespace gpuready::kubernetes {
namespace {

constexpr std::int64_t kNoon = 1'772'366'400;  // 2026-03-01T12:00:00Z

Report node(int gpus = 8) {
  Report report = healthy(gpus);
  report.command = "doctor";
  report.verdicts.reset();
  report.findings.emplace();
  conclude(report, {});
  return report;
}
Report with_error(std::vector<int> gpus, std::string id = "off-the-bus") {
  Report report = node();
  Finding finding;
  finding.id = std::move(id);
  finding.severity = Severity::error;
  finding.action = Action::power_cycle;
  finding.gpus = std::move(gpus);
  report.findings->push_back(finding);
  conclude(report, {});
  return report;
}
Result<StatusReport> kept(Standing standing, std::string reason = "") {
  StatusReport status;
  status.standing = standing;
  status.valid_seconds = 90'000;
  KeptResult result;
  result.subject = "GPU 3";
  result.standing = standing;
  result.reason = std::move(reason);
  result.tested_unix_seconds = kNoon;
  status.results = {result};
  return status;
}
const Result<StatusReport> kGood = kept(Standing::good);
const Result<StatusReport> kLost = fail(ErrorKind::no_permission, "results.json: not yours");

// As node-problem-detector sees it.
std::string said(const Condition& condition) {
  EXPECT_LE(condition.line.size(), 80u);
  EXPECT_EQ(condition.line.find('\n'), std::string::npos);
  return std::to_string(static_cast<int>(exit_of(condition))) + " " + condition.line;
}

TEST(NotReady, NamesTheCauseAndTheAction) {
  EXPECT_EQ(said(not_ready(node(), kGood)), "0 8 GPUs without a problem");
  EXPECT_EQ(said(not_ready(node(0), kGood)), "0 no GPU in this node");
  EXPECT_EQ(said(not_ready(with_error({3}), kGood)), "1 off-the-bus: GPU 3; power_cycle");
  Report several = with_error({0, 1, 2}, "nvlink-down");
  several.findings->push_back(several.findings->front());
  EXPECT_EQ(said(not_ready(several, kGood)), "1 nvlink-down: GPUs 0,1,2; power_cycle (and 1 more)");
  Report warned = with_error({3});
  warned.findings->front().severity = Severity::warning;
  conclude(warned, {});
  EXPECT_EQ(said(not_ready(warned, kGood)), "0 8 GPUs without a problem");
}

TEST(NotReady, ATestThatFailedIsAProblemAndAnUntestedNodeIsNot) {
  EXPECT_EQ(said(not_ready(node(), kept(Standing::bad, "2 words were wrong"))),
            "1 test bad: GPU 3: 2 words were wrong");
  EXPECT_EQ(said(not_ready(node(), kept(Standing::absent, "it was here before"))),
            "1 test absent: GPU 3: it was here before");
  for (const auto standing :
       {Standing::never_tested, Standing::expired, Standing::unknown, Standing::retest})
    EXPECT_EQ(said(not_ready(node(), kept(standing))), "0 8 GPUs without a problem");
  EXPECT_EQ(said(not_ready(node(), kLost)), "4 results unknown: results.json: not yours");
  EXPECT_EQ(said(not_ready(with_error({3}), kLost)), "1 off-the-bus: GPU 3; power_cycle");
}

TEST(NotReady, ADriverThatDoesNotAnswerIsAProblem) {
  Report report = node();
  report.machine.nvidia.nvml_outcome = "timed_out";
  EXPECT_EQ(said(not_ready(report, kGood)), "1 the driver does not answer");
}

TEST(NotReady, WhatIsAbsentIsAProblemAndWhatIsNotKnownIsUnknown) {
  Report report = node();
  report.exit = Exit::required_absent;
  report.conclusion = "8xH100 is required.";
  EXPECT_EQ(said(not_ready(report, kGood)), "1 8xH100 is required.");
  report.exit = Exit::unknown;
  report.conclusion = "The bus cannot be read.";
  EXPECT_EQ(said(not_ready(report, kGood)), "4 The bus cannot be read.");
}

TEST(NotReady, TheLineIsShortAndPlain) {
  const auto long_one = not_ready(node(), kept(Standing::bad, std::string(200, 'a')));
  EXPECT_EQ(long_one.line.size(), 80u);
  const auto hostile = not_ready(node(), kept(Standing::bad, "a\n\x1b[31m\xc3\xa4\xff"));
  EXPECT_EQ(said(hostile), "1 test bad: GPU 3: a ?[31m??");
}

TEST(Untested, WhatDoesNotCountIsUntestedAndSoIsWhatCannotBeRead) {
  EXPECT_EQ(said(untested(kGood)), "0 tested: level quick");
  EXPECT_EQ(said(untested(kept(Standing::bad))), "0 tested: bad");
  EXPECT_EQ(said(untested(kept(Standing::absent))), "0 tested: absent");
  EXPECT_EQ(said(untested(StatusReport{})), "1 never tested");
  EXPECT_EQ(said(untested(kept(Standing::expired))), "1 expired: GPU 3");
  EXPECT_EQ(said(untested(kept(Standing::retest))), "1 retest: GPU 3");
  EXPECT_EQ(said(untested(kept(Standing::unknown))), "1 unknown: GPU 3");
  EXPECT_EQ(said(untested(kLost)), "1 no result: results.json: not yours");
}

TEST(Features, AreLabelsThatExpireWithTheResult) {
  const std::string prefix = "feature.node.kubernetes.io/gpuready-";
  EXPECT_EQ(features(node(), kGood),
            prefix + "gpus=8\n" + prefix + "usable=8\n" + prefix + "action=none\n" + prefix +
                "model=NVIDIA-H100-80GB-HBM3\n"
                "# +expiry-time=2026-03-02T13:00:00Z\n" +
                prefix + "level=quick\n" + prefix + "standing=good\n" + prefix + "ready=true\n");
  EXPECT_EQ(features(with_error({3}), kept(Standing::expired)),
            prefix + "gpus=8\n" + prefix + "usable=7\n" + prefix + "action=power_cycle\n" + prefix +
                "model=NVIDIA-H100-80GB-HBM3\n" + prefix + "standing=expired\n" + prefix +
                "ready=false\n");
  EXPECT_NE(features(node(), kLost).find("standing=never_tested\n"), std::string::npos);
  EXPECT_NE(features(with_error({3}), kGood).find("ready=false\n"), std::string::npos);
}

TEST(Features, ValuesAreThoseOfLabels) {
  EXPECT_EQ(label_value("NVIDIA RTX A6000 (x)"), "NVIDIA-RTX-A6000--x");
  EXPECT_EQ(label_value("-_.a._-"), "a");
  EXPECT_EQ(label_value("\xc3\xa4"), "");
  EXPECT_EQ(label_value("0/9:0@A[Z`a{z"), "0-9-0-A-Z-a-z");  // the ends of the ranges, and beyond
  EXPECT_EQ(label_value(std::string(62, 'a') + "--b"), std::string(62, 'a'));
}

TEST(JudgeNode, ALookThatSucceededIsJudgedWithTheKeptResults) {
  const auto judged = judge_node(with_error({3}), kGood, std::nullopt);
  ASSERT_TRUE(judged);
  EXPECT_EQ(said(judged->condition), said(not_ready(with_error({3}), kGood)));
  ASSERT_TRUE(judged->report);
  EXPECT_EQ(judged->report->machine.gpus.size(), 8u);
  EXPECT_TRUE(judged->status);
  EXPECT_FALSE(judge_node(node(), kLost, std::nullopt)->status);
}

TEST(JudgeNode, OnlyADriverThatIsNotBelowItsRootIsAProblemOfTheNode) {
  const auto missing = fail(ErrorKind::not_found, "no libnvidia-ml.so.1");
  const auto judged = judge_node(missing, kGood, "/run/nvidia/driver");
  ASSERT_TRUE(judged);
  EXPECT_FALSE(judged->report);
  EXPECT_TRUE(judged->status);
  EXPECT_EQ(said(judged->condition), said(without_driver("/run/nvidia/driver")));
  const auto without_root = judge_node(missing, kGood, std::nullopt);
  ASSERT_FALSE(without_root);
  EXPECT_EQ(without_root.error().message, "no libnvidia-ml.so.1");
  const auto other = judge_node(fail(ErrorKind::bad_input, "wrong policy"), kGood, "/run/driver");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "wrong policy");
}

TEST(LookSeconds, AreInAllWhateverInspectionAddsForEachGpu) {
  EXPECT_EQ(look_seconds(std::nullopt, 0), 20);
  EXPECT_EQ(look_seconds(std::nullopt, 8), -60);  // inspection adds 80
  EXPECT_EQ(look_seconds(5, 1), -5);
  EXPECT_EQ(look_seconds(40, 2), 20);
}

TEST(DriverRoot, HasNvmlInAFolderThatDriversUse) {
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64"}) {
    Recording recording;
    recording.closed_world = true;
    const std::string path = std::string("/run/driver") + folder + "/libnvidia-ml.so.1";
    recording.files[path] = "";
    for (const char* root : {"/run/driver", "/run/driver///"})
      EXPECT_EQ(nvml_below(*make_recorded_host(recording), root), path);
    EXPECT_FALSE(nvml_below(*make_recorded_host(recording), "/run"));
  }
  Recording root;
  root.closed_world = true;
  root.files["/lib64/libnvidia-ml.so.1"] = "";
  EXPECT_EQ(nvml_below(*make_recorded_host(root), "/"), "/lib64/libnvidia-ml.so.1");
  root.files.clear();
  const auto none = nvml_below(*make_recorded_host(root), "/run/driver/");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_EQ(none.error().message,
            "--driver-root /run/driver: no libnvidia-ml.so.1 is below it: is the driver's "
            "container running, and is its root mounted here?");
}

}  // namespace
}  // namespace gpuready::kubernetes
