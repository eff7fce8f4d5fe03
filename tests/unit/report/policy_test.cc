#include "report/policy.h"

#include <gtest/gtest.h>

#include "report/conclude.h"
#include "unit/report/healthy.h"

namespace gpuready {
namespace {

constexpr std::int64_t kNewYear2027 = 1'798'761'600;

Policy policy_of(std::string_view text) {
  auto policy = parse_policy(text, "policy.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy.value_or(Policy{});
}

Policy expecting(const std::vector<std::string>& texts) {
  Policy policy;
  policy.gpus = parse_expected(texts).value();
  return policy;
}

std::vector<std::string> unmet_by_two_h100(const Policy& policy) {
  const Report report = healthy(2);
  return unmet(policy, report.machine, {true, true});
}

TEST(Policy, ExpectedGpusAreCountedByWholeWordsOfTheirNames) {
  const std::pair<std::string, bool> rows[] = {
      {"2xH100", true},  {"2", true},
      {"H100", true},    {"2xh100", true},
      {"3xH100", false}, {"3", false},
      {"2xH10", false},  {"2x100", false},
      {"1xL4", false},   {"2xNVIDIA H100 80GB HBM3", true},
  };
  for (const auto& [text, met] : rows) {
    EXPECT_EQ(unmet_by_two_h100(expecting({text})).empty(), met) << text;
  }
  for (const char* wrong : {"", "0", "0xH100", "2x", "1025xH100", "2x ", "1025",
                            "18446744073709551617", "18446744073709551617xH100"})
    EXPECT_FALSE(parse_expected({wrong})) << wrong;
  EXPECT_EQ(parse_expected({"1024xH100"})->at(0).count, 1024u);
  EXPECT_EQ(parse_expected({"xH100"})->at(0).model, "xH100");
}

TEST(Policy, OneGpuIsNotCountedTwice) {
  EXPECT_TRUE(unmet_by_two_h100(expecting({"1xH100", "1"})).empty());
  EXPECT_EQ(unmet_by_two_h100(expecting({"2xH100", "1"})).size(), 1u);
}

TEST(Policy, TheOrderOfTheRowsDecidesNothing) {
  Machine machine = healthy(5).machine;
  machine.gpus[1].name = "NVIDIA H200";
  machine.gpus[3].link_now.width = 8;
  const std::vector<bool> usable(5, true);
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{"4", "1xH200"}, {"1xH200", "4"}, {"1", "4xH100"}, {"2xH100", "3"}})
    EXPECT_TRUE(unmet(expecting(texts), machine, usable).empty()) << texts[0];
  EXPECT_EQ(unmet(expecting({"4", "2xH200"}), machine, usable).size(), 1u);
  // The row that wants less gets the GPU that has less.
  const std::string one = "[[gpus]]\ncount = 1\nmodel = \"H100\"\n";
  const std::string three = "[[gpus]]\ncount = 3\nmodel = \"H100\"\nlink_width = 16\n";
  EXPECT_TRUE(unmet(policy_of(one + three), machine, usable).empty());
  EXPECT_TRUE(unmet(policy_of(three + one), machine, usable).empty());
}

TEST(Policy, AVariantIsAnotherModel) {
  Machine machine = healthy(3).machine;
  machine.gpus[0].name = "NVIDIA GeForce RTX 3080 Ti";
  machine.gpus[1].name = machine.gpus[2].name = "NVIDIA GeForce RTX 3080";
  const std::vector<bool> usable(3, true);
  for (const auto& [text, met] : {std::pair("2xRTX 3080", true),
                                  {"3xRTX 3080", false},
                                  {"1xRTX 3080 Ti", true},
                                  {"2xRTX 3080 Ti", false}})
    EXPECT_EQ(unmet(expecting({text}), machine, usable).empty(), met) << text;
  EXPECT_TRUE(unmet(policy_of(policy_text(machine, usable)), machine, usable).empty());
}

TEST(Policy, WhatAGpuLacksIsNamed) {
  const std::pair<std::string, std::string> rows[] = {
      {"memory_gib = 81", "GPU 0: 81 GiB of memory expected, 80 here"},
      {"memory_gib = 80", ""},
      {"link_width = 32", "GPU 0: a link of x32 expected, 16 here"},
      {"link_generation = 6", "GPU 0: a link of generation 6 expected, 5 here"},
      {"nvlinks = 18", "GPU 0: 18 NVLinks expected, 0 here"},
  };
  for (const auto& [key, lack] : rows) {
    const auto found = unmet_by_two_h100(policy_of("[[gpus]]\ncount = 1\n" + key + "\n"));
    EXPECT_EQ(found.empty() ? "" : found.front(), lack);
  }
}

TEST(Policy, ADriverOutsideItsRangeIsExit3) {
  const std::pair<std::string, bool> rows[] = {
      {"least = \"580.65\"", true},     {"least = \"580.95.05\"", true},
      {"least = \"580.95.06\"", false}, {"below = \"581\"", true},
      {"below = \"580.95.05\"", false},
  };
  for (const auto& [key, met] : rows) {
    Report report = healthy(1);
    report.machine.nvidia.module_version = "580.95.05";
    conclude(report, {.policy = policy_of("[driver]\n" + key + "\n")});
    EXPECT_EQ(report.exit, met ? Exit::ok : Exit::required_absent) << key;
    EXPECT_EQ(report.conclusion->find("Not as policy.toml says") == std::string::npos, met);
  }
}

TEST(Policy, WhatIsBrokenComesBeforeWhatIsAbsent) {
  Report report = healthy(1);
  report.verdicts->at(0).status = VerdictStatus::failed;
  conclude(report, {.policy = policy_of("[[gpus]]\ncount = 8\n")});
  EXPECT_EQ(report.exit, Exit::unhealthy);
}

TEST(Policy, WhatItAcceptsHoldsUntilItsLastDay) {
  const Policy policy = policy_of(
      "[[accept]]\nname = \"clock\"\ndevice = \"1\"\nreason = \"a cap\"\nuntil = \"2026-12-31\"\n");
  const auto rules = accepted_on(policy, kNewYear2027 - 1);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].text, "clock@1");
  EXPECT_TRUE(expired_on(policy, kNewYear2027 - 1).empty());
  EXPECT_TRUE(accepted_on(policy, kNewYear2027).empty());
  EXPECT_EQ(expired_on(policy, kNewYear2027).size(), 1u);
}

