#include "health/siblings.h"

#include <gtest/gtest.h>

#include <functional>

namespace gpuready {
namespace {

Machine machine_with(int gpus) {
  Machine machine;
  for (int i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.name = "NVIDIA H200";
    gpu.uuid = "GPU-" + std::to_string(i);
    machine.gpus.push_back(gpu);
  }
  return machine;
}

Verdict verdict_of(int gpu, const char* test, const char* metric = nullptr, double value = 0) {
  Verdict verdict;
  verdict.test = test;
  verdict.subject = "GPU " + std::to_string(gpu);
  verdict.uuid = "GPU-" + std::to_string(gpu);
  verdict.status = VerdictStatus::passed;
  if (metric) verdict.metrics.push_back({metric, value, "B/s", {}, {}});
  return verdict;
}

std::vector<Verdict> rates(std::initializer_list<double> values,
                           const char* metric = "dram_copy_rate", const char* test = "bandwidth") {
  std::vector<Verdict> verdicts;
  for (const double value : values)
    verdicts.push_back(verdict_of(static_cast<int>(verdicts.size()), test, metric, value));
  return verdicts;
}

std::vector<Verdict> digests(std::initializer_list<std::uint64_t> values) {
  std::vector<Verdict> verdicts;
  for (const std::uint64_t value : values) {
    verdicts.push_back(verdict_of(static_cast<int>(verdicts.size()), "compute"));
    verdicts.back().digests.push_back({"special functions", value});
  }
  return verdicts;
}

TEST(Siblings, WhoIsBelowTheMedianOfTheOthersIsAFinding) {
  auto verdicts = rates({100, 101, 94, 99});
  const auto findings = compare_siblings(machine_with(4), verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "slower-than-siblings");
  EXPECT_EQ(findings[0].gpus, std::vector<int>{2});
  ASSERT_EQ(findings[0].evidence.size(), 1u);
  EXPECT_EQ(findings[0].evidence[0].source, "bandwidth, GPU 2");
  EXPECT_EQ(findings[0].evidence[0].quote,
            "dram_copy_rate = 94 B/s, of 100 B/s which is the median of 3 others");
  EXPECT_EQ(verdicts[2].status, VerdictStatus::passed) << "a finding, not a failure";
}

TEST(Siblings, WithinFivePercentIsNone) {
  auto verdicts = rates({100, 95.1, 100});
  EXPECT_TRUE(compare_siblings(machine_with(3), verdicts).empty());
}

// As two healthy H100s measured them.
TEST(Siblings, RatesOfTheMemoryTestTellNothing) {
  for (const auto& [one, other] :
       {std::pair{2.32e12, 2.76e12}, {0.46e12, 2.76e12}, {2.15e12, 3.02e12}})
    for (const char* metric : {"write_address_rate", "verify_complement_rate", "copy_rate"}) {
      auto verdicts = rates({one, other}, metric, "memory");
      EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty()) << metric;
    }
}

TEST(Siblings, WhatOthersUsedMeanwhileIsNotCompared) {
  auto slow = rates({100, 60, 100});
  const auto machine = machine_with(3);
  EXPECT_EQ(compare_siblings(machine, slow, {0}).size(), 1u);
  EXPECT_TRUE(compare_siblings(machine, slow, {1}).empty()) << "the slow one";
  auto fast = rates({100, 160, 100});
  EXPECT_EQ(compare_siblings(machine, fast).size(), 2u);
  EXPECT_TRUE(compare_siblings(machine, fast, {1}).empty()) << "the one that they compare with";
}

TEST(Siblings, FarBelowTheOthersIsAnError) {
  auto slower = rates({100, 100, 76}), broken = rates({100, 100, 67});
  EXPECT_EQ(compare_siblings(machine_with(3), slower).at(0).severity, Severity::warning);
  EXPECT_EQ(compare_siblings(machine_with(3), broken).at(0).severity, Severity::error);
}

TEST(Siblings, OfTwoTheSlowerOneIsTold) {
  auto verdicts = rates({100, 80});
  const auto findings = compare_siblings(machine_with(2), verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, std::vector<int>{1});
}

TEST(Siblings, OtherModelsAndUnitsAndTestsAreNotCompared) {
  auto machine = machine_with(2);
  auto verdicts = rates({100, 50});
  machine.gpus[1].name = "NVIDIA L4";
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
  machine = machine_with(2);
  verdicts[1].test = "compute";
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
  verdicts = rates({100, 50});
  verdicts[0].metrics[0].unit = verdicts[1].metrics[0].unit = "ms";
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
}

TEST(Siblings, WhatDependsOnTheHostOrWasNotTestedIsNotCompared) {
  for (const char* name : {"h2d_pageable_rate", "h2d_pinned_rate_node1", "h2d_together_rate",
                           "both_ways_together_rate"}) {
    auto verdicts = rates({100, 50}, name, "bandwidth");
    EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty()) << name;
  }
  auto verdicts = rates({100, 50});
  verdicts[1].status = VerdictStatus::inconclusive;
  EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty());
  verdicts = rates({100, 50});
  verdicts[1].injected_fault = "slow-sm";
  EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty());
}

