// fold(): equal findings become one. diagnose_test.cc tests which findings explain others.
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "doctor/cause.h"
#include "machines.h"

namespace gpuready::test {
namespace {

using doctor::Cause;
using doctor::fold;
using doctor::ReportedCause;

const Cause kRoot{.id = "root", .title = "A root", .explanation = "", .explains = {"leaf"}};
const Cause kLeaf{.id = "leaf", .title = "A leaf", .explanation = ""};
const Cause kApart{.id = "apart", .title = "Apart", .explanation = "", .apart = true};

ReportedCause told(const Cause& cause, std::vector<int> gpus,
                   std::optional<std::string> command = {}) {
  ReportedCause told{.cause = &cause, .finding = {}};
  told.finding.id = cause.id;
  told.finding.severity = Severity::error;
  told.finding.title = cause.title;
  told.finding.gpus = std::move(gpus);
  told.finding.command = std::move(command);
  told.finding.evidence = {{"a source", "a quote"}};
  return told;
}

// What a command cures is the GPU that it names, or all.
TEST(Fold, OneCauseAtSeveralGpusHasTheCommandOfEach) {
  using Text = std::optional<std::string>;
  struct Row {
    std::vector<int> first, second;
    Text first_command, second_command, command;
  };
  for (const auto& [first, second, first_command, second_command, command] :
       std::initializer_list<Row>{{{0}, {1}, "cure 0", "cure 1", "cure 0 && cure 1"},
                                  {{0}, {1}, "cure all", "cure all", "cure all"},
                                  {{0}, {1}, "cure 0 && cure 1", "cure 1", "cure 0 && cure 1"},
                                  {{0}, {0}, "cure 0", "cure it", "cure 0"},
                                  {{0}, {0, 1}, "cure 0", "cure 1", "cure 0 && cure 1"},
                                  {{0}, {1}, {}, "cure 1", {}},
                                  {{0}, {1}, "cure 0", {}, "cure 0"}}) {
    const auto findings =
        fold({told(kLeaf, first, first_command), told(kLeaf, second, second_command)}, healthy(2));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].command, command)
        << first_command.value_or("none") << ", " << second_command.value_or("none");
  }
  auto first = told(kLeaf, {}, "cure 10"), second = told(kLeaf, {}, "cure 11");
  first.finding.pci = {address(0x10)};
  second.finding.pci = {address(0x11)};
  EXPECT_EQ(fold({first, second}, healthy(2))[0].command, "cure 10 && cure 11");
}

TEST(Fold, OneCauseNamesEachGpuOnceInTheirOrder) {
  auto first = told(kLeaf, {2, 0}), second = told(kLeaf, {1, 2});
  first.finding.pci = {address(0x12), address(0x10)};
  second.finding.pci = {address(0x11), address(0x12)};
  const auto findings = fold({first, second}, healthy(3));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus, (std::vector{0, 1, 2}));
  EXPECT_EQ(findings[0].pci, (std::vector{address(0x10), address(0x11), address(0x12)}));
  EXPECT_EQ(findings[0].evidence.size(), 2u);
}

TEST(Fold, OneCauseIsWhatIsToldAlike) {
  const auto count = [](const Cause& cause, auto&& change) {
    auto other = told(cause, {1});
    change(other.finding);
    return fold({told(cause, {0}), other}, healthy(2)).size();
  };
  EXPECT_EQ(count(kLeaf, [](Finding&) {}), 1u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.evidence.clear(); }), 1u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.id = "another"; }), 2u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.severity = Severity::warning; }), 2u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.title = "Another"; }), 2u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.explanation = "Another."; }), 2u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.cure = "Another."; }), 2u);
  EXPECT_EQ(count(kLeaf, [](Finding& finding) { finding.action = Action::check_again; }), 2u);
  EXPECT_EQ(count(kApart, [](Finding&) {}), 2u) << "its evidence does not say whose it is";
}

