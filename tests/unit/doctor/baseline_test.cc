#include <gtest/gtest.h>

#include "base/text.h"
#include "machines.h"

namespace gpuready::test {
namespace {

TEST(Baseline, SameMachineHasLostNothing) {
  EXPECT_EQ(ids(compare_with_baseline(healthy(4), healthy(4))), Ids{});
}

TEST(Baseline, ALostGpuIsNamed) {
  const auto findings = compare_with_baseline(healthy(4), healthy(3));
  ASSERT_EQ(ids(findings), (Ids{"gpu-lost", "gpu-count-changed"}));
  EXPECT_TRUE(contains(findings[0].title, "0000:13:00.0"));
  EXPECT_EQ(findings[0].severity, Severity::error);
}

TEST(Baseline, AGpuMoreIsInfo) {
  for (const auto& finding : compare_with_baseline(healthy(1), healthy(2)))
    EXPECT_EQ(finding.severity, Severity::info) << finding.id;
}

TEST(Baseline, AReplacedGpuIsFoundByItsAddress) {
  auto now = healthy(2);
  now.gpus[1].uuid = "GPU-ffffffff-0000-0000-0000-000000000000";
  EXPECT_EQ(ids(compare_with_baseline(healthy(2), now)), Ids{"gpu-replaced"});
}

TEST(Baseline, AMovedGpuIsFoundByItsUuid) {
  auto now = healthy(1);
  now.gpus[0].pci = address(0x55);
  EXPECT_EQ(ids(compare_with_baseline(healthy(1), now)), Ids{"gpu-moved"});
}

TEST(Baseline, EachChangeHasItsFinding) {
  auto before = healthy(1);
  before.gpus[0].memory.total_bytes = std::uint64_t{80} << 30;
  before.gpus[0].ecc.lifetime = {5, 0};
  before.gpus[0].remapping.uncorrected = 0;
  for (int link = 0; link < 18; ++link) before.gpus[0].nvlinks.push_back(link_at(link, true));
  auto now = before;
  now.gpus[0].memory.total_bytes = std::uint64_t{75} << 30;
  now.gpus[0].ecc.lifetime = {9, 1};
  now.gpus[0].ecc.enabled_now = false;
  now.gpus[0].remapping.uncorrected = 2;
  now.gpus[0].nvlinks[4].up = false;
  now.gpus[0].link_max.width = 8;
  now.nvidia.module_version = "590.44.01";
  const auto found = ids(compare_with_baseline(before, now));
  for (const auto* id :
       {"memory-reduced", "ecc-errors-increased", "corrected-errors-increased", "ecc-mode-changed",
        "rows-remapped", "nvlinks-lost", "link-reduced", "driver-changed"})
    EXPECT_NE(std::find(found.begin(), found.end(), id), found.end()) << id;
}

TEST(Baseline, EachPartOfTheSoftwareThatWasKnownAndChangedIsTold) {
  struct Row {
    const char* what;
    std::optional<std::string>& (*of)(Machine&);
  };
  using Text = std::optional<std::string>;
  for (const auto& [what, of] : std::initializer_list<Row>{
           {"NVIDIA module flavour", [](Machine& m) -> Text& { return m.nvidia.module_flavour; }},
           {"CUDA of the driver", [](Machine& m) -> Text& { return m.nvidia.cuda_version; }},
           {"amdgpu", [](Machine& m) -> Text& { return m.amd.module_version; }},
           {"ROCm", [](Machine& m) -> Text& { return m.amd.rocm_version; }}}) {
    auto before = healthy(1), now = healthy(1);
    const auto told = [&](Text then, Text is) {
      of(before) = std::move(then);
      of(now) = std::move(is);
      std::vector<std::string> changes;
      for (const auto& finding : compare_with_baseline(before, now))
        for (const auto& item : finding.evidence)
          changes.push_back(finding.id + " " + item.source + " " + item.quote);
      return changes;
    };
    EXPECT_EQ(told("a", "b"), std::vector{"driver-changed " + std::string(what) + " was a, is b"});
    EXPECT_TRUE(told("a", "a").empty()) << what;
    EXPECT_TRUE(told({}, "b").empty()) << what;
    EXPECT_TRUE(told("a", {}).empty()) << what;
  }
}

// Where they are one version, the module's change says it.
TEST(Baseline, ADriversUserSpaceIsComparedWhereItIsNotTheModules) {
  struct Row {
    const char *old_module, *old_driver, *module, *driver;
    std::size_t told;
  };
  for (const auto& [old_module, old_driver, module, driver, told] : std::initializer_list<Row>{
           {"580.95.05", "580.95.05", "580.95.05", "580.95.05", 0},
           {"580.95.05", "580.95.05", "590.44.01", "590.44.01", 1},
           {"580.95.05", "580.95.05", "580.95.05", "590.44.01", 1},  // updated, not loaded yet
           {"580.95.05", "590.44.01", "580.95.05", "580.95.05", 1},
           {"580.95.05", "590.44.01", "580.95.05", "590.44.01", 0}}) {
    auto before = healthy(1), now = healthy(1);
    before.nvidia.module_version = old_module;
    before.nvidia.driver_version = old_driver;
    now.nvidia.module_version = module;
    now.nvidia.driver_version = driver;
    const auto findings = compare_with_baseline(before, now);
    std::size_t changes = 0;
    for (const auto& finding : findings)
      if (finding.id == "driver-changed") changes += finding.evidence.size();
    EXPECT_EQ(changes, told) << old_driver << " to " << driver;
  }
}

TEST(Baseline, ErrorsOfANetworkPortThatRiseFasterThanAGoodLinksAreTold) {
  auto before = healthy(1);
  before.system.uptime_seconds = 3600;
  auto& adapter = before.network.emplace_back();
  adapter.name = "mlx5_0";
  adapter.pci = address(0x60);
  adapter.ports.emplace_back().counters = {{"symbol_error", 5}, {"port_rcv_errors", 1}};
  auto now = before;
  now.system.uptime_seconds = 11 * 3600;
  now.network[0].ports[0].counters = {{"symbol_error", 1205}, {"port_rcv_errors", 9999}};
  EXPECT_EQ(ids(compare_with_baseline(before, now)), Ids{});  // 120 an hour
  now.network[0].ports[0].counters["symbol_error"] = 1206;
  const auto findings = compare_with_baseline(before, now);
  ASSERT_EQ(ids(findings), Ids{"network-errors-increased"});
  EXPECT_EQ(findings[0].evidence.size(), 1u);
  now.network[0].ports[0].counters["symbol_error"] = 2;  // the driver was loaded again
  EXPECT_EQ(ids(compare_with_baseline(before, now)), Ids{});
}

TEST(Baseline, WhatOnlyOneSideKnowsIsNotCompared) {
  auto before = healthy(1);
  before.gpus[0].memory.total_bytes = 1;
  auto now = healthy(1);
  now.nvidia.module_version.reset();
  now.gpus[0].ecc = {};
  EXPECT_EQ(ids(compare_with_baseline(before, now)), Ids{});
}

TEST(BeforeAfter, QuietRunHasNoFindings) {
  auto machine = healthy(2);
  xid(machine, 31, 0x10, "old");
  EXPECT_EQ(ids(compare_before_and_after(machine, machine)), Ids{});
}

// A GPU may come back in another slot; its counters go with it.
TEST(BeforeAfter, AGpuIsFoundAgainByItsUuidAndElseByItsAddress) {
  auto before = healthy(2);
  for (auto& gpu : before.gpus) gpu.ecc.since_boot.corrected = 0;
  before.gpus[0].ecc.since_boot.corrected = 5;
  before.gpus[0].uuid = "GPU-a";
  before.gpus[1].uuid = "GPU-b";
  auto after = before;
  std::swap(after.gpus[0].pci, after.gpus[1].pci);
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{});
  for (auto* machine : {&before, &after})
    for (auto& gpu : machine->gpus) gpu.uuid.reset();
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{"corrected-errors-increased"});
  std::swap(after.gpus[0].ecc, after.gpus[1].ecc);
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{});
}

