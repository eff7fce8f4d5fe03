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
    Policy policy;
    policy.gpus = parse_expected({text}).value();
    EXPECT_EQ(unmet_by_two_h100(policy).empty(), met) << text;
  }
  for (const char* wrong : {"", "0", "0xH100", "2x", "9999xH100", "2x "})
    EXPECT_FALSE(parse_expected({wrong})) << wrong;
}

TEST(Policy, OneGpuIsNotCountedTwice) {
  Policy policy;
  policy.gpus = parse_expected({"1xH100", "1"}).value();
  EXPECT_TRUE(unmet_by_two_h100(policy).empty());
  policy.gpus = parse_expected({"2xH100", "1"}).value();
  EXPECT_EQ(unmet_by_two_h100(policy).size(), 1u);
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
  EXPECT_EQ(rules[0].text(), "clock@1");
  EXPECT_TRUE(expired_on(policy, kNewYear2027 - 1).empty());
  EXPECT_TRUE(accepted_on(policy, kNewYear2027).empty());
  EXPECT_EQ(expired_on(policy, kNewYear2027).size(), 1u);
}

TEST(Policy, AWrongFileIsRefusedWithItsKey) {
  const std::pair<std::string, std::string> rows[] = {
      {"x = 1", "x is not known"},
      {"level = \"fast\"", "level is not quick"},
      {"require = [\"speed\"]", "require has speed"},
      {"[[gpus]]\ncount = 0", "count is not from 1"},
      {"[[gpus]]\nmodell = \"H100\"", "modell is not known"},
      {"[driver]\nleast = \"new\"", "driver.least is not a version"},
      {"[[accept]]\nname = \"clock\"\nuntil = \"2026-12-31\"", "reason is missing"},
      {"[[accept]]\nname = \"clock\"\nreason = \"r\"", "until is not a day"},
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
    Policy policy;
    policy.gpus = parse_expected({"1x" + model}).value();
    return unmet(policy, machine, {true}).empty();
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

}  // namespace
}  // namespace gpuready