TEST(Fold, WhatFollowsAtSeveralGpusIsOneFindingUnderTheOneRoot) {
  const auto findings = fold({told(kRoot, {0}), told(kRoot, {1}), told(kLeaf, {0}, "look at 0"),
                              told(kLeaf, {1}, "look at 1"), told(kLeaf, {2})},
                             healthy(3));
  ASSERT_EQ(ids(findings), (Ids{"root", "leaf"}));
  EXPECT_EQ(findings[0].gpus, (std::vector{0, 1}));
  ASSERT_EQ(ids(findings[0].explains), Ids{"leaf"});
  EXPECT_EQ(findings[0].explains[0].gpus, (std::vector{0, 1}));
  EXPECT_EQ(findings[0].explains[0].command, "look at 0 && look at 1");
  EXPECT_EQ(findings[1].gpus, (std::vector{2}));
  auto other = told(kLeaf, {1});
  other.finding.title = "Another leaf";
  EXPECT_EQ(ids(fold({told(kRoot, {0}), told(kRoot, {1}), told(kLeaf, {0}), other}, healthy(2))[0]
                    .explains),
            (Ids{"leaf", "leaf"}));
}

// Indices are of GPUs that the driver lists, addresses of those that the bus has.
TEST(Fold, AFindingFollowsFromOneAboutTheSameGpusByIndexAndAddress) {
  struct Places {
    std::vector<int> gpus;
    std::vector<PciAddress> pci;
  };
  const auto follows = [](const Places& of_root, const Places& of_leaf) {
    auto root = told(kRoot, of_root.gpus), leaf = told(kLeaf, of_leaf.gpus);
    root.finding.pci = of_root.pci;
    leaf.finding.pci = of_leaf.pci;
    return fold({root, leaf}, healthy(2)).size() == 1;
  };
  const auto first = address(0x10), second = address(0x11);
  EXPECT_TRUE(follows({{}, {first}}, {{}, {first}}));
  EXPECT_TRUE(follows({{}, {first, second}}, {{}, {second}}));
  EXPECT_TRUE(follows({{}, {first}}, {{}, {first, second}})) << "one GPU's trouble stops all";
  EXPECT_FALSE(follows({{}, {first}}, {{}, {second}}));
  EXPECT_FALSE(follows({{0}, {first}}, {{0}, {second}}));
  EXPECT_FALSE(follows({{0}, {}}, {{1}, {}}));
  EXPECT_FALSE(follows({{0}, {first}}, {{1}, {first}}));
}

TEST(Fold, ErrorsComeFirstAndEachSeverityIsInTheOrderOfTheTelling) {
  std::vector<ReportedCause> all;
  for (const auto& [title, severity] : {std::pair("1", Severity::info),
                                        {"2", Severity::warning},
                                        {"3", Severity::error},
                                        {"4", Severity::info},
                                        {"5", Severity::error},
                                        {"6", Severity::warning}}) {
    all.push_back(told(kLeaf, {0}));
    all.back().finding.title = title;
    all.back().finding.severity = severity;
  }
  std::string order;
  for (const auto& finding : fold(all, healthy())) order += finding.title;
  EXPECT_EQ(order, "352614");
}

// What is done to the GPU or the machine is a step, which a stronger one replaces. A setting is the
// cure itself.
TEST(Fold, AConsequencesStrongerStepReplacesAStepAndNoSetting) {
  using enum Action;
  for (const auto& [action, is_step] : {std::pair(none, false),
                                        {check_again, true},
                                        {configure, false},
                                        {reload_driver, false},
                                        {reset_gpu, true},
                                        {reboot, true},
                                        {power_cycle, true},
                                        {replace, true},
                                        {ask_host, true}}) {
    Cause cause = kRoot;
    cause.action = action;
    EXPECT_EQ(doctor::tell(cause, {}, healthy()).own_cure, !is_step) << to_string(action);
    cause.own_cure = true;
    EXPECT_TRUE(doctor::tell(cause, {}, healthy()).own_cure) << to_string(action);
  }
  EXPECT_TRUE(doctor::tell(kRoot, {.action = reboot, .own_cure = true}, healthy()).own_cure);
}

}  // namespace
}  // namespace gpuready::test
