// docs/bench.md, "bench loop".
#include "bench/run/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "bench/run/order.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

using Words = std::vector<std::string>;

JobOutcome ended(int code, std::string err = "", std::string out = "") {
  JobOutcome outcome;
  outcome.exit_code = code;
  outcome.err = std::move(err);
  outcome.out = std::move(out);
  return outcome;
}

class BenchLoop : public ::testing::Test {
 protected:
  BenchLoop() {
    std::string name = std::string(GPUREADY_BINARY_DIR) + "/loopXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    options_.folder = name;
    options_.base = "old";
    options_.candidate = "new";
    options_.rule.compare.learn = false;
    hooks_.program = "/opt/gpuready";
    hooks_.run = [this](const Job& job) { return make_run(job); };
    hooks_.elapsed_s = [] { return 0; };
    hooks_.tell = [this](const std::string& line) { told_.push_back(line); };
    hooks_.progress = [this](const std::string& line) { shown_.push_back(line); };
  }
  ~BenchLoop() override { std::filesystem::remove_all(options_.folder); }

  // As `bench run` does: base 1000 ns and candidate 900 ns, with 0.1% of noise, unless `change_`
  // says another thing.
  Result<JobOutcome> make_run(const Job& job) {
    jobs_.push_back(job);
    const auto tag = std::ranges::find(job.args, "--tag");
    if (tag == job.args.end() || tag + 1 == job.args.end()) return ended(2, "no tag");
    save(tag[1]);
    return ended(0);
  }
  void save(const std::string& tag) {
    const std::size_t n = saved_++;
    RunRecord run = run_of(fmt::format("run-{}", n),
                           {(tag == "new" ? 900.0 : 1000.0) + static_cast<double>(n % 3)});
    run.tag = tag;
    run.started_utc = second(n);
    if (change_) change_(run, n);
    (tag == "new" ? candidate_ : base_).push_back(run);
    const auto result = save_run(
        options_.folder, run,
        dump(Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}}));
    EXPECT_TRUE(result) << result.error().message;
  }
  std::string checked() {
    const auto result = PromotionLoop(options_, *host_, hooks_).check();
    if (result) return "good";
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    return result.error().message;
  }
  Result<Promotion> decided() { return PromotionLoop(options_, *host_, hooks_).decided(); }

  LoopOptions options_;
  LoopHooks hooks_;
  std::unique_ptr<Host> host_ = make_live_host();
  std::function<void(RunRecord&, std::size_t)> change_;
  std::size_t saved_ = 0;
  std::vector<RunRecord> base_, candidate_;
  std::vector<Job> jobs_;
  Words told_, shown_;
};

TEST_F(BenchLoop, BothTagsAreTagsAndTwo) {
  EXPECT_EQ(checked(), "good");
  options_.base = "a b";
  EXPECT_TRUE(checked().starts_with("a b is not a tag: ")) << checked();
  options_.base = "old", options_.candidate = "";
  EXPECT_TRUE(checked().starts_with("an empty text is not a tag: ")) << checked();
  options_.candidate = "old";
  EXPECT_EQ(checked(), "base and candidate are both old: each needs a tag of its own");
}

TEST_F(BenchLoop, EarlierRunsOfEitherTagAreRefused) {
  for (const char* tag : {"new", "old"}) {
    save(tag);
    EXPECT_EQ(checked(), fmt::format("the tag {} has runs already; a loop's runs are its own, "
                                     "since what was seen before is not in its error budget",
                                     tag));
  }
}

TEST_F(BenchLoop, AnIdeaHasAName) {
  for (const char* idea : {"", "=", "=x"}) {
    options_.idea = idea;
    EXPECT_EQ(checked(), "--idea names nothing: give NAME=VALUE, flags, commit or another name");
  }
  for (const char* idea : {"POOL", "POOL=", "POOL=a=b"}) {
    options_.idea = idea;
    EXPECT_EQ(checked(), "good") << idea;
    EXPECT_EQ(options_.rule.idea, "POOL");
  }
}

