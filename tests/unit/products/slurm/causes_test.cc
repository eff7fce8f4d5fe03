#include "slurm/causes.h"

#include <gtest/gtest.h>

#include "unit/products/slurm/results.h"

namespace gpuready::slurm {
namespace {

Look eight_gpus() {
  Look look;
  for (int i = 0; i < 8; ++i)
    look.gpus.push_back({.index = i,
                         .minor_number = 7 - i,  // the driver need not number as the bus does
                         .uuid = "GPU-" + std::to_string(i),
                         .usable = true,
                         .given = true});
  return look;
}
LookedFinding lost(int gpu) {
  return {.id = "xid-79",
          .concerns = "GPU " + std::to_string(gpu),
          .title = "The GPU has fallen off the bus",
          .action = Action::power_cycle,
          .gpus = {gpu}};
}

TEST(SlurmCauses, OfANodeAreErrorsBadTestsAndWhatIsAbsent) {
  Look look = eight_gpus();
  EXPECT_TRUE(causes_of_node(look, {}, {}).empty());
  look.findings = {lost(3)};
  StatusReport status;
  status.results = {kept("GPU 1", Standing::bad, Level::standard), kept("GPU 2", Standing::good),
                    kept("GPU 5", Standing::absent), kept("GPU 6", Standing::retest),
                    kept("the machine", Standing::bad)};
  const auto causes = causes_of_node(look, status, {});
  ASSERT_EQ(causes.size(), 3u);
  EXPECT_EQ(causes[0].text, "GPU 3: The GPU has fallen off the bus");
  EXPECT_EQ(causes[0].needs_test, Level::quick);
  EXPECT_EQ(causes[1].text, "GPU 1: why");
  EXPECT_EQ(causes[1].needs_test, Level::standard);
  EXPECT_EQ(causes[2].id, "absent");
}

TEST(SlurmCauses, AnUnhealthyLookWithoutAFindingIsACauseToo) {
  Look look = eight_gpus();
  look.exit = Exit::unhealthy;
  look.gpus[4].usable = false, look.gpus[4].reason = "no kernel driver is bound to it";
  EXPECT_EQ(causes_of_node(look, {}, {}).at(0).text, "GPU 4: no kernel driver is bound to it");
  look.exit = Exit::required_absent, look.conclusion = "7 of 8 H100 are here.";
  EXPECT_EQ(causes_of_node(look, {}, {}).at(0).id, "policy");
  look.exit = Exit::unknown;
  EXPECT_TRUE(causes_of_node(look, {}, {}).empty());
}

TEST(SlurmCauses, AProcessThatAJobLeftIsOneUntilItIsGone) {
  Look look = eight_gpus();
  look.gpus[2].pids = {41, 77};
  EXPECT_TRUE(causes_of_node(look, {}, {42}).empty());
  EXPECT_EQ(causes_of_node(look, {}, {42, 77}).at(0).text,
            "GPU 2: process 77 of an earlier job still uses it");
}

TEST(SlurmCauses, OfAJobAreOnlyThoseOfItsGpus) {
  Look look = eight_gpus();
  look.findings = {lost(3)};
  look.gpus[3].usable = false;
  const auto causes = [&](const char* gpus) {
    return causes_of_job(look, {}, job_gpus(look, gpus));
  };
  EXPECT_TRUE(causes("0,1").empty());
  EXPECT_TRUE(causes("3").empty());  // the device file of GPU 4
  ASSERT_EQ(causes("2-4").size(), 1u);
  EXPECT_EQ(causes("2-4")[0].id, "xid-79");
  // What concerns the whole machine keeps a GPU from work only if that says so itself.
  look.findings = {{.id = "driver-not-loaded", .title = "No driver", .action = Action::configure}};
  EXPECT_TRUE(causes("0").empty());
  for (auto& gpu : look.gpus) gpu.usable = false;
  EXPECT_EQ(causes("0,1").size(), 1u);
}

TEST(SlurmCauses, AJobIsBlamedForBadTestsOfItsGpusOnly) {
  const Look look = eight_gpus();
  StatusReport status;
  status.results = {kept("GPU 0", Standing::bad), kept("the machine", Standing::bad)};
  status.results[0].uuid = "GPU-6";  // numbered otherwise then
  EXPECT_TRUE(causes_of_job(look, status, job_gpus(look, "7")).empty());
  EXPECT_EQ(causes_of_job(look, status, job_gpus(look, "1")).size(), 1u);
}

TEST(SlurmCauses, NumbersThatNameNoGpuSayWhy) {
  Look look = eight_gpus();
  EXPECT_EQ(job_gpus(look, "0,9").gpus.size(), 1u);
  EXPECT_TRUE(job_gpus(look, "0,9").unknown);
  EXPECT_TRUE(job_gpus(look, "GPU-1").unknown);
  EXPECT_FALSE(job_gpus(look, "0-7").unknown);
  look.gpus[0].minor_number.reset();  // then by their order
  EXPECT_EQ(job_gpus(look, "5").gpus.at(0)->index, 5);
  look.gpus[0].mig = true;
  EXPECT_TRUE(job_gpus(look, "5").gpus.empty());
  EXPECT_EQ(parse_numbers("3-1"), std::nullopt);
  EXPECT_EQ(parse_numbers("0-99999999999"), std::nullopt);
  EXPECT_EQ(parse_numbers("0,2-3"), (std::vector<int>{0, 2, 3}));
}

TEST(SlurmCauses, ATestIsShortOnIdleGpusThatHavePassedOne) {
  Look look = eight_gpus();
  StatusReport status;
  status.results = {kept("GPU 1", Standing::good), kept("GPU 2", Standing::good),
                    kept("GPU 3", Standing::expired)};
  status.results[0].uuid = "GPU-1", status.results[1].uuid = "GPU-2";
  status.results[2].uuid = "GPU-3";
  const auto is_short = [&](const char* gpus) {
    return test_is_short(job_gpus(look, gpus), status);
  };
  EXPECT_TRUE(is_short("5,6"));   // the device files of GPU 2 and 1
  EXPECT_FALSE(is_short("4-6"));  // that of GPU 3 is due
  EXPECT_FALSE(is_short("6,7"));  // GPU 0 was never tested
  EXPECT_FALSE(is_short("6,12"));
  EXPECT_FALSE(is_short(""));
  look.gpus[1].pids = {9};
  EXPECT_FALSE(is_short("6"));
  look.gpus[2].mig = true;
  EXPECT_FALSE(is_short("5"));
}

TEST(SlurmCauses, WhatNeedsHandsOrAResetNeedsATest) {
  Look look = eight_gpus();
  for (const Action action : {Action::none, Action::check_again, Action::configure,
                              Action::reload_driver, Action::reset_gpu, Action::replace}) {
    look.findings = {{.id = "a", .title = "A title", .action = action}};
    const auto causes = causes_of_node(look, {}, {});
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].text, "A title");
    EXPECT_EQ(causes[0].action, action);
    const bool tested = action == Action::reset_gpu || action == Action::replace;
    EXPECT_EQ(causes[0].needs_test, tested ? std::optional(Level::quick) : std::nullopt);
  }
}