TEST(BeforeAfter, ARisenEccCounterIsAFinding) {
  auto before = healthy(1), after = healthy(1);
  after.gpus[0].ecc.since_boot.corrected = 1;
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{"corrected-errors-increased"});
  after.gpus[0].ecc.since_boot.uncorrected = 1;
  const auto findings = compare_before_and_after(before, after);
  ASSERT_EQ(ids(findings), (Ids{"ecc-errors-increased", "corrected-errors-increased"}));
  EXPECT_EQ(findings[0].severity, Severity::error);
}

// "umc_ue" and "umc_ce": a block of AMD's GPU, with its uncorrectable and its corrected errors.
TEST(BeforeAfter, ARisenRasCounterIsAFinding) {
  using Counts = std::map<std::string, std::uint64_t>;
  const auto told = [](const Counts& then, const Counts& now) {
    auto before = healthy(1), after = healthy(1);
    before.gpus[0].ras_errors.insert(then.begin(), then.end());
    after.gpus[0].ras_errors.insert(now.begin(), now.end());
    return ids(compare_before_and_after(before, after));
  };
  EXPECT_EQ(told({{"umc_ue", 2}}, {{"umc_ue", 3}}), Ids{"ecc-errors-increased"});
  EXPECT_EQ(told({{"umc_ce", 2}}, {{"umc_ce", 3}}), Ids{"corrected-errors-increased"});
  EXPECT_EQ(told({{"umc_ue", 3}}, {{"umc_ue", 3}}), Ids{});
  EXPECT_EQ(told({{"umc_ue", 3}}, {{"umc_ue", 2}}), Ids{});
  EXPECT_EQ(told({{"gfx_ue", 0}}, {{"gfx_ue", 0}, {"umc_ue", 3}}), Ids{}) << "not read before";
  EXPECT_EQ(told({{"umc_ue", 0}}, {}), Ids{});
}