TEST_F(BenchLoop, OneStackDecides) {
  options_.rule.compare.stacks = {"a"};
  EXPECT_EQ(checked(), "good");
  options_.rule.compare.stacks = {"a", "b"};
  EXPECT_EQ(checked(), "--stack: one stack decides; name one");
}

TEST_F(BenchLoop, HowManyRunsItMayMakeIsKnownToTheRule) {
  options_.most_runs = 7;
  EXPECT_EQ(checked(), "good");
  EXPECT_EQ(options_.rule.compare.reach.runs, 7u);
}

TEST_F(BenchLoop, CommandsAreOneOfAShell) {
  options_.gate = "make 'x";
  EXPECT_EQ(checked(), "--gate make 'x: it has no closing '");
  options_.gate = " ";
  EXPECT_EQ(checked(), "--gate is empty");
  options_.gate.reset();
  options_.candidate_command = "x\\";
  EXPECT_EQ(checked(), "--candidate-command x\\: it ends with a backslash");
  options_.candidate_command = "";
  EXPECT_EQ(checked(), "--candidate-command is empty");
  options_.command = "";
  EXPECT_EQ(checked(), "--command is empty");
}

TEST_F(BenchLoop, WhatItSaysToEachRunItselfIsNotInACommandOfOurs) {
  for (const auto& [words, own] :
       std::vector<std::pair<std::string, std::string>>{{"--tag mine", "--tag"},
                                                        {"--tag=mine", "--tag"},
                                                        {"--iters 4 --results x", "--results"},
                                                        {"--replace", "--replace"}}) {
    options_.command = "gpuready bench run " + words;
    EXPECT_EQ(checked(), fmt::format("--command gpuready bench run {}: leave {} out, the loop says "
                                     "it to each run itself",
                                     words, own));
    options_.command = "./mine " + words;
    EXPECT_EQ(checked(), "good");
    options_.candidate_command = "gpuready bench run " + words;
    EXPECT_TRUE(checked().starts_with("--candidate-command gpuready bench run " + words + ": "));
    options_.candidate_command.reset();
  }
  options_.command = "gpuready bench run --tagged --stack tag";
  EXPECT_EQ(checked(), "good");
}

TEST_F(BenchLoop, ACommandMayNameTheIdeaIfTheLoopDoesNot) {
  options_.command = "gpuready bench run --idea=x";
  EXPECT_EQ(checked(), "good");
  options_.idea = "POOL=1";
  EXPECT_EQ(checked(),
            "--command gpuready bench run --idea=x: leave --idea out, the loop says it to each run "
            "itself");
}

TEST_F(BenchLoop, AGateThatFailsSaysWhy) {
  std::optional<JobOutcome> outcome;
  hooks_.run = [&](const Job& job) -> Result<JobOutcome> {
    jobs_.push_back(job);
    if (!outcome) return fail(ErrorKind::not_found, "no such program");
    return *outcome;
  };
  const auto gate = [&] {
    const auto passed = PromotionLoop(options_, *host_, hooks_).pass_gate();
    return passed ? "passed" : passed.error().message;
  };
  EXPECT_EQ(gate(), "passed");
  EXPECT_TRUE(jobs_.empty());
  options_.gate = "ctest -q 'a b'";
  EXPECT_EQ(gate(), "no such program");
  outcome = ended(0, "warning");
  EXPECT_EQ(gate(), "passed");
  EXPECT_EQ(jobs_.back().program, "ctest");
  EXPECT_EQ(jobs_.back().args, (Words{"-q", "a b"}));
  EXPECT_EQ(jobs_.back().limits.time, std::chrono::hours(2));

  const std::string failed = "the gate did not pass, so nothing was timed: ctest -q 'a b' ";
  outcome = ended(3, "one\ntwo\x1b\n\n", "out");
  EXPECT_EQ(gate(), failed + "(exited, exit code 3): two?");
  outcome = ended(1, "", "one\nout\n");
  EXPECT_EQ(gate(), failed + "(exited, exit code 1): out");
  outcome = ended(1);
  EXPECT_EQ(gate(), failed + "(exited, exit code 1): it said nothing");
  outcome = ended(0);
  outcome->end = JobEnd::timed_out;
  EXPECT_EQ(gate(), failed + "(timed_out, exit code 0): it said nothing");
}

