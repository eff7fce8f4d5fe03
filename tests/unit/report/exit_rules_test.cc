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

// Each of them is enough.
TEST(ExitRules, ASelfTestWithACaseThatWasNotDecidedIsUnknown) {
  using enum VerdictStatus;
  for (const auto& [status, exit] : {std::pair(passed, Exit::ok),
                                     {not_supported, Exit::ok},
                                     {not_tested, Exit::unknown},
                                     {timed_out, Exit::unknown},
                                     {inconclusive, Exit::unknown},
                                     {failed, Exit::unhealthy}}) {
    std::vector<SelfTestRow> rows(2);
    rows[0].status = passed;
    rows[1].status = status;
    EXPECT_EQ(exit_of(std::span<const SelfTestRow>(rows)), exit) << to_string(status);
  }
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

// Each sign is enough, and none of them needs another.
TEST(ExitRules, EachSignOfAMachineHasItsCode) {
  const MachineTally good{.gpus = 1, .usable = 1, .ready = 1, .tested = true};
  EXPECT_EQ(exit_of(good), Exit::ok);
  const auto with = [&](auto change) {
    MachineTally tally = good;
    change(tally);
    return exit_of(tally);
  };
  EXPECT_EQ(with([](auto& t) { t.failed = true; }), Exit::unhealthy);
  EXPECT_EQ(with([](auto& t) { t.errors = 1; }), Exit::unhealthy);
  EXPECT_EQ(with([](auto& t) { t.degraded = 1; }), Exit::unhealthy);
  EXPECT_EQ(with([](auto& t) { t.usable = 0; }), Exit::unhealthy);
  EXPECT_EQ(with([](auto& t) { t.required = 1; }), Exit::ok);
  EXPECT_EQ(with([](auto& t) { t.required = 2; }), Exit::required_absent);
  EXPECT_EQ(with([](auto& t) { t.unmet = true; }), Exit::required_absent);
  EXPECT_EQ(with([](auto& t) { t.ready = 0; }), Exit::unknown);
  EXPECT_EQ(with([](auto& t) { t.unknown = true; }), Exit::unknown);
  EXPECT_EQ(with([](auto& t) { t.named_libraries = true; }), Exit::unknown);
  EXPECT_EQ(with([](auto& t) { t.bus_unread = true; }), Exit::ok) << "a GPU was found";
  EXPECT_EQ(with([](auto& t) { t = {.bus_unread = true}; }), Exit::unknown);
  EXPECT_EQ(with([](auto& t) { t = {}; }), Exit::ok) << "no GPU here";
  EXPECT_EQ(with([](auto& t) { t.warnings = 1; }), Exit::ok);
}

TEST(ExitRules, OperationsOnDevices) {
  EXPECT_EQ(exit_of(VmTally{}), Exit::ok);
  EXPECT_EQ(exit_of(VmTally{.refused = true}), Exit::unhealthy);
  EXPECT_EQ(exit_of(VmTally{.failed = true}), Exit::unhealthy);
  EXPECT_EQ(exit_of(VmTally{.unclean = true}), Exit::unhealthy);
  EXPECT_EQ(exit_of(VmTally{.absent = true, .refused = true}), Exit::required_absent);
  EXPECT_EQ(exit_of(VmTally{.absent = true, .failed = true, .unfinished = true}), Exit::unknown);
}

TEST(ExitRules, ErrorsByTheirKind) {
  const auto both = [](ErrorKind kind) {
    const Error error{kind, "x", 0};
    return std::pair(exit_of_error(error), exit_of_vm_error(error));
  };
  EXPECT_EQ(both(ErrorKind::bad_input), std::pair(Exit::usage, Exit::usage));
  EXPECT_EQ(both(ErrorKind::not_found), std::pair(Exit::unknown, Exit::required_absent));
  EXPECT_EQ(both(ErrorKind::no_permission), std::pair(Exit::unknown, Exit::usage));
  EXPECT_EQ(both(ErrorKind::busy), std::pair(Exit::unknown, Exit::unknown));
  EXPECT_EQ(both(ErrorKind::io), std::pair(Exit::unknown, Exit::unhealthy));
}

TEST(ExitRules, AnInstallationByItsEnd) {
  const auto end = [](pack::InstallEnd how, std::optional<Error> error = {}) {
    pack::InstallOutcome outcome;
    outcome.end = how;
    outcome.error = error;
    return exit_of(outcome);
  };
  using enum pack::InstallEnd;
  EXPECT_EQ(end(installed), Exit::ok);
  EXPECT_EQ(end(unchanged), Exit::ok);
  EXPECT_EQ(end(refused), Exit::unhealthy);
  EXPECT_EQ(end(refused, Error{ErrorKind::bad_input, "x", 0}), Exit::unhealthy);
  EXPECT_EQ(end(not_loaded), Exit::unhealthy);
  EXPECT_EQ(end(failed), Exit::unknown);
  EXPECT_EQ(end(failed, Error{ErrorKind::bad_input, "x", 0}), Exit::usage);
}

TEST(ExitRules, AnImageOnADriver) {
  CompatReport report;
  report.cuda.driver_version = "580.65.06";
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.cuda.fit = vm::CudaFit::too_old;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
  report.cuda.fit = vm::CudaFit::minor_version;
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.image_libraries = {{"/libcuda.so", "580.65.06", false}, {"/c/libcuda.so", "590.1", true}};
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.image_libraries[1].compat = false;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
  report.image_libraries.clear();
  report.gpu.emplace();
  for (const auto& [served, exit] : {std::pair(std::optional(true), Exit::ok),
                                     {std::optional(false), Exit::unhealthy},
                                     {std::optional<bool>(), Exit::unknown}}) {
    report.gpu->served = served;
    EXPECT_EQ(exit_of(report), exit);
  }
}

TEST(ExitRules, ADiagnosisOfHostsAndGuests) {
  VmDoctorReport report;
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.console.emplace().state = vm::ConsoleState::unknown;
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.console.reset();
  report.bus_unread = "x";
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.findings.emplace_back().severity = Severity::warning;
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.findings[0].severity = Severity::error;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(ExitRules, AVerificationByEachOfItsParts) {
  using ternary::CheckStatus;
  ternary::VerifyReport good;
  good.subjects.emplace_back().status = CheckStatus::passed;
  EXPECT_EQ(exit_of(good), Exit::ok);
  EXPECT_EQ(exit_of(ternary::VerifyReport{}), Exit::unknown);
  const auto with = [&](auto change) {
    ternary::VerifyReport report = good;
    change(report);
    return exit_of(report);
  };
  EXPECT_EQ(with([](auto& r) { r.checks.emplace_back().status = CheckStatus::failed; }),
            Exit::unhealthy);
  EXPECT_EQ(with([](auto& r) { r.tensors.emplace_back().status = CheckStatus::failed; }),
            Exit::unhealthy);
  EXPECT_EQ(with([](auto& r) { r.subjects.emplace_back().status = CheckStatus::failed; }),
            Exit::unhealthy);
  EXPECT_EQ(with([](auto& r) { r.file_problems.emplace_back("x"); }), Exit::unhealthy);
  for (const auto status : {CheckStatus::not_tested, CheckStatus::not_supported})
    EXPECT_EQ(with([&](auto& r) { r.tensors.emplace_back().status = status; }), Exit::unknown);
  // A subject that nothing asked for may be left out; one that timed out may not.
  EXPECT_EQ(with([](auto& r) { r.subjects.emplace_back().status = CheckStatus::timed_out; }),
            Exit::unknown);
  const auto left_out = [&](bool asked, std::string device) {
    return with([&](auto& r) {
      auto& subject = r.subjects.emplace_back();
      subject.status = CheckStatus::not_tested;
      subject.asked = asked;
      subject.device = device;
    });
  };
  EXPECT_EQ(left_out(false, ""), Exit::ok);
  EXPECT_EQ(left_out(true, ""), Exit::unknown);
  EXPECT_EQ(left_out(false, "cuda:0"), Exit::unknown);
}

// Three that ask only whether something is wrong; a comparison and a promotion may also be refused.
TEST(ExitRules, WhatIsWrongIsUnhealthyAndWhatCannotBeJudgedIsNot) {
  EXPECT_EQ(exit_of(DriversReport{}), Exit::ok);
  EXPECT_EQ(exit_of(DriversReport{.bundles = {}, .problems = {"x"}}), Exit::unhealthy);
  UpgradeReport upgrade;
  EXPECT_EQ(exit_of(upgrade), Exit::unhealthy);
  upgrade.switched = true;
  EXPECT_EQ(exit_of(upgrade), Exit::ok);
  EnvReport env;
  EXPECT_EQ(exit_of(env), Exit::ok);
  env.right = false;
  EXPECT_EQ(exit_of(env), Exit::unhealthy);

  bench::Comparison comparison;
  EXPECT_EQ(exit_of(comparison), Exit::unknown) << "nothing was compared";
  for (const auto& [outcome, exit] : {std::pair(bench::Outcome::faster, Exit::ok),
                                      {bench::Outcome::same, Exit::ok},
                                      {bench::Outcome::slower, Exit::unhealthy},
                                      {bench::Outcome::lost, Exit::unhealthy},
                                      {bench::Outcome::inconclusive, Exit::unknown}}) {
    comparison.stacks.assign(1, {});
    comparison.stacks[0].outcome = outcome;
    EXPECT_EQ(exit_of(comparison), exit);
  }
  comparison.differences.emplace_back().refused = true;
  EXPECT_EQ(exit_of(comparison), Exit::usage);

  bench::Promotion promotion;
  EXPECT_EQ(exit_of(promotion), Exit::unknown);
  promotion.decision = bench::Decision::reject;
  EXPECT_EQ(exit_of(promotion), Exit::unhealthy);
  promotion.decision = bench::Decision::promote;
  EXPECT_EQ(exit_of(promotion), Exit::ok);
}

}  // namespace
}  // namespace gpuready