TEST(BeforeAfter, ReplaysLinksRemapsAndAerAreFindings) {
  auto before = healthy(1);
  before.gpus[0].pcie_errors = {0, 0, 0, 4, {}};
  before.gpus[0].nvlinks.push_back(link_at(3, true));
  before.gpus[0].nvlinks[0].replay_errors = 1;
  before.gpus[0].remapping.pending = false;
  auto after = before;
  after.gpus[0].pcie_errors.replays = 5;
  after.gpus[0].nvlinks[0].replay_errors = 2;
  after.gpus[0].remapping.pending = true;
  EXPECT_EQ(ids(compare_before_and_after(before, after)),
            (Ids{"rows-remapped", "nvlink-errors-increased", "pcie-errors-increased"}));
}

TEST(BeforeAfter, ANewXidIsAFindingEvenWhenItsTextIsOld) {
  auto before = healthy(1);
  xid(before, 48, 0x10, "DBE");
  auto after = before;
  xid(after, 48, 0x10, "DBE");
  const auto findings = compare_before_and_after(before, after);
  ASSERT_EQ(ids(findings), Ids{"new-xid"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{0});
}

TEST(BeforeAfter, AGpuThatVanishedIsAFinding) {
  EXPECT_EQ(ids(compare_before_and_after(healthy(2), healthy(1))), Ids{"gpu-lost"});
}

TEST(BeforeAfter, AGpuThatNvmlLostAndLinksThatWentDownAreFound) {
  Machine before = healthy(1);
  before.gpus[0].nvlinks.resize(2);
  for (NvLink& link : before.gpus[0].nvlinks) link.up = true;
  Machine after = before;
  after.gpus[0].nvlinks[1].up = false;
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{"nvlinks-lost"});
  EXPECT_EQ(ids(compare_before_and_after(after, before)), Ids{});
  after = before;
  for (const int code : {15, 16}) {  // lost, reset required
    after.gpus[0].errors = {{"nvmlDeviceGetTemperature(0, 0)", code, "NVML_ERROR"}};
    EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{"gpu-lost"});
    EXPECT_EQ(ids(compare_before_and_after(after, after)), Ids{});  // known before
  }
  after.gpus[0].errors[0].code = 3;  // not supported
  EXPECT_EQ(ids(compare_before_and_after(before, after)), Ids{});
}

TEST(BeforeAfter, CorrectedErrorsAndReplaysAreHeldToARate) {
  const auto severity = [](std::uint64_t corrected, std::uint64_t replays, double seconds) {
    Machine before = healthy(1), after = healthy(1);
    before.gpus[0].ecc.since_boot.corrected = before.gpus[0].pcie_errors.replays = 100;
    after.gpus[0].ecc.since_boot.corrected = 100 + corrected;
    after.gpus[0].pcie_errors.replays = 100 + replays;
    const auto findings = compare_before_and_after(before, after, seconds);
    EXPECT_EQ(findings.size(), 1u);
    if (findings.at(0).severity == Severity::error) {
      EXPECT_EQ(findings[0].evidence.back().source, "limit");
    }
    return findings[0].severity;
  };
  struct Row {
    std::uint64_t corrected, replays;  // the most that may be
    double seconds;
  };
  for (const auto& [corrected, replays, seconds] : {Row{10, 8, 1},
                                                    {10, 8, 60},
                                                    {10, 80, 600},
                                                    {10, 480, 3600},
                                                    {20, 960, 2 * 3600},
                                                    {100, 4800, 10 * 3600}}) {
    EXPECT_EQ(severity(corrected, 0, seconds), Severity::warning) << seconds;
    EXPECT_EQ(severity(corrected + 1, 0, seconds), Severity::error) << seconds;
    EXPECT_EQ(severity(0, replays, seconds), Severity::warning) << seconds;
    EXPECT_EQ(severity(0, replays + 1, seconds), Severity::error) << seconds;
  }
}

TEST(BeforeAfter, OnlyTheCounterOfALimitIsHeldToIt) {
  Machine before = healthy(1), after = healthy(1);
  auto &then = before.gpus[0].pcie_errors, &now = after.gpus[0].pcie_errors;
  then.replays = then.correctable = then.nonfatal = 0;
  now.replays = 8;
  now.correctable = now.nonfatal = 100'000;
  const auto severity = [&] {
    const auto findings = compare_before_and_after(before, after, 1);
    EXPECT_EQ(ids(findings), Ids{"pcie-errors-increased"});
    return findings.at(0).severity;
  };
  EXPECT_EQ(severity(), Severity::warning);
  now.replays = 9;
  EXPECT_EQ(severity(), Severity::error);
}

}  // namespace
}  // namespace gpuready::test
