#include "bench/report/exit_rules.h"
#include "pack/report/exit_rules.h"
#include "report/exit_rules.h"
#include "ternary/report/exit_rules.h"
#include "vm/report/exit_rules.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using ternary::BenchRow;
using ternary::CheckStatus;

TEST(ExitRules, AnUnhealthyMachineComesBeforeMissingGpus) {
  MachineTally tally{.gpus = 2, .usable = 2, .ready = 2, .required = 4};
  EXPECT_EQ(exit_of(tally), Exit::required_absent);
  tally.errors = 1;
  EXPECT_EQ(exit_of(tally), Exit::unhealthy);
  tally = {.gpus = 2, .usable = 1, .required = 1};
  EXPECT_EQ(exit_of(tally), Exit::unhealthy);
}

TEST(ExitRules, AMachineThatWasToBeTestedMustBeReady) {
  MachineTally tally{.gpus = 2, .usable = 2, .ready = 1};
  EXPECT_EQ(exit_of(tally), Exit::ok) << "nothing was to be tested";
  tally.tested = true;
  EXPECT_EQ(exit_of(tally), Exit::unknown);
  tally.ready = 2;
  EXPECT_EQ(exit_of(tally), Exit::ok);
  tally.unknown = true;
  EXPECT_EQ(exit_of(tally), Exit::unknown);
}

TEST(ExitRules, ASelfTestThatTriedNothingIsUnknown) {
  std::vector<SelfTestRow> rows;
  EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), Exit::unknown);
  rows.emplace_back().status = VerdictStatus::passed;
  EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), Exit::ok);
  rows.emplace_back().status = VerdictStatus::not_supported;
  EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), Exit::ok);
  rows.emplace_back().status = VerdictStatus::timed_out;
  EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), Exit::unknown);
  rows.emplace_back().status = VerdictStatus::failed;
  EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), Exit::unhealthy);
}

TEST(ExitRules, ABenchmarkMustTimeWhatWasNamed) {
  std::vector<BenchRow> rows(2);
  rows[0].subject = "cpu/avx2";
  rows[0].status = CheckStatus::passed;
  rows[1].subject = "cuda:GPU-1";
  rows[1].status = CheckStatus::not_tested;
  EXPECT_EQ(exit_of(BenchOutcome{rows}), Exit::ok);
  EXPECT_EQ(exit_of(BenchOutcome{rows, true, false}), Exit::ok);
  EXPECT_EQ(exit_of(BenchOutcome{rows, false, true}), Exit::unknown);
  rows[1].status = CheckStatus::failed;
  EXPECT_EQ(exit_of(BenchOutcome{rows}), Exit::unhealthy);
  rows.clear();
  EXPECT_EQ(exit_of(BenchOutcome{rows}), Exit::unknown);
}

TEST(ExitRules, FilesThatAreWrongOrNotConvertedAreTold) {
  ternary::gguf::FileReport file;
  EXPECT_EQ(exit_of(file), Exit::ok);
  file.problems.emplace_back("it overlaps");
  EXPECT_EQ(exit_of(file), Exit::unhealthy);
  ternary::gguf::ConvertReport convert;
  EXPECT_EQ(exit_of(convert), Exit::usage) << "nothing to convert";
  convert.converted.emplace_back("a");
  EXPECT_EQ(exit_of(convert), Exit::ok);
  convert.failed.emplace_back();
  EXPECT_EQ(exit_of(convert), Exit::usage);
}

TEST(ExitRules, WhatWasInterruptedIsNeverWholeAndWhatIsBrokenStaysSo) {
  using enum Exit;
  for (const Exit exit : {ok, usage, required_absent, unknown, interrupted}) {
    EXPECT_EQ(unless_interrupted(exit, true), interrupted) << exit_meaning(exit);
    EXPECT_EQ(unless_interrupted(exit, false), exit) << exit_meaning(exit);
  }
  EXPECT_EQ(unless_interrupted(unhealthy, true), unhealthy);
  const Error cancelled{ErrorKind::cancelled, "interrupted", 0};
  EXPECT_EQ(exit_of_error(cancelled), interrupted);
  EXPECT_EQ(exit_of_vm_error(cancelled), interrupted);
}

TEST(ExitRules, AStackThatAnInterruptKeptFromRunningIsNotBroken) {
  bench::RunRecord run;
  run.interrupted = true;
  run.stacks.resize(2);
  run.stacks[0].status = bench::StackStatus::ok;
  run.stacks[1].status = bench::StackStatus::error;
  EXPECT_EQ(exit_of(BenchRun{run, {}}), Exit::ok);
  run.stacks[1].repeats.emplace_back();
  EXPECT_EQ(exit_of(BenchRun{run, {}}), Exit::unhealthy) << "it ran, and failed";
  run.stacks[1].repeats.clear();
  run.interrupted.reset();
  EXPECT_EQ(exit_of(BenchRun{run, {}}), Exit::unhealthy);
}

}  // namespace
}  // namespace gpuready