TEST_F(BenchLoop, AHintAtTheHelpIsNotTheCause) {
  std::string err;
  options_.gate = "x";
  hooks_.run = [&](const Job&) { return ended(2, err); };
  const auto cause = [&] {
    const auto message = PromotionLoop(options_, *host_, hooks_).pass_gate().error().message;
    return message.substr(message.find("): ") + 3);
  };
  err = "unknown option\n  \nRun with --help for more information.\n";
  EXPECT_EQ(cause(), "unknown option");
  err = "Run with --help for more information.\n";
  EXPECT_EQ(cause(), "Run with --help for more information.");
}

TEST_F(BenchLoop, EachRunGetsItsTagFolderAndIdea) {
  options_.most_runs = 3;
  options_.order_seed = 5;
  options_.command = "gpuready bench run --stack 'a b'";
  options_.candidate_command = "./mine -O3";
  options_.idea = "POOL=a=b";
  change_ = [](RunRecord& run, std::size_t) {
    if (run.tag == "new") run.environment.variables["POOL"] = "a=b";
  };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  ASSERT_EQ(jobs_.size(), 6u);
  const auto first = candidate_first(3, 5);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const bool is_candidate = first[i / 2] != (i % 2 == 1);
    const Job& job = jobs_[i];
    EXPECT_EQ(job.program, is_candidate ? "./mine" : "/opt/gpuready");
    Words args = is_candidate ? Words{"-O3"} : Words{"bench", "run", "--stack", "a b"};
    args.insert(args.end(), {"--tag", is_candidate ? "new" : "old", "--add", "--results",
                             options_.folder, "--idea", "POOL"});
    EXPECT_EQ(job.args, args);
    ASSERT_EQ(job.env.size(), 1u);
    EXPECT_EQ(job.env[0].first, "POOL");
    EXPECT_EQ(job.env[0].second, is_candidate ? std::optional<std::string>("a=b") : std::nullopt);
    EXPECT_EQ(shown_[i],
              fmt::format("run {} of at most 3: {}", i / 2 + 1, is_candidate ? "new" : "old"));
  }
}

TEST_F(BenchLoop, AnIdeaWithoutAValueSetsNoVariable) {
  options_.most_runs = 3;
  options_.idea = "commit";
  change_ = [](RunRecord& run, std::size_t) { run.git_commit = run.tag == "new" ? "b" : "a"; };
  ASSERT_TRUE(decided());
  for (const Job& job : jobs_) {
    EXPECT_TRUE(job.env.empty());
    EXPECT_EQ(job.args.back(), "commit");
  }
}

TEST_F(BenchLoop, WithoutAnIdeaRunsGetNone) {
  options_.most_runs = 3;
  ASSERT_TRUE(decided());
  for (const Job& job : jobs_) EXPECT_EQ(job.args.back(), options_.folder);
}

// With 12 runs it looks at 3, 5, 8 and 12.
TEST_F(BenchLoop, AClearGainIsPromotedAtOneOfFewLooks) {
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(promotion->decision, Decision::promote);
  EXPECT_TRUE(saved_ == 6 || saved_ == 10 || saved_ == 16) << saved_;
}

TEST_F(BenchLoop, WhatStaysOpenEndsAfterTheLastRun) {
  options_.most_runs = 3;
  // 4% at a noise of 10%.
  change_ = [](RunRecord& run, std::size_t n) {
    run.stacks[0].repeats[0].samples_ns = {(run.tag == "new" ? 960.0 : 1000.0) * (n % 3 == 0 ? 0.9
                                                                                  : n % 3 == 1
                                                                                      ? 1.0
                                                                                      : 1.1)};
  };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(promotion->decision, Decision::need_more_runs);
  EXPECT_EQ(saved_, 6u);
  EXPECT_EQ(std::ranges::count(promotion->reasons, "the budget of time ended"), 0);
}