TEST(SlurmCauses, AnUnhealthyLookSaysWhyOnlyIfNoFindingDoes) {
  Look look = eight_gpus();
  look.exit = Exit::unhealthy, look.conclusion = "Something is wrong.";
  look.gpus[4].usable = false, look.gpus[4].given = false;  // of others: not ours to judge
  auto causes = causes_of_node(look, {}, {});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].id, "gpu");
  EXPECT_EQ(causes[0].text, "Something is wrong.");
  EXPECT_EQ(causes[0].needs_test, std::nullopt);
  look.gpus[4].given = true;
  EXPECT_EQ(causes_of_node(look, {}, {}).at(0).needs_test, Level::quick);
  look.findings = {lost(3)};
  EXPECT_EQ(causes_of_node(look, {}, {}).size(), 1u);
}

TEST(SlurmCauses, AKeptResultOfTheMachineCountsUnlessTheLookIsNewer) {
  StatusReport status;
  status.results = {kept("the machine", Standing::absent), kept("GPU 1", Standing::bad)};
  Look look = eight_gpus();
  EXPECT_EQ(causes_of_node(look, status, {}).size(), 2u);
  look.findings = {lost(3)};
  const auto causes = causes_of_node(look, status, {});
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[1].text, "GPU 1: why");
}

TEST(SlurmCauses, AKeptResultIsAboutTheGpuOfItsUuidElseOfItsAddressElseOfItsNumber) {
  Look look = eight_gpus();
  for (LookedGpu& gpu : look.gpus)
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(gpu.index), 0, 0};
  StatusReport status;
  status.results = {kept("GPU 0", Standing::bad)};
  const auto blamed = [&] {
    std::vector<int> numbers;
    for (const LookedGpu& gpu : look.gpus)
      if (!causes_of_job(look, status, {.gpus = {&gpu}, .unknown = {}}).empty())
        numbers.push_back(gpu.index);
    return numbers;
  };
  EXPECT_EQ(blamed(), std::vector<int>{0});
  status.results[0].pci = look.gpus[2].pci;
  EXPECT_EQ(blamed(), std::vector<int>{2});
  status.results[0].uuid = "GPU-5";
  EXPECT_EQ(blamed(), std::vector<int>{5});
}

