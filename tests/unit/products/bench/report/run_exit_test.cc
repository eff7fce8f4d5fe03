// docs/bench-run.md: 1 precedes 130, 130 precedes 3, and 3 precedes 4.
#include <gtest/gtest.h>

#include "bench/report/exit_rules.h"

namespace gpuready {
namespace {

using bench::StackStatus;

struct Statuses {
  std::vector<StackStatus> of;  // stacks a, b, ...
  std::vector<std::string> named = {};
  bool sick = false;
};

bench::RunRecord run_of(const std::vector<StackStatus>& statuses) {
  bench::RunRecord run;
  for (const StackStatus status : statuses) {
    bench::StackResult& stack = run.stacks.emplace_back();
    stack.id = static_cast<char>('a' + run.stacks.size() - 1);
    stack.status = status;
    stack.repeats.emplace_back().status = status;
  }
  return run;
}
Exit exit_of(const Statuses& it) {
  const auto run = run_of(it.of);
  return exit_of(BenchRun{run, it.named, it.sick});
}

TEST(BenchRunExit, FollowsFromTheStacksAndTheGpu) {
  using enum StackStatus;
  EXPECT_EQ(exit_of({{ok}}), Exit::ok);
  EXPECT_EQ(exit_of({{ok, unavailable, no_valid_samples}}), Exit::ok);
  EXPECT_EQ(exit_of({{ok}, {}, true}), Exit::unhealthy);
  for (const StackStatus status : {error, different_work, not_believable})
    EXPECT_EQ(exit_of({{ok, status}}), Exit::unhealthy) << name_of(status);
  EXPECT_EQ(exit_of({{ok, unavailable}, {"a"}}), Exit::ok);
  EXPECT_EQ(exit_of({{ok, unavailable}, {"a", "b"}}), Exit::required_absent);
  EXPECT_EQ(exit_of({{ok, no_valid_samples}, {"b"}}), Exit::ok);
  EXPECT_EQ(exit_of({{ok}, {"c"}}), Exit::ok);
  EXPECT_EQ(exit_of({{unavailable, no_valid_samples}}), Exit::unknown);
  EXPECT_EQ(exit_of({{}}), Exit::unknown);
}

TEST(BenchRunExit, WhatIsBrokenPrecedesWhatIsAbsentAndThatWhatIsNotTimed) {
  using enum StackStatus;
  EXPECT_EQ(exit_of({{error, unavailable}, {"b"}}), Exit::unhealthy);
  EXPECT_EQ(exit_of({{unavailable}, {"a"}, true}), Exit::unhealthy);
  EXPECT_EQ(exit_of({{unavailable}, {"a"}}), Exit::required_absent);
}

TEST(BenchRunExit, AnInterruptHidesAllButWhatIsBroken) {
  using enum StackStatus;
  const std::vector<std::string> named{"a"};
  for (const auto& [status, whole, cut_off] :
       {std::tuple{ok, Exit::ok, Exit::interrupted},
        {unavailable, Exit::required_absent, Exit::interrupted},
        {no_valid_samples, Exit::unknown, Exit::interrupted},
        {error, Exit::unhealthy, Exit::unhealthy}}) {
    auto run = run_of({status});
    EXPECT_EQ(exit_of_run({run, named}, {}), whole) << name_of(status);
    run.interrupted = true;
    EXPECT_EQ(exit_of_run({run, named}, {}), cut_off) << name_of(status);
  }
}

TEST(BenchRunExit, OfAnotherMachineItIsWhatThatOneSaid) {
  auto run = run_of({StackStatus::error});
  for (const Exit exit : {Exit::ok, Exit::unhealthy, Exit::required_absent, Exit::unknown})
    EXPECT_EQ(exit_of_run({run, {}}, exit), exit);
  run.interrupted = true;
  EXPECT_EQ(exit_of_run({run, {}}, Exit::unknown), Exit::interrupted);
  EXPECT_EQ(exit_of_run({run, {}}, Exit::unhealthy), Exit::unhealthy);
}

// Its interrupt was not ours; whether the run is whole says the run.
TEST(BenchRunExit, AnotherMachinesInterruptAndSilenceAreUnknown) {
  Envelope envelope;
  for (const Exit exit :
       {Exit::ok, Exit::unhealthy, Exit::usage, Exit::required_absent, Exit::unknown}) {
    envelope.exit = exit;
    EXPECT_EQ(exit_elsewhere(envelope), exit);
  }
  envelope.exit = Exit::interrupted;
  EXPECT_EQ(exit_elsewhere(envelope), Exit::unknown);
  EXPECT_EQ(exit_elsewhere(fail(ErrorKind::bad_input, "no exit code")), Exit::unknown);
}

TEST(BenchRunExit, OfARunThatIsNotKeptItIsUsageUnlessSomethingIsBroken) {
  EXPECT_EQ(exit_unkept(1), 1);
  for (const int code : {0, 2, 3, 4, 130}) EXPECT_EQ(exit_unkept(code), 2) << code;
}

TEST(BenchRunExit, OfARunThatIsNotMadeItFollowsFromTheCause) {
  EXPECT_EQ(exit_of_run_error(ErrorKind::device), Exit::unhealthy);
  EXPECT_EQ(exit_of_run_error(ErrorKind::cancelled), Exit::interrupted);
  for (const ErrorKind kind : {ErrorKind::bad_input, ErrorKind::io, ErrorKind::not_found})
    EXPECT_EQ(exit_of_run_error(kind), Exit::usage);
}

}  // namespace
}  // namespace gpuready