TEST_F(BenchLoop, ABudgetStartsNoFurtherPair) {
  options_.budget_s = 10;
  hooks_.elapsed_s = [&] { return saved_ < 4 ? 10.0 : 10.001; };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(promotion->decision, Decision::need_more_runs);
  EXPECT_EQ(promotion->reasons.back(), "the budget of time ended");
  EXPECT_EQ(saved_, 4u);
}

// A look that is not due has no share of the error.
TEST_F(BenchLoop, NothingIsPromotedBetweenTwoLooks) {
  options_.most_runs = 3;
  options_.budget_s = 10;
  options_.rule.least_runs = 1;
  options_.rule.risk = 0.2;
  hooks_.elapsed_s = [&] { return saved_ < 4 ? 0.0 : 11.0; };
  change_ = [](RunRecord& run, std::size_t n) {
    run.stacks[0].repeats[0].samples_ns = {(run.tag == "new" ? 100.0 : 1000.0) +
                                           static_cast<double>(n % 2) * 0.001};
  };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  const auto looked = promote({"old", base_}, {"new", candidate_}, options_.rule);
  ASSERT_TRUE(looked);
  EXPECT_EQ(looked->decision, Decision::promote) << "if it were due";
  EXPECT_EQ(promotion->decision, Decision::need_more_runs);
  EXPECT_EQ(promotion->reasons.back(), "the budget of time ended");
}

// With 8 runs it looks at 3, 5 and 8: 9/64, 16/64 and 39/64 of the error.
TEST_F(BenchLoop, ALookSpendsItsShareOfTheError) {
  options_.most_runs = 8;
  const auto at = [&](std::size_t runs, double share) {
    PromoteOptions rule = options_.rule;
    rule.share = share;
    const auto head = [&](const std::vector<RunRecord>& all) {
      return std::vector<RunRecord>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(runs));
    };
    return promote({"old", head(base_)}, {"new", head(candidate_)}, rule)->decision;
  };
  bool whole_share_differs = false;
  for (double noise = 0.02; noise < 0.07; noise *= 1.07) {
    std::filesystem::remove_all(options_.folder);
    saved_ = 0;
    base_.clear(), candidate_.clear();
    change_ = [&](RunRecord& run, std::size_t n) {
      run.stacks[0].repeats[0].samples_ns = {(run.tag == "new" ? 900.0 : 1000.0) *
                                             (1 + noise * (static_cast<double>(n % 3) - 1))};
    };
    const auto promotion = decided();
    ASSERT_TRUE(promotion) << promotion.error().message;
    const auto open = [](Decision decision) { return decision == Decision::need_more_runs; };
    const bool open_at_3 = open(at(3, 9.0 / 64)), open_at_5 = open_at_3 && open(at(5, 0.25));
    EXPECT_EQ(saved_, open_at_5 ? 16u : open_at_3 ? 10u : 6u) << noise;
    if (open_at_5) {
      EXPECT_EQ(promotion->decision, at(8, 39.0 / 64)) << noise;
      whole_share_differs |= !open(at(5, 1));
    }
  }
  EXPECT_TRUE(whole_share_differs);
}

TEST_F(BenchLoop, ABudgetThatEndsBeforeTheFirstRunIsAnError) {
  options_.budget_s = 10;
  hooks_.elapsed_s = [] { return 10.001; };
  const auto promotion = decided();
  ASSERT_FALSE(promotion);
  EXPECT_EQ(promotion.error().kind, ErrorKind::timed_out);
  EXPECT_EQ(promotion.error().message, "the budget of time ended before the first run");
  EXPECT_EQ(saved_, 0u);
}

TEST_F(BenchLoop, RunsThatDifferInMoreAreRefusedAfterTheFirstTwo) {
  change_ = [](RunRecord& run, std::size_t) {
    run.environment.driver_version = run.tag == "new" ? "2" : "1";
  };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_TRUE(promotion->refused());
  EXPECT_EQ(saved_, 2u);
}