TEST(Policy, AWrongFileIsRefusedWithItsKey) {
  const std::pair<std::string, std::string> rows[] = {
      {"x = 1", "x is not known"},
      {"level = \"fast\"", "level is not quick"},
      {"require = [\"speed\"]", "require has speed"},
      {"[[gpus]]\ncount = 0", "count is not from 1 to 1024"},
      {"[[gpus]]\ncount = 1025", "count is not from 1 to 1024"},
      {"[[gpus]]\nmodell = \"H100\"", "modell is not known"},
      {"[driver]\nleast = \"new\"", "driver.least is not a version"},
      {"[[accept]]\nname = \"clock\"\nuntil = \"2026-12-31\"", "reason is missing"},
      {"[[accept]]\nname = \"clock\"\nreason = \"r\"", "until is not a day"},
      {"[[accept]]\nname = \"clock\"\nreason = \"r\"\nuntil = \"2027-02-30\"",
       "until is not a day"},
      {"[[accept]]\nname = \"klock\"\nreason = \"r\"\nuntil = \"2026-12-31\"",
       "did you mean clock"},
      {"level = ", "line 1"},
  };
  for (const auto& [text, why] : rows) {
    const auto policy = parse_policy(text, "policy.toml");
    ASSERT_FALSE(policy) << text;
    EXPECT_EQ(policy.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(policy.error().message.starts_with("policy.toml: ")) << policy.error().message;
    EXPECT_NE(policy.error().message.find(why), std::string::npos) << policy.error().message;
  }
}

TEST(Policy, FromOneTo1024GpusAreExpected) {
  for (const unsigned count : {1u, 1024u}) {
    const Policy policy = policy_of("[[gpus]]\ncount = " + std::to_string(count));
    ASSERT_EQ(policy.gpus.size(), 1u);
    EXPECT_EQ(policy.gpus[0].count, count);
  }
}

TEST(Policy, AMachineMeetsThePolicyThatIsMadeOfIt) {
  Report report = healthy(3);
  report.machine.gpus[2].name = "NVIDIA L4";
  report.machine.gpus[2].link_now.width = 8;
  report.machine.nvidia.module_version = "580.95.05";
  const std::vector<bool> usable(3, true);
  const Policy policy = policy_of(policy_text(report.machine, usable));
  EXPECT_EQ(policy.gpus.size(), 2u);
  EXPECT_TRUE(unmet(policy, report.machine, usable).empty());
  report.machine.gpus[0].link_now.width = 8;
  EXPECT_FALSE(unmet(policy, report.machine, usable).empty());
  EXPECT_FALSE(unmet(policy, healthy(3).machine, {true, true, false}).empty());
}

TEST(Policy, AWordEndsAtAnyLetterOrDigit) {
  Gpu gpu = healthy_gpu(0);
  const auto is_met = [&](std::string name, const std::string& model) {
    Machine machine;
    machine.gpus.push_back(gpu);
    machine.gpus[0].name = std::move(name);
    return unmet(expecting({"1x" + model}), machine, {true}).empty();
  };
  for (const char c : {'a', 'z', 'A', 'Z', '0', '9'}) {
    EXPECT_FALSE(is_met(std::string("NVIDIA A10") + c, "A10")) << c;
    EXPECT_FALSE(is_met(std::string("NVIDIA ") + c + "A10", "A10")) << c;
  }
  for (const char c : {' ', '-', '/', ':', '@', '[', '`', '{'})
    EXPECT_TRUE(is_met(std::string("NVIDIA") + c + "A10" + c + "x", "A10")) << c;
  EXPECT_TRUE(is_met("NVIDIA A100-A10", "A10"));
}

TEST(Policy, OnlyNvlinksThatAreUpCount) {
  Machine machine;
  machine.gpus.push_back(healthy_gpu(0));
  for (const std::optional<bool> up : {std::optional(true), {true}, {false}, {}})
    machine.gpus[0].nvlinks.emplace_back().up = up;
  for (const auto& [count, met] : {std::pair("2", true), {"3", false}})
    EXPECT_EQ(
        unmet(policy_of("[[gpus]]\nnvlinks = " + std::string(count)), machine, {true}).empty(), met)
        << count;
}

TEST(Policy, ACheckListsWhatIsExpectedAndAcceptedAndQuietlyOnlyWhatNeedsWork) {
  PolicyReport report{.source = "fleet.toml",
                      .expected = {"8 x H100", "a driver of at least 550"},
                      .unmet = {},
                      .accepted = {"nvlink-down: on order"},
                      .expired = {"xid-13: until 2026-11-01"}};
  EXPECT_EQ(render_terminal(report, TerminalStyle{}),
            "[ok] The machine meets fleet.toml.\n"
            "  expected: 8 x H100\n"
            "  expected: a driver of at least 550\n"
            "  accepted: nvlink-down: on order\n"
            "  expired: xid-13: until 2026-11-01\n");
  report.unmet = {"7 of 8 H100", "the driver is 545"};
  EXPECT_EQ(render_terminal(report, TerminalStyle{.quiet = true}),
            "[x] The machine does not meet fleet.toml: 7 of 8 H100; the driver is 545.\n"
            "  expired: xid-13: until 2026-11-01\n");
}

}  // namespace
}  // namespace gpuready
