#include "cli/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "unit/machine/scripted.h"
#include "unit/report/healthy.h"
#include "unit/test_folder.h"

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

// A library that is named and missing is wrong usage, before anything is loaded; a look at files
// only, and one at simulated backends, loads none.
TEST(Inspecting, MissesANamedLibraryOnlyWhereOneIsLoaded) {
  ::setenv("GPUREADY_HELPER", "/bin/true", 1);
  ::setenv("GPUREADY_LIBNVML", "/no/such/libnvidia-ml.so", 1);
  const auto host = make_live_host();
  const auto error = [&](InspectOptions options, std::optional<std::string> fake = {}) {
    Globals globals;
    globals.fake = std::move(fake);
    const auto machine = inspect_as_asked(*host, globals, options);
    return machine ? "" : machine.error().message;
  };
  constexpr const char* kMissing = "GPUREADY_LIBNVML=/no/such/libnvidia-ml.so: no such file";
  EXPECT_EQ(error({.libraries = true}), kMissing);
  EXPECT_EQ(error({.libraries = false, .full = true}), kMissing);
  EXPECT_EQ(error({.libraries = false}), "");
  EXPECT_EQ(error({.libraries = true, .full = true}, "cuda"), "");
  EXPECT_EQ(error({.libraries = true}, "none"), "");
  ::unsetenv("GPUREADY_LIBNVML");
  EXPECT_EQ(error({.libraries = true}), "");
  ::unsetenv("GPUREADY_HELPER");
}

TEST(Inspecting, OfABaselineThatIsMissingIsWrongUsage) {
  const auto machine = inspect_recording("/no/such/recording");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::bad_input);
}

TEST(Devices, AreExecutorsAndEachGpuThatAWordNames) {
  Machine machine;
  for (int gpu = 0; gpu < 3; ++gpu) {
    machine.gpus.push_back(healthy_gpu(gpu));
    machine.gpus.back().pci = PciAddress{0, static_cast<std::uint8_t>(0x17 + gpu), 0, 0};
  }
  machine.gpus[1].name = "NVIDIA L4";
  using Words = std::vector<std::string>;
  EXPECT_EQ(unique_devices({}, machine).value(), Words{});
  EXPECT_EQ(unique_devices({"cuda", "1"}, machine).value(), (Words{"cuda", "0000:18:00.0"}));
  EXPECT_EQ(unique_devices({"h100", "cpu"}, machine).value(),
            (Words{"0000:17:00.0", "0000:19:00.0", "cpu"}));
  const auto refused = unique_devices({"0", "3"}, machine);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("--device 3")) << refused.error().message;
}

// --expect replaces what the policy says about GPUs; everything else of the policy stays.
TEST(PolicyOf, AFileAndWhatIsExpected) {
  TestFolder folder;
  folder.write("policy.toml", "level = \"standard\"\n");
  const std::string file = folder.path("policy.toml");
  Globals recorded;
  recorded.replay = "recording";
  const auto policy = [&](std::optional<std::string> path, std::vector<std::string> expect) {
    return policy_for({.file = std::move(path), .expect = std::move(expect)}, recorded);
  };
  EXPECT_EQ(policy({}, {})->source, "");
  EXPECT_EQ(policy({}, {"2xH100"})->source, "--expect");
  EXPECT_EQ(policy({}, {"2xH100"})->gpus.at(0).count, 2u);
  EXPECT_EQ(policy({}, {"2xH100"})->level, std::nullopt);
  EXPECT_EQ(policy(file, {})->level, Level::standard);
  EXPECT_EQ(policy(file, {})->source, file);
  EXPECT_EQ(policy(file, {"L4"})->source, file);
  EXPECT_EQ(policy(file, {"L4"})->level, Level::standard);
  EXPECT_EQ(policy(file, {"L4"})->gpus.at(0).model, "L4");
  EXPECT_FALSE(policy(folder.path("absent"), {}));
  EXPECT_FALSE(policy(file, {"0xL4"}));
}

TEST(Reports, OfARecordingAreNotAboutThisMachineAndBoot) {
  Machine machine;
  machine.source = "live";
  const auto live = begin_report("check", machine);
  EXPECT_EQ(live.command, "check");
  EXPECT_EQ(live.machine_id, begin_envelope("check").machine_id);
  EXPECT_EQ(live.boot_id, begin_envelope("check").boot_id);
  EXPECT_TRUE(live.boot_id);
  machine.source = "recorded";
  const auto recorded = begin_report("doctor", machine);
  EXPECT_EQ(recorded.machine_id, std::nullopt);
  EXPECT_EQ(recorded.boot_id, std::nullopt);
  EXPECT_EQ(recorded.machine.source, "recorded");
}

}  // namespace
}  // namespace gpuready::cli