TEST(Siblings, ARateIsComparableIfItIsTheGpusOwnAndSettled) {
  struct Row {
    const char *test, *metric, *unit;
    double duration_ms;
    bool comparable;
  };
  for (const Row& row :
       {Row{"bandwidth", "dram_copy_rate", "B/s", 1, true},
        Row{"bandwidth", "h2d_pinned_rate", "B/s", 1, true},
        Row{"bandwidth", "h2d_pageable_rate", "B/s", 1, false},
        Row{"bandwidth", "dram_copy_rate", "ms", 1, false},
        Row{"memory", "dram_copy_rate", "B/s", 1, false}, Row{"peers", "copy_rate", "B/s", 1, true},
        Row{"tensor", "bf16_rate", "flop/s", 10'000, true},
        Row{"tensor", "bf16_rate", "flop/s", 9'999, false}}) {
    Verdict verdict = verdict_of(0, row.test, row.metric, 1);
    verdict.metrics[0].unit = row.unit;
    verdict.duration_ms = row.duration_ms;
    EXPECT_EQ(is_comparable(verdict, verdict.metrics[0]), row.comparable)
        << row.test << " " << row.metric << " " << row.unit << " " << row.duration_ms;
  }
}

TEST(Siblings, ABurnIsComparedOnceClocksHaveSettled) {
  for (const double duration_ms : {2'000.0, 20'000.0}) {
    std::vector<Verdict> verdicts = {verdict_of(0, "tensor", "bf16_rate", 80),
                                     verdict_of(1, "tensor", "bf16_rate", 100)};
    for (Verdict& verdict : verdicts) verdict.duration_ms = duration_ms;
    EXPECT_EQ(compare_siblings(machine_with(2), verdicts).size(), duration_ms > 10'000 ? 1u : 0u);
  }
}

// As a healthy machine of four H200s measured them.
TEST(Siblings, HostMemoryHasAPartInRatesBothWays) {
  for (const auto& [metric, values] :
       {std::pair("both_ways_rate", std::initializer_list<double>{93.2e9, 97.8e9, 90.0e9, 98.0e9}),
        std::pair("h2d_pinned_rate",
                  std::initializer_list<double>{52.55e9, 54.9e9, 54.5e9, 55.3e9})}) {
    auto verdicts = rates(values, metric, "bandwidth");
    EXPECT_TRUE(compare_siblings(machine_with(4), verdicts).empty()) << metric;
  }
  auto verdicts = rates({93e9, 98e9, 70e9, 98e9}, "both_ways_rate", "bandwidth");
  const auto findings = compare_siblings(machine_with(4), verdicts);
  ASSERT_EQ(findings.size(), 1u) << "half of a link's width still shows";
  EXPECT_EQ(findings[0].gpus, std::vector<int>{2});
}

TEST(Siblings, OneCauseIsOneFindingWithAllThatShowsIt) {
  auto verdicts = rates({98e9, 98e9, 49e9, 98e9}, "both_ways_rate", "bandwidth");
  for (std::size_t i = 0; i < verdicts.size(); ++i)
    for (const char* metric : {"h2d_pinned_rate", "d2h_pinned_rate"})
      verdicts[i].metrics.push_back({metric, i == 2 ? 27e9 : 55e9, "B/s", {}, {}});
  verdicts[2].metrics.push_back({"dram_copy_rate", 3e12, "B/s", {}, {}});
  verdicts[1].metrics.push_back({"dram_copy_rate", 4e12, "B/s", {}, {}});
  const auto findings = compare_siblings(machine_with(4), verdicts);
  ASSERT_EQ(findings.size(), 2u) << "the link, and the memory";
  EXPECT_EQ(findings[0].title, "GPU 2 is slower than its siblings: d2h_pinned_rate of 27 GB/s");
  EXPECT_EQ(findings[0].evidence.size(), 3u);
  EXPECT_EQ(findings[1].evidence.size(), 1u);
}

// A machine of four GPUs that NVLink joins, or what else is between them.
std::vector<Verdict> all_pairs(Machine& machine, PathKind kind,
                               const std::function<double(int, int)>& rate) {
  std::vector<Verdict> verdicts;
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      machine.paths.push_back({a, b, kind, 4, {}});
      verdicts.push_back(verdict_of(a, "peers", "peer_read_rate", rate(a, b)));
      verdicts.back().peer_uuid = "GPU-" + std::to_string(b);
    }
  return verdicts;
}

TEST(Siblings, AGpuThatIsSlowInMoreThanOnePairIsToldOnce) {
  Machine machine = machine_with(4);
  auto verdicts = all_pairs(machine, PathKind::nvswitch, [](int a, int b) {
    return a == 1 && b != 0 ? 200.0 : 394.0;  // with two of three
  });
  const auto findings = compare_siblings(machine, verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, std::vector<int>{1});
  EXPECT_EQ(findings[0].evidence.size(), 2u);
}

TEST(Siblings, PairsThatShareAHostBridgeAreNotCompared) {
  Machine machine = machine_with(4);
  auto verdicts = all_pairs(machine, PathKind::system,
                            [](int a, int b) { return a == 0 && b == 1 ? 10.0 : 20.0; });
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
}

TEST(Siblings, PairsAreComparedWithPairsOfTheSamePath) {
  auto machine = machine_with(3);
  machine.paths = {{0, 1, PathKind::nvlink, 4, {}},
                   {0, 2, PathKind::nvlink, 4, {}},
                   {1, 2, PathKind::system, 0, {}}};
  std::vector<Verdict> verdicts;
  for (const auto& [a, b, rate] :
       {std::tuple(0, 1, 100.0), std::tuple(0, 2, 70.0), std::tuple(1, 2, 10.0)}) {
    verdicts.push_back(verdict_of(a, "peers", "peer_read_rate", rate));
    verdicts.back().peer_uuid = "GPU-" + std::to_string(b);
  }
  const auto findings = compare_siblings(machine, verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, (std::vector<int>{0, 2}));
}

TEST(Siblings, WhoDiffersFromTheMajorityFailsByVote) {
  auto verdicts = digests({7, 7, 8, 7});
  const auto findings = compare_siblings(machine_with(4), verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "differs-from-siblings");
  EXPECT_EQ(findings[0].gpus, std::vector<int>{2});
  EXPECT_EQ(findings[0].explanation,
            "The same instructions on the same data gave the results of the majority on all but "
            "those named.");
  EXPECT_EQ(verdicts[2].status, VerdictStatus::failed);
  EXPECT_TRUE(verdicts[2].reason.starts_with("by vote")) << verdicts[2].reason;
  EXPECT_EQ(verdicts[0].status, VerdictStatus::passed);
}

TEST(Siblings, TwoThatDifferAreBothInconclusive) {
  auto verdicts = digests({7, 8});
  const auto findings = compare_siblings(machine_with(2), verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(findings[0].explanation,
            "The same instructions on the same data gave different results, without a majority "
            "that would show which are right.");
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.status, VerdictStatus::inconclusive);
}

TEST(Siblings, AgreementIsSilentAndAFailureKeepsItsReason) {
  auto same = digests({7, 7, 7});
  EXPECT_TRUE(compare_siblings(machine_with(3), same).empty());
  auto verdicts = digests({7, 7, 8});
  verdicts[2].status = VerdictStatus::failed;
  verdicts[2].reason = "SM 3 differs from the golden value";
  EXPECT_EQ(compare_siblings(machine_with(3), verdicts).size(), 1u);
  EXPECT_EQ(verdicts[2].reason, "SM 3 differs from the golden value");
}

}  // namespace
}  // namespace gpuready
