#include "fleet/slow/pair_runner.h"

#include <gtest/gtest.h>

#include <atomic>

namespace gpuready::fleet {
namespace {

using Texts = std::vector<std::string>;

FleetMap map_of_nodes(int count) {
  Texts nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back("n" + std::to_string(i));
  return map_of(nodes, {});
}
PairRunner runner(std::string command) {
  return {.command = std::move(command), .gpus = 4, .time_limit = std::chrono::minutes(1)};
}

TEST(PairCommand, TheUsersThenThatOfTheNamedTemplate) {
  EXPECT_EQ(command_of({.command = "mine {a} {b}"}, 0), "mine {a} {b}");
  for (const PairTemplate& known : pair_templates())
    EXPECT_EQ(command_of({.runner = std::string(known.name), .in_slurm_job = true}, 0),
              known.command);
  EXPECT_EQ(command_of({.command = "mine", .runner = "mpi"}, 0), "mine");
  EXPECT_EQ(command_of({.command = "mine", .plan = true}, 0), "");  // nothing is measured
  EXPECT_EQ(command_of({.plan = true}, 0), "");
  EXPECT_EQ(command_of({}, 1), "");  // what was measured is judged
  const auto none = command_of({}, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(none.error().message,
            "nothing says how to measure: give --runner or --command, or --plan and --results");
}

// Outside a job each srun would wait for nodes of its own.
TEST(PairCommand, OnlyAJobOfSlurmMeasuresBySrun) {
  for (const std::size_t rounds : {0u, 1u}) {
    const auto outside = command_of({.runner = "slurm"}, rounds);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(outside.error().message.starts_with(
        "--runner slurm: this is not a job of Slurm (SLURM_JOB_ID is not set)"))
        << outside.error().message;
  }
  EXPECT_TRUE(command_of({.runner = "slurm", .in_slurm_job = true}, 0));
  EXPECT_TRUE(command_of({.runner = "mpi"}, 0));
  EXPECT_TRUE(command_of({.runner = "slurm", .plan = true}, 0));
}

TEST(PairRunner, ACommandNamesBothNodes) {
  for (const PairTemplate& known : pair_templates())
    EXPECT_TRUE(check_runner(runner(std::string(known.command)))) << known.name;
  for (const char* command : {"run {a}", "run {b}", "run a b", ""}) {
    const auto checked = check_runner(runner(command));
    ASSERT_FALSE(checked) << command;
    EXPECT_EQ(checked.error().message,
              "the command does not say where {a} and {b}, the nodes of a pair, go");
  }
}

TEST(PairRunner, FillsInNodesAndGpusAndLeavesOtherBraces) {
  const auto outcome = measure_round(runner("echo '{a} {b} {gpus} {a} {c} {' >&2; exit 3"),
                                     map_of_nodes(3), {{0, 2}}, 7);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].round, 7u);
  EXPECT_EQ(outcome.failures[0].a, "n1");
  EXPECT_EQ(outcome.failures[0].b, "n3");
  EXPECT_EQ(outcome.failures[0].reason, "exit code 3: n1 n3 4 n1 {c} {");
}

TEST(PairRunner, EachPairHasARateOrAReason) {
  const auto outcome = measure_round(
      runner("case {a} in n1) echo 'rate 12.5';; n3) echo oops; echo -----; exit 1;; *) exit 2;; "
             "esac # {b}"),
      map_of_nodes(6), {{0, 1}, {2, 3}, {4, 5}}, 1);
  ASSERT_EQ(outcome.rates.size(), 3u);
  EXPECT_EQ(outcome.rates[0].a, 0u);
  EXPECT_EQ(outcome.rates[0].b, 1u);
  EXPECT_EQ(outcome.rates[0].rate, 12.5);
  EXPECT_FALSE(outcome.rates[0].wrong_values);
  EXPECT_EQ(outcome.rates[1].rate, std::nullopt);
  EXPECT_EQ(outcome.rates[2].rate, std::nullopt);
  ASSERT_EQ(outcome.failures.size(), 2u);
  EXPECT_EQ(outcome.failures[0].a, "n3");
  EXPECT_EQ(outcome.failures[0].reason, "exit code 1: oops");  // not the rule below it
  EXPECT_EQ(outcome.failures[1].a, "n5");
  EXPECT_EQ(outcome.failures[1].reason, "exit code 2");
}

TEST(PairRunner, ReasonsOfWhatGaveNoRate) {
  const auto reason = [](const std::string& command,
                         std::chrono::milliseconds limit = std::chrono::minutes(1)) {
    auto one = runner(command);
    one.time_limit = limit;
    const auto outcome = measure_round(one, map_of_nodes(2), {{0, 1}}, 1);
    EXPECT_EQ(outcome.rates.size(), 1u);
    return outcome.failures.empty() ? "none" : outcome.failures[0].reason;
  };
  EXPECT_EQ(reason("echo 1; sleep 100", std::chrono::milliseconds(200)), "it timed_out after 0 s");
  EXPECT_EQ(reason("kill -9 $$"), "it signalled after 0 s");
  EXPECT_EQ(reason("echo said; echo first >&2; echo 'the last' >&2; echo '---' >&2; exit 1"),
            "exit code 1: the last");
  EXPECT_EQ(reason("echo n1: Test NCCL failure common.cu:958; echo mpirun ended >&2; exit 1"),
            "exit code 1: n1: Test NCCL failure common.cu:958");
  EXPECT_EQ(reason("echo ' Test CUDA failure x '; echo later; exit 1"),
            "exit code 1: Test CUDA failure x");
  EXPECT_EQ(reason("echo 5; head -c 1100000 /dev/zero | tr '\\0' x"),
            "it wrote more than 1 MiB, so its rate may be missing from what was kept");
  EXPECT_EQ(reason("echo 5"), "none");
}

// nccl-tests ends with another exit code then, or not at all.
TEST(PairRunner, WrongValuesCountHoweverTheCommandEnded) {
  const std::string row =
      "echo '1073741824 268435456 float sum -1 5432.1 197.67 370.63 12 5430.0 197.70 370.80 0'";
  std::string reason;
  for (const char* end : {"", "; exit 1", "; kill -9 $$"}) {
    const auto outcome = measure_round(runner(row + end), map_of_nodes(2), {{0, 1}}, 1);
    ASSERT_EQ(outcome.rates.size(), 1u);
    EXPECT_EQ(outcome.rates[0].rate, std::nullopt) << end;
    EXPECT_TRUE(outcome.rates[0].wrong_values) << end;
    ASSERT_EQ(outcome.failures.size(), 1u);
    if (reason.empty()) reason = outcome.failures[0].reason;
    EXPECT_EQ(outcome.failures[0].reason, reason) << end;
    EXPECT_TRUE(reason.contains("wrong")) << reason;
  }
}

TEST(PairRunner, APairThatWasCancelledIsNotCounted) {
  std::atomic<bool> cancel{true};
  auto one = runner("echo 5 # {a} {b}");
  one.watch.cancel = &cancel;
  const auto outcome = measure_round(one, map_of_nodes(4), {{0, 1}, {2, 3}}, 1);
  EXPECT_TRUE(outcome.rates.empty());
  EXPECT_TRUE(outcome.failures.empty());
}

// What happens while rounds are measured, in order.
struct Rounds {
  SlowSearch search{.map = map_of_nodes(4), .options = {.most_rounds = 3}, .rounds = {}};
  Texts events;
  std::atomic<bool> cancel{false};
  std::size_t keep_fails_at = SIZE_MAX, cancel_at_round = SIZE_MAX;