TEST(SlurmCauses, OfAJobIsEachOnceAndOnlyOfGpusThatAreOurs) {
  Look look = eight_gpus();
  for (int i : {0, 1}) look.gpus[static_cast<std::size_t>(i)].usable = false;
  look.gpus[0].reason = look.gpus[1].reason = "asleep";
  look.gpus[1].given = false;
  const auto causes = causes_of_job(look, {}, job_gpus(look, "6,7"));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].text, "GPU 0: asleep");
  EXPECT_EQ(causes[0].needs_test, Level::quick);
  look.findings = {{.id = "driver-not-loaded", .title = "No driver", .action = Action::configure}};
  look.gpus[1].given = true;
  EXPECT_EQ(causes_of_job(look, {}, job_gpus(look, "6,7")).size(), 1u);  // of both, once
}

TEST(SlurmCauses, NumbersCountGpusThatAreNotPartOfTheProcessor) {
  Look look = eight_gpus();
  EXPECT_EQ(parse_numbers("1023"), std::vector<int>{1023});
  EXPECT_EQ(parse_numbers("1024"), std::nullopt);
  EXPECT_EQ(parse_numbers("0-1023")->size(), 1024u);
  for (LookedGpu& gpu : look.gpus) gpu.minor_number.reset();
  EXPECT_EQ(job_gpus(look, "7").gpus.at(0)->index, 7);
  EXPECT_EQ(job_gpus(look, "8").unknown, "no GPU here has the number 8 of SLURM_JOB_GPUS=8");
  look.gpus[0].integrated = true;
  EXPECT_EQ(job_gpus(look, "0").gpus.at(0)->index, 1);
  EXPECT_TRUE(job_gpus(look, "7").unknown);
}

TEST(SlurmCauses, ATestNeedsAUuidAndAGpuThatCanBeUsed) {
  Look look = eight_gpus();
  StatusReport status;
  status.results = {kept("GPU 1", Standing::good)};
  EXPECT_TRUE(test_is_short(job_gpus(look, "6"), status));
  look.gpus[1].usable = false;
  EXPECT_FALSE(test_is_short(job_gpus(look, "6"), status));
  look.gpus[1].usable = true, look.gpus[1].uuid.reset();
  EXPECT_FALSE(test_is_short(job_gpus(look, "6"), status));
}

TEST(SlurmReason, OfARehearsalNeedsNoTest) {
  const auto causes = rehearsed({{"a", "x", Action::reboot, Level::quick}});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].id, "a");
  EXPECT_EQ(causes[0].text, "rehearsal: x");
  EXPECT_EQ(causes[0].needs_test, std::nullopt);
}

TEST(SlurmReason, IsCutOnlyIfItIsTooLong) {
  const std::size_t fits = kMostReasonBytes - kPrefix.size() - std::string_view(" (reboot)").size();
  const auto whole = reason_of({{"a", std::string(fits, 'y'), Action::reboot}});
  EXPECT_EQ(whole, "gpuready: " + std::string(fits, 'y') + " (reboot)");
  const auto cut = reason_of({{"a", std::string(fits + 1, 'y'), Action::reboot}});
  EXPECT_EQ(cut, "gpuready: " + std::string(fits - 3, 'y') + "... (reboot)");
  EXPECT_EQ(reason_of({{"a", "~ ~\x7f\x1f\t|", Action::none}}), "gpuready: ~ ~?? | (none)");
}

TEST(SlurmReason, IsOneShortLineWithTheStrongestAction) {
  const Cause a{"a", "GPU 3: fell off.", Action::power_cycle}, b{"b", "x", Action::configure};
  EXPECT_EQ(reason_of({a}), "gpuready: GPU 3: fell off (power_cycle)");
  EXPECT_EQ(reason_of({b, a}), "gpuready: x; 1 more (power_cycle)");
  EXPECT_EQ(reason_of({}), "");
  const auto odd = reason_of({{"c", "a\n\"b\" \x1b[2J\xc3\xa4", Action::none}});
  EXPECT_EQ(odd, "gpuready: a 'b' ?[2J?? (none)");
  const auto lengthy = reason_of({{"d", std::string(4000, 'y'), Action::ask_host}, b});
  EXPECT_EQ(lengthy.size(), kMostReasonBytes);
  EXPECT_TRUE(lengthy.ends_with("y...; 1 more (ask_host)"));
  for (const auto& reason : {reason_of({a}), odd, lengthy}) EXPECT_TRUE(reads_as_ours(reason));
}

TEST(SlurmReason, ReadsAsOursOnlyAsAWhole) {
  for (const char* text :
       {"", "gpuready: ", "gpuready: GPU 3: fell off", "gpuready: x (reboot) ticket 12",
        "NHC: x (reboot)", " gpuready: x (reboot)", "gpuready: x (soon)", "Gpuready: x (reboot)",
        "gpuready: x (reboot)\nmore"})
    EXPECT_FALSE(reads_as_ours(text)) << text;
  EXPECT_TRUE(reads_as_ours("gpuready: x (y) (reboot)"));
  EXPECT_TRUE(is_rehearsal("gpuready: rehearsal: x (reboot)"));
  EXPECT_FALSE(is_rehearsal("gpuready: a rehearsal: x (reboot)"));
}

}  // namespace
}  // namespace gpuready::slurm
