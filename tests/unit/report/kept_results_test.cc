// What `status` says after which runs, from the table in docs/status.md.
#include "report/kept_results.h"

#include <gtest/gtest.h>

#include "report/conclude.h"
#include "report/exit_rules.h"
#include "unit/report/healthy.h"

namespace gpuready {
namespace {

constexpr std::int64_t kNoon = 1'772'366'400, kHour = 3600;  // 2026-03-01T12:00:00Z
constexpr RunExtent kQuick{Level::quick, true}, kStandard{Level::standard, true},
    kThorough{Level::thorough, true};

Present at(std::int64_t seconds, std::string boot = "b1", std::string driver = "580.1") {
  return {seconds, 25 * kHour, "m", std::move(boot), std::move(driver)};
}

// A run at noon on two GPUs; GPU 1's memory test ended like this.
Report run(VerdictStatus second = VerdictStatus::passed) {
  Report report = healthy(2);
  report.verdicts->at(1).status = second;
  report.verdicts->at(1).reason = "2 words were wrong";
  report.machine.gpus[0].pci = PciAddress{0, 0x17, 0, 0};
  report.machine.gpus[1].pci = PciAddress{0, 0x2a, 0, 0};
  report.machine.nvidia.module_version = "580.1";
  report.created_utc = "2026-03-01T12:00:00Z";
  report.machine_id = "m";
  report.boot_id = "b1";
  conclude(report, {});
  return report;
}
const Report kGood = run(), kBad = run(VerdictStatus::failed);

std::string said(const KeptResults& kept, const Present& now) {
  const auto status = status_of(kept, now);
  EXPECT_LE(status.line.size(), 80u) << status.line;
  return std::to_string(static_cast<int>(exit_of(status.standing))) + " " + status.line;
}

TEST(KeptResults, ToldApart) {
  EXPECT_EQ(said({}, at(kNoon)), "4 never tested: run gpuready check");
  const auto good = keep({}, kGood, kStandard);
  EXPECT_EQ(said(good, at(kNoon + 40)), "0 good: 2 GPUs, level standard, 40 s ago");
  const auto bad = keep(good, kBad, kQuick);
  EXPECT_EQ(said(bad, at(kNoon + 3 * kHour)).substr(0, 23), "1 bad: GPU 1, 3 h ago: ");
  EXPECT_EQ(said(bad, at(kNoon + 60, "b2")),
            "4 retest: GPU 1 was bad; run gpuready test --level quick");
  EXPECT_EQ(said(bad, at(kNoon + 60, "b1", "590.1")),
            "4 retest: GPU 1 was bad; run gpuready test --level quick");
}

TEST(KeptResults, CarriesTheActionAndTheObligationsOfTheRun) {
  Report report = kBad;
  Finding finding;
  finding.action = Action::reset_gpu;
  finding.gpus = {1};
  report.findings = {finding};
  const auto kept = keep({}, report, kQuick);
  ASSERT_EQ(kept.results.size(), 3u);
  EXPECT_EQ(kept.results[0].action, Action::none);
  EXPECT_EQ(kept.results[1].action, Action::reset_gpu);
  EXPECT_EQ(kept.results[2].action, Action::reset_gpu);
  const auto again = parse_kept_results(kept_results_text(kept), "kept");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->results[1].action, Action::reset_gpu);
  ASSERT_EQ(again->results[1].obligations.size(), report.obligations[1].size());
  const auto integrity = std::ranges::find(again->results[1].obligations, ObligationKind::integrity,
                                           &Obligation::kind);
  ASSERT_NE(integrity, again->results[1].obligations.end());
  EXPECT_EQ(integrity->status, ObligationStatus::broken);
  // A run that does not test this GPU leaves its result as it is.
  EXPECT_EQ(keep(kept, run(VerdictStatus::not_tested), kQuick).results[1].action,
            Action::reset_gpu);
}

TEST(KeptResults, AnAdviceIsWhole) {
  for (const Level level : {Level::quick, Level::standard, Level::thorough}) {
    RunExtent extent{level, true, 604'800, true};
    const std::string test = "gpuready test --level " + std::string(to_string(level));
    for (const std::size_t subject : {0u, 1u, 2u}) {
      auto good = keep({}, kGood, extent);
      std::swap(good.results[0], good.results[subject]);
      good.results.resize(1);
      good.results[0].subject += subject == 1 ? "00" : "";
      const std::string line = said(good, at(kNoon, "b2"));
      EXPECT_TRUE(line.ends_with("tested before the latest boot; run " + test)) << line;
      EXPECT_LE(line.size(), 2u + 80u);
    }
    const std::string line = said(keep({}, kBad, extent), at(kNoon, "b2"));
    EXPECT_TRUE(line.ends_with("run " + test + " --duration 604800 --hammer")) << line;
  }
  auto good = keep({}, kGood, kQuick);
  std::erase_if(good.results, [](const auto& each) { return each.subject != "the machine"; });
  EXPECT_EQ(said(good, at(kNoon, "b2")),
            "4 expired: tested before the latest boot; run gpuready test --level quick");
}

TEST(KeptResults, AGoodResultExpires) {
  const auto good = keep({}, kGood, kQuick);
  const std::string again = "; run gpuready test --level quick";
  EXPECT_EQ(said(good, at(kNoon + 25 * kHour)), "0 good: 2 GPUs, level quick, 25 h ago");
  EXPECT_EQ(said(good, at(kNoon + 49 * kHour)), "4 expired: GPU 0: tested 2 d ago" + again);
  EXPECT_EQ(said(good, at(kNoon - 1)), "4 expired: GPU 0: the clock was set back" + again);
  EXPECT_EQ(said(good, at(kNoon, "b2")), "4 expired: GPU 0: tested before the latest boot" + again);
  EXPECT_EQ(said(good, at(kNoon, "b1", "590.1")),
            "4 expired: GPU 0: tested with another driver" + again);
  Present other = at(kNoon);
  other.machine_id = "another";  // its disk was cloned
  EXPECT_EQ(said(good, other), "4 never tested: run gpuready check");
}

TEST(KeptResults, OnlyATestOfTheLevelThatFailedClearsABadGpu) {
  const auto bad = keep({}, kBad, kStandard);
  EXPECT_TRUE(said(keep(bad, kGood, kQuick), at(kNoon)).starts_with("1 bad: GPU 1"));
  EXPECT_TRUE(said(keep(bad, kGood, {Level::thorough, false}), at(kNoon)).starts_with("1 bad"));
  EXPECT_EQ(said(keep(bad, kGood, kThorough), at(kNoon)),
            "0 good: 2 GPUs, level thorough, 0 s ago");
  // A lower level that fails, too, does not make it easier.
  const auto again = keep(bad, kBad, kQuick);
  EXPECT_TRUE(said(keep(again, kGood, kQuick), at(kNoon)).starts_with("1 bad"));
  EXPECT_TRUE(said(keep(again, kGood, kStandard), at(kNoon)).starts_with("0 good"));
  // After a boot it is still not good.
  EXPECT_TRUE(said(keep(bad, kGood, kQuick), at(kNoon, "b2")).starts_with("4 retest: GPU 1"));
}

TEST(KeptResults, OnlyTheTestThatFailedClearsABadGpu) {
  // `test --level quick --only bandwidth` failed: no quick run has that test.
  auto slow = kBad;
  slow.verdicts->at(1).test = "bandwidth";
  const auto bad = keep({}, slow, {Level::quick, false});
  EXPECT_TRUE(said(keep(bad, kGood, kQuick), at(kNoon)).starts_with("1 bad: GPU 1"));
  EXPECT_TRUE(said(keep(bad, kGood, kThorough), at(kNoon)).starts_with("1 bad: GPU 1"));
  EXPECT_EQ(said(bad, at(kNoon, "b2")),
            "4 retest: GPU 1 was bad; run gpuready test --level standard");
  auto whole = kGood;
  whole.verdicts->push_back(whole.verdicts->at(1));
  whole.verdicts->back().test = "bandwidth";
  EXPECT_TRUE(said(keep(bad, whole, kQuick), at(kNoon)).starts_with("1 bad: GPU 1"));
  EXPECT_TRUE(said(keep(bad, whole, kStandard), at(kNoon)).starts_with("0 good"));
  // Another failure does not make the first one easier to clear.
  EXPECT_TRUE(
      said(keep(keep(bad, kBad, kQuick), kGood, kStandard), at(kNoon)).starts_with("1 bad"));
  // A long test that failed is cleared by one as long.
  const auto weak = keep({}, kBad, {Level::standard, true, 3600});
  EXPECT_TRUE(said(keep(weak, kGood, {Level::standard, true, 60}), at(kNoon)).starts_with("1 bad"));
  EXPECT_TRUE(
      said(keep(weak, kGood, {Level::standard, true, 3600}), at(kNoon)).starts_with("0 good"));
}

TEST(KeptResults, WhatRepeatedAccessFoundIsClearedOnlyByRepeatedAccess) {
  const RunExtent hammered{Level::standard, true, 0, true};
  const auto bad = keep({}, kBad, hammered);
  EXPECT_TRUE(said(keep(bad, kGood, kThorough), at(kNoon)).starts_with("1 bad: GPU 1"));
  EXPECT_TRUE(said(keep(bad, kGood, hammered), at(kNoon)).starts_with("0 good"));
  // A later failure without it does not make the first one easier to clear.
  EXPECT_TRUE(
      said(keep(keep(bad, kBad, kQuick), kGood, kThorough), at(kNoon)).starts_with("1 bad"));
  EXPECT_EQ(said(bad, at(kNoon, "b2")),
            "4 retest: GPU 1 was bad; run gpuready test --level standard --hammer");
  EXPECT_EQ(said(keep({}, kBad, {Level::standard, true, 89.5, true}), at(kNoon, "b2")),
            "4 retest: GPU 1 was bad; run gpuready test --level standard --duration 90 --hammer");
  // It is a part of the memory test only.
  auto slow = kBad;
  slow.verdicts->at(1).test = "bandwidth";
  auto whole = kGood;
  whole.verdicts->push_back(whole.verdicts->at(1));
  whole.verdicts->back().test = "bandwidth";
  EXPECT_TRUE(
      said(keep(keep({}, slow, hammered), whole, kStandard), at(kNoon)).starts_with("0 good"));
}

TEST(KeptResults, AnotherDriverOfAnyVendorExpiresAResult) {
  EXPECT_EQ(driver_versions({}, {}), std::nullopt);
  EXPECT_EQ(driver_versions("580.1", {}), "580.1");
  EXPECT_EQ(driver_versions({}, "6.8.5"), "amdgpu 6.8.5");
  EXPECT_EQ(driver_versions("580.1", "6.8.5"), "580.1, amdgpu 6.8.5");
  auto amd = kGood;
  amd.machine.nvidia.module_version = {};
  amd.machine.amd.module_version = "6.8.5";
  const auto good = keep({}, amd, kQuick);
  EXPECT_TRUE(said(good, at(kNoon, "b1", "amdgpu 6.8.5")).starts_with("0 good"));
  EXPECT_EQ(said(good, at(kNoon, "b1", "amdgpu 6.10.5")),
            "4 expired: GPU 0: tested with another driver; run gpuready test --level quick");
}

TEST(KeptResults, ARunThatDecidesNothingKeepsTheResult) {
  auto busy = run(VerdictStatus::not_tested);
  const auto first = keep({}, busy, kQuick);
  EXPECT_EQ(said(first, at(kNoon)), "4 never tested: GPU 1; run gpuready check");
  const auto good = keep({}, kGood, kQuick);
  EXPECT_TRUE(said(keep(good, busy, kQuick), at(kNoon)).starts_with("0 good: 2 GPUs"));
  // Of some tests only a failure counts.
  EXPECT_EQ(said(keep({}, kGood, {Level::quick, false}), at(kNoon)),
            "4 never tested: GPU 0; run gpuready check");
  EXPECT_TRUE(said(keep(good, kBad, {Level::quick, false}), at(kNoon)).starts_with("1 bad: GPU 1"));
}

TEST(KeptResults, NoAnswerIsNotGoodAndClearsNothing) {
  const auto hung = run(VerdictStatus::timed_out);
  const auto good = keep({}, kGood, kQuick);
  EXPECT_TRUE(said(keep(good, hung, kQuick), at(kNoon)).starts_with("4 unknown: GPU 1, 0 s ago"));
  const auto bad = keep({}, kBad, kQuick);
  EXPECT_TRUE(said(keep(bad, hung, kThorough), at(kNoon)).starts_with("1 bad: GPU 1"));
}

TEST(KeptResults, ABadGpuThatIsGoneStaysBadUntilAnotherHasItsPlace) {
  const auto bad = keep({}, kBad, kQuick);
  auto gone = healthy(1);
  static_cast<Envelope&>(gone) = kGood;
  gone.machine.gpus[0].pci = PciAddress{0, 0x17, 0, 0};
  gone.machine.nvidia.module_version = "580.1";
  conclude(gone, {});
  EXPECT_TRUE(said(keep(bad, gone, kQuick), at(kNoon)).starts_with("1 bad: GPU 1"));
  // A good one that is gone is absent until it is there again.
  const auto lost = keep(keep({}, kGood, kQuick), gone, kQuick);
  EXPECT_EQ(said(lost, at(kNoon)), "3 absent: GPU 1, 0 s ago: it was here before");
  EXPECT_TRUE(said(keep(lost, gone, kQuick), at(kNoon)).starts_with("3 absent: GPU 1"));
  EXPECT_TRUE(said(keep(lost, kGood, kQuick), at(kNoon)).starts_with("0 good: 2 GPUs"));
  // A sibling that took its address when the bus was renumbered is not another in its place.
  auto moved = gone;
  moved.machine.gpus[0].pci = PciAddress{0, 0x2a, 0, 0};
  conclude(moved, {});
  EXPECT_TRUE(said(keep(bad, moved, kQuick), at(kNoon)).starts_with("1 bad: GPU 1"));
  auto replaced = kGood;
  for (Verdict& verdict : *replaced.verdicts)
    if (verdict.uuid == "GPU-1") verdict.uuid = "GPU-new";
  replaced.machine.gpus[1].uuid = "GPU-new";
  conclude(replaced, {});
  EXPECT_EQ(said(keep(bad, replaced, kQuick), at(kNoon)), "0 good: 2 GPUs, level quick, 0 s ago");
}

TEST(KeptResults, AGpuWithoutUuidAndAddressIsKnownByItsNumber) {
  auto jetson = kBad;
  for (Gpu& gpu : jetson.machine.gpus) gpu.uuid = {}, gpu.pci = {};
  jetson.findings = std::vector<Finding>(1);
  jetson.findings->front().severity = Severity::error;
  jetson.findings->front().gpus = {1};
  conclude(jetson, {});
  const auto bad = keep({}, jetson, kQuick);
  EXPECT_TRUE(said(bad, at(kNoon)).starts_with("1 bad: GPU 1")) << said(bad, at(kNoon));
  EXPECT_EQ(keep(bad, jetson, kQuick).results.size(), bad.results.size());
}

TEST(KeptResults, WhatConcernsTheMachineIsItsOwnResult) {
  auto few = kGood;
  conclude(few, {.required_gpus = 3});
  EXPECT_TRUE(said(keep({}, few, kQuick), at(kNoon)).starts_with("3 absent: the machine"));
  auto none = healthy(0);
  static_cast<Envelope&>(none) = kGood;
  none.machine.nvidia.module_version = "580.1";
  none.exit = Exit::ok;
  EXPECT_EQ(said(keep({}, none, kQuick), at(kNoon)), "0 good: no GPU here, level quick, 0 s ago");
}

TEST(KeptResults, AreReadBackAndNothingElseIs) {
  const auto kept = keep(keep({}, kGood, kQuick), kBad, kThorough);
  const std::string text = kept_results_text(kept);
  const auto read = parse_kept_results(text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(kept_results_text(*read), text);
  EXPECT_EQ(said(*read, at(kNoon)), said(kept, at(kNoon)));
  for (const std::string& wrong : {text.substr(0, text.size() / 2), std::string("{}"),
                                   std::string(R"({"schema":"gpuready.report"})")})
    EXPECT_FALSE(parse_kept_results(wrong, "f")) << wrong;
}

}  // namespace
}  // namespace gpuready