TEST_F(BenchLoop, WhatNoRunCanChangeIsAnErrorAfterTheFirstTwo) {
  options_.idea = "commit";
  const auto unchanged = decided();
  ASSERT_FALSE(unchanged);
  EXPECT_TRUE(unchanged.error().message.starts_with("the candidate does not change commit: "))
      << unchanged.error().message;
  EXPECT_EQ(saved_, 2u);
}

// Other programs' load may even out.
TEST_F(BenchLoop, ADifferentLoadIsWaitedFor) {
  options_.most_runs = 5;
  std::map<std::string, std::size_t> runs;
  change_ = [&](RunRecord& run, std::size_t) {
    const bool early = runs[run.tag]++ < 3;
    run.load = Load{early == (run.tag == "new") ? 90.0 : 10.0, {}, {}};
  };
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(saved_, 10u);
}

// What the first pair does not show, the next may: what it failed to show only if the wanted stack
// is there and failed.
TEST_F(BenchLoop, AStackThatFailedMaySucceedYetAndOneThatIsMissingMayNot) {
  struct Row {
    std::vector<std::string> wanted;
    StackStatus a, b;  // of the stacks a and b in the first run of both sides
    bool goes_on;
  };
  using enum StackStatus;
  options_.most_runs = 3;
  options_.idea = "commit";
  for (const Row& row :
       {Row{{"a"}, error, ok, true}, Row{{"a"}, ok, error, false}, Row{{"b"}, ok, error, true},
        Row{{"a"}, no_valid_samples, ok, true}, Row{{"a"}, unavailable, error, false},
        Row{{"a=b"}, error, unavailable, true}, Row{{"a=b"}, unavailable, error, true},
        Row{{"a=b"}, unavailable, unavailable, false}, Row{{"c"}, error, error, false},
        Row{{}, error, unavailable, true}, Row{{}, unavailable, unavailable, false},
        Row{{}, error, ok, false}}) {
    SCOPED_TRACE(fmt::format("{}: {} {}", join(row.wanted, ","), name_of(row.a), name_of(row.b)));
    std::filesystem::remove_all(options_.folder);
    saved_ = 0;
    options_.rule.compare.stacks = row.wanted;
    change_ = [&](RunRecord& run, std::size_t n) {
      run.stacks[0].id = "a";
      run.stacks.push_back(run.stacks[0]);
      run.stacks[1].id = "b";
      run.git_commit = "same";
      if (n >= 2) return;
      run.stacks[0].status = row.a;
      run.stacks[1].status = row.b;
    };
    const auto promotion = decided();
    EXPECT_FALSE(promotion);
    EXPECT_TRUE(row.goes_on ? saved_ > 2 : saved_ == 2) << saved_;
  }
}