  Result<std::vector<PairFailure>> measure(std::string command) {
    auto one = runner(std::move(command));
    one.watch.cancel = &cancel;
    std::size_t kept = 0;
    return measure_rounds(
        one, search,
        [&]() -> Result<void> {
          events.push_back("keep " + std::to_string(search.rounds.size()));
          if (kept++ == keep_fails_at) return fail(ErrorKind::io, "disk full");
          return {};
        },
        [&](std::size_t pairs, unsigned round) {
          events.push_back("round " + std::to_string(round) + ": " + std::to_string(pairs));
          if (round == cancel_at_round) cancel = true;
        });
  }
};

TEST(MeasureRounds, KeepsBeforeTheFirstAndAfterEachUntilTheSearchEnds) {
  Rounds rounds;
  const auto failures = rounds.measure("case {a}{b} in *n4*) exit 1;; *) echo 10;; esac");
  ASSERT_TRUE(failures);
  EXPECT_EQ(rounds.events, (Texts{"keep 0", "round 1: 2", "keep 1", "round 2: 2", "keep 2",
                                  "round 3: 2", "keep 3"}));
  EXPECT_EQ(rounds.search.rounds.size(), 3u);
  EXPECT_EQ(failures->size(), 3u);  // one of each round
  for (std::size_t i = 0; i < failures->size(); ++i) EXPECT_EQ((*failures)[i].round, i + 1);
  rounds.events.clear();  // the search has ended, so the file stays as it is
  ASSERT_TRUE(rounds.measure("echo 10 # {a} {b}"));
  EXPECT_EQ(rounds.events, Texts{});
}

TEST(MeasureRounds, AFileThatCannotBeWrittenCostsNoMeasurement) {
  Rounds first;
  first.keep_fails_at = 0;
  EXPECT_FALSE(first.measure("echo 10 # {a} {b}"));
  EXPECT_EQ(first.events, Texts{"keep 0"});
  Rounds second;
  second.keep_fails_at = 1;
  const auto ended = second.measure("echo 10 # {a} {b}");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "disk full");
  EXPECT_EQ(second.events, (Texts{"keep 0", "round 1: 2", "keep 1"}));
}

TEST(MeasureRounds, ACancelledRoundIsNotAdded) {
  Rounds rounds;
  rounds.cancel_at_round = 2;
  ASSERT_TRUE(rounds.measure("echo 10 # {a} {b}"));
  EXPECT_EQ(rounds.events, (Texts{"keep 0", "round 1: 2", "keep 1", "round 2: 2"}));
  EXPECT_EQ(rounds.search.rounds.size(), 1u);
  Rounds at_once;
  at_once.cancel = true;
  ASSERT_TRUE(at_once.measure("echo 10 # {a} {b}"));
  EXPECT_EQ(at_once.events, Texts{});
}

TEST(MeasureRounds, ACommandThatNamesNoNodesMeasuresNothing) {
  Rounds rounds;
  EXPECT_FALSE(rounds.measure("echo 10"));
  EXPECT_EQ(rounds.events, Texts{});
}

}  // namespace
}  // namespace gpuready::fleet
