#include "cli/options.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "unit/report/healthy.h"

namespace gpuready::cli {
namespace {

TEST(VersionOption, IsDigitsAndDotsOrNothing) {
  EXPECT_EQ(version_option("--driver", std::nullopt).value(), std::nullopt);
  EXPECT_EQ(version_option("--driver", "535.104.05").value()->parts, (std::vector{535, 104, 5}));
  EXPECT_EQ(version_option("--cuda", "12").value()->parts, std::vector{12});
  for (const auto& [option, example] :
       {std::pair("--driver", "550 or 535.104.05"), {"--cuda", "12.4"}}) {
    const auto refused = version_option(option, "new\n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(refused.error().message, std::string(option) + " " + printable("new\n") +
                                           ": a version is digits and dots, such as " + example);
  }
}

// The day is that of the machine that was read; the rules of the command line come first.
TEST(AddAccepted, TakesWhatThePolicyAcceptsTodayAndNotesTheRest) {
  const auto policy = parse_policy(
      "[[accept]]\nname = \"xid-31\"\nreason = \"known\"\nuntil = \"2026-12-31\"\n"
      "[[accept]]\nname = \"xid-13\"\nreason = \"known\"\nuntil = \"2026-11-29\"\n"
      "[[accept]]\nname = \"gpu-lost\"\ndevice = \"7\"\nreason = \"gone\"\nuntil = "
      "\"2026-12-31\"\n",
      "policy.toml");
  ASSERT_TRUE(policy) << policy.error().message;
  Report report = healthy(2);
  report.machine.system.unix_seconds = 1'796'000'000;  // in November of 2026
  auto rules = parse_accept_rules({"nvlink-down@1"}).value();
  ASSERT_TRUE(add_accepted(*policy, report, rules));
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_TRUE(rules[0].text.starts_with("nvlink-down@")) << rules[0].text;
  EXPECT_EQ(rules[1].text, "xid-31");
  EXPECT_EQ(rules[1].because, "policy.toml, until 2026-12-31: known");
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_TRUE(report.notes[0].starts_with("policy.toml: ")) << report.notes[0];
  EXPECT_EQ(report.notes[1], "policy.toml: no longer accepted: xid-13: accepted until 2026-11-29.");
  auto of_nobody = parse_accept_rules({"nvlink-down@7"}).value();
  EXPECT_FALSE(add_accepted(*policy, report, of_nobody)) << "the command line is wrong usage";
}

}  // namespace
}  // namespace gpuready::cli