// Its runs would never be compared.
TEST_F(BenchLoop, AStackThatTheBaseDoesNotHaveEndsTheLoop) {
  change_ = [&](RunRecord& run, std::size_t) {
    run.stacks[0].status = StackStatus::unavailable;
    run.stacks[0].reason = "no module named torch";
    run.stacks.push_back(run.stacks[0]);
    run.stacks[1].id = "other";
    run.stacks[1].status = StackStatus::ok;
  };
  for (const char* named : {"gpuready", "gpuready=other"}) {
    std::filesystem::remove_all(options_.folder);
    saved_ = 0;
    options_.rule.compare.stacks = {named};
    const auto promotion = decided();
    ASSERT_FALSE(promotion);
    EXPECT_EQ(promotion.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(promotion.error().message,
              "gpuready is unavailable in the run of old: no module named torch");
    EXPECT_EQ(saved_, 2u);
  }
}

// Only a run that has the stack says that it is unavailable.
TEST_F(BenchLoop, ABaseRunOfOtherStacksDoesNotEndTheLoop) {
  change_ = [](RunRecord& run, std::size_t n) {
    if (run.tag == "old" && n >= 2) run.stacks[0].id = "other";
  };
  options_.rule.compare.stacks = {"gpuready"};
  options_.most_runs = 3;
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(promotion->decision, Decision::need_more_runs);
  EXPECT_EQ(saved_, 6u);
}

// That is a loss, which the rule judges.
TEST_F(BenchLoop, AStackThatOnlyTheCandidateLacksIsRejected) {
  change_ = [](RunRecord& run, std::size_t) {
    if (run.tag == "new") run.stacks[0].status = StackStatus::unavailable;
  };
  options_.rule.compare.stacks = {"gpuready"};
  options_.most_runs = 3;
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  EXPECT_EQ(promotion->decision, Decision::reject);
}

TEST_F(BenchLoop, ACommandThatWritesNotOneRunEndsTheLoop) {
  struct Row {
    JobOutcome outcome;
    std::size_t writes;
    ErrorKind kind;
    std::string message;
  };
  JobOutcome killed = ended(2, "usage");
  killed.end = JobEnd::signalled;
  options_.command = "./mine";
  for (const Row& row :
       {Row{ended(3, "no GPU\n"), 0, ErrorKind::unsupported, "(exited, exit code 3): no GPU"},
        Row{ended(0), 0, ErrorKind::unsupported, "(exited, exit code 0): it said nothing"},
        Row{ended(0), 2, ErrorKind::unsupported, "(exited, exit code 0): it said nothing"},
        Row{ended(2, "usage"), 0, ErrorKind::bad_input, "(exited, exit code 2): usage"},
        Row{killed, 0, ErrorKind::unsupported, "(signalled, exit code 2): usage"}}) {
    std::filesystem::remove_all(options_.folder);
    std::string tag;
    hooks_.run = [&](const Job& job) -> Result<JobOutcome> {
      tag = job.args[1];
      for (std::size_t i = 0; i < row.writes; ++i) save(tag);
      return row.outcome;
    };
    const auto promotion = decided();
    ASSERT_FALSE(promotion);
    EXPECT_EQ(promotion.error().kind, row.kind);
    EXPECT_EQ(promotion.error().message,
              fmt::format("./mine wrote no new run of {} {}", tag, row.message));
  }
}

TEST_F(BenchLoop, ACommandThatCannotBeRunEndsTheLoop) {
  hooks_.run = [](const Job&) -> Result<JobOutcome> {
    return fail(ErrorKind::cancelled, "interrupted");
  };
  const auto promotion = decided();
  ASSERT_FALSE(promotion);
  EXPECT_EQ(promotion.error().kind, ErrorKind::cancelled);
}

// No energy and no memory on either side: a figure that is not guarded is reported at the first
// look.
TEST_F(BenchLoop, WhatIsNotGuardedIsReportedOnce) {
  change_ = [](RunRecord& run, std::size_t n) {
    run.stacks[0].repeats[0].samples_ns = {(run.tag == "new" ? 960.0 : 1000.0) * (n % 3 == 0 ? 0.9
                                                                                  : n % 3 == 1
                                                                                      ? 1.0
                                                                                      : 1.1)};
    if (run.tag == "old") run.stacks[0].repeats[0].energy_mj = 1;
  };
  std::vector<std::size_t> runs_before;  // those that were made before each line on energy
  hooks_.tell = [&](const std::string& line) {
    told_.push_back(line);
    if (line.starts_with("energy ")) runs_before.push_back(saved_);
  };
  options_.most_runs = 5;
  const auto promotion = decided();
  ASSERT_TRUE(promotion) << promotion.error().message;
  ASSERT_EQ(saved_, 10u);
  const auto of_energy = [](const std::string& line) { return line.starts_with("energy "); };
  EXPECT_EQ(runs_before, std::vector<std::size_t>{6});  // looks are at 3 pairs and at 5
  EXPECT_TRUE(std::ranges::find_if(told_, of_energy)->starts_with("energy is not guarded: "));
}

}  // namespace
}  // namespace gpuready::bench
