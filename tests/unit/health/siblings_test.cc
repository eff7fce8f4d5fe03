#include "health/siblings.h"

#include <gtest/gtest.h>

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

std::vector<Verdict> rates(std::initializer_list<double> values, const char* metric = "copy_rate") {
  std::vector<Verdict> verdicts;
  for (const double value : values)
    verdicts.push_back(verdict_of(static_cast<int>(verdicts.size()), "memory", metric, value));
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
  EXPECT_EQ(findings[0].evidence.size(), 4u);
  EXPECT_EQ(verdicts[2].status, VerdictStatus::passed) << "a finding, not a failure";
}

TEST(Siblings, WithinFivePercentIsNone) {
  auto verdicts = rates({100, 95.1, 100});
  EXPECT_TRUE(compare_siblings(machine_with(3), verdicts).empty());
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
  verdicts[1].test = "bandwidth";
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
  verdicts = rates({100, 50});
  verdicts[0].metrics[0].unit = verdicts[1].metrics[0].unit = "ms";
  EXPECT_TRUE(compare_siblings(machine, verdicts).empty());
}

TEST(Siblings, WhatDependsOnTheHostOrWasNotTestedIsNotCompared) {
  for (const char* name : {"h2d_pageable_rate", "h2d_pinned_rate_node1"}) {
    auto verdicts = rates({100, 50}, name);
    EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty()) << name;
  }
  auto verdicts = rates({100, 50});
  verdicts[1].status = VerdictStatus::inconclusive;
  EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty());
  verdicts = rates({100, 50});
  verdicts[1].injected_fault = "slow-sm";
  EXPECT_TRUE(compare_siblings(machine_with(2), verdicts).empty());
}

TEST(Siblings, ABurnIsComparedOnceClocksHaveSettled) {
  for (const double duration_ms : {2'000.0, 20'000.0}) {
    std::vector<Verdict> verdicts = {verdict_of(0, "tensor", "bf16_rate", 80),
                                     verdict_of(1, "tensor", "bf16_rate", 100)};
    for (Verdict& verdict : verdicts) verdict.duration_ms = duration_ms;
    EXPECT_EQ(compare_siblings(machine_with(2), verdicts).size(), duration_ms > 10'000 ? 1u : 0u);
  }
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
  EXPECT_EQ(verdicts[2].status, VerdictStatus::failed);
  EXPECT_TRUE(verdicts[2].reason.starts_with("by vote")) << verdicts[2].reason;
  EXPECT_EQ(verdicts[0].status, VerdictStatus::passed);
}

TEST(Siblings, TwoThatDifferAreBothInconclusive) {
  auto verdicts = digests({7, 8});
  const auto findings = compare_siblings(machine_with(2), verdicts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, (std::vector<int>{0, 1}));
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
