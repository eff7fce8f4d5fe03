#include "slurm/hooks.h"

#include <gtest/gtest.h>

#include "unit/products/slurm/fake_slurm.h"
#include "unit/products/slurm/results.h"

namespace gpuready::slurm {
namespace {

using Texts = std::vector<std::string>;
using Pids = std::vector<std::uint32_t>;
constexpr std::chrono::seconds kLimit{28};

// GPU 0 and 1, which have the numbers 0 and 1 for Slurm, too.
Look two_gpus(const Pids& pids = {}) {
  Look look;
  for (int i = 0; i < 2; ++i)
    look.gpus.push_back({.index = i,
                         .minor_number = i,
                         .uuid = "GPU-" + std::to_string(i),
                         .usable = true,
                         .given = true});
  look.gpus[0].pids = pids;
  return look;
}
LookedFinding lost() {
  return {.id = "xid-79",
          .concerns = "GPU 0",
          .title = "Fell off",
          .action = Action::power_cycle,
          .gpus = {0}};
}
Texts texts_of(const std::vector<Cause>& causes) {
  Texts texts;
  for (const Cause& cause : causes) texts.push_back(cause.text);
  return texts;
}

TEST(SlurmSeen, ALookThatGaveNoAnswerIsACause) {
  auto outcome = ended(JobEnd::timed_out);
  auto seen = seen_by_child(outcome, kLimit, 5);
  ASSERT_TRUE(seen.no_answer);
  EXPECT_EQ(seen.no_answer->id, "no-answer");
  EXPECT_EQ(seen.no_answer->text, "the drivers gave no answer within 28 s");
  EXPECT_EQ(seen.no_answer->action, Action::reboot);
  EXPECT_EQ(seen.no_answer->needs_test, Level::quick);
  EXPECT_FALSE(seen.look);
  EXPECT_EQ(seen.unknown, std::nullopt);
  EXPECT_EQ(seen.unix_seconds, 5);
  outcome = ended(JobEnd::hung);
  outcome.waits_in = "nvidia_ioctl";
  seen = seen_by_child(outcome, std::chrono::milliseconds(12'000), 5);
  ASSERT_TRUE(seen.no_answer);
  EXPECT_EQ(seen.no_answer->text,
            "the drivers gave no answer within 12 s (it waits in nvidia_ioctl)");
}

TEST(SlurmSeen, ALookThatFailedSaysWhyNothingIsKnown) {
  const struct {
    Result<JobOutcome> outcome;
    std::string unknown;
  } rows[] = {
      {fail(ErrorKind::not_found, "cannot start gpuready"), "cannot start gpuready"},
      {ended(JobEnd::exited, 4, "", "no such recording\n"),
       "the look at the GPUs failed: no such recording"},
      {ended(JobEnd::exited, 4), "the look at the GPUs failed: exited"},
      {ended(JobEnd::signalled, 0, "", "Aborted\n"), "the look at the GPUs failed: Aborted"},
      {ended(JobEnd::silent, 0, look_text(two_gpus())), "the look at the GPUs failed: silent"},
  };
  for (const auto& row : rows) {
    const auto seen = seen_by_child(row.outcome, kLimit, 5);
    EXPECT_EQ(seen.unknown, row.unknown);
    EXPECT_FALSE(seen.look);
    EXPECT_FALSE(seen.no_answer);
    EXPECT_EQ(seen.unix_seconds, 5);
  }
  const auto odd = seen_by_child(ended(JobEnd::exited, 0, "no JSON"), kLimit, 5);
  EXPECT_TRUE(odd.unknown);
  EXPECT_FALSE(odd.look);
}

TEST(SlurmSeen, ALookIsKnownUnlessDoctorWouldNotKnow) {
  Look look = two_gpus({41});
  look.conclusion = "the PCI bus cannot be read";
  for (const Exit exit : {Exit::ok, Exit::unhealthy, Exit::required_absent, Exit::unknown}) {
    look.exit = exit;
    const auto seen = seen_by_child(ended(JobEnd::exited, 0, look_text(look)), kLimit, 5);
    ASSERT_TRUE(seen.look);
    EXPECT_EQ(look_text(*seen.look), look_text(look));
    EXPECT_FALSE(seen.no_answer);
    if (exit == Exit::unknown)
      EXPECT_EQ(seen.unknown, "the PCI bus cannot be read");
    else
      EXPECT_EQ(seen.unknown, std::nullopt) << static_cast<int>(exit);
  }
}

TEST(SlurmHealth, WhatTestsHaveFoundCountsWhileNothingCanBeSeen) {
  StatusReport status;
  status.results = {kept("GPU 1", Standing::bad)};
  EXPECT_EQ(texts_of(causes_of_health({.unknown = "failed"}, status, {})), Texts{"GPU 1: why"});
  EXPECT_EQ(texts_of(causes_of_health({.no_answer = Cause{"no-answer", "no answer"}}, status, {})),
            (Texts{"no answer", "GPU 1: why"}));
  EXPECT_EQ(texts_of(causes_of_health({}, {}, {})), Texts{});
}

TEST(SlurmHealth, AProcessOfTheRecordIsACauseUntilItIsGone) {
  const Seen seen{.look = two_gpus({41, 77})};
  EXPECT_EQ(texts_of(causes_of_health(seen, {}, Record{.pids = {77}})),
            Texts{"GPU 0: process 77 of an earlier job still uses it"});
  EXPECT_EQ(texts_of(causes_of_health(seen, {}, Record{})), Texts{});
  EXPECT_EQ(texts_of(causes_of_health(seen, {}, std::nullopt)), Texts{});
}

TEST(SlurmJobVariables, AnEmptyListOfGpusIsNone) {
  Recording recording;
  auto job = job_variables(*scripted(recording));
  EXPECT_EQ(job.id, std::nullopt);
  EXPECT_EQ(job.gpus, std::nullopt);
  EXPECT_EQ(job.uid, std::nullopt);
  recording.environment = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_JOB_GPUS", "0,1"}, {"SLURM_JOB_UID", "1000"}};
  job = job_variables(*scripted(recording));
  EXPECT_EQ(job.id, "7");
  EXPECT_EQ(job.gpus, "0,1");
  EXPECT_EQ(job.uid, "1000");
  recording.environment["SLURM_JOB_GPUS"] = "";
  EXPECT_EQ(job_variables(*scripted(recording)).gpus, std::nullopt);
}

std::string status_of_user(const std::string& uids) {
  return "Name:\tpython\nState:\tS (sleeping)\nUid:\t" + uids + "\nGid:\t1000\t1000\t1000\t1000\n";
}
// Process 41 is of user 1000, 42 of another one, 43 of root, and 44 has ended.
Recording processes() {
  Recording recording;
  recording.files["/proc/41/status"] = status_of_user("1000\t0\t0\t0");
  recording.files["/proc/42/status"] = status_of_user("1001\t1000\t1000\t1000");
  recording.files["/proc/43/status"] = status_of_user("0\t0\t0\t0");
  return recording;
}
JobVariables job_of(const char* uid) { return {.id = "7", .uid = uid, .gpus = "0,1"}; }

TEST(SlurmLeftBy, OnlyProcessesOfTheJobsUserOnItsGpus) {
  const auto host = scripted(processes());
  Look look = two_gpus({41, 42, 43, 44});
  const auto all = job_gpus(look, "0,1");
  EXPECT_EQ(left_by(*host, all, job_of("1000")), Pids{41});
  EXPECT_EQ(left_by(*host, all, job_of("1001")), Pids{42});
  EXPECT_EQ(left_by(*host, all, job_of("1002")), Pids{});
  EXPECT_EQ(left_by(*host, all, job_of("0")), Pids{});  // of root: they may be daemons
  EXPECT_EQ(left_by(*host, all, job_of("x")), Pids{});
  EXPECT_EQ(left_by(*host, all, {.id = "7", .gpus = "0"}), Pids{});
  EXPECT_EQ(left_by(*host, job_gpus(look, "1"), job_of("1000")), Pids{});
  look.gpus[1].pids = {41};
  EXPECT_EQ(left_by(*host, job_gpus(look, "1"), job_of("1000")), Pids{41});
}

TEST(SlurmLeftBy, AProcessOnTwoGpusCountsOnce) {
  Look look = two_gpus({41});
  look.gpus[1].pids = {41};
  EXPECT_EQ(left_by(*scripted(processes()), job_gpus(look, "0,1"), job_of("1000")), Pids{41});
}

TEST(SlurmLeftBy, AStatusWithoutAUserIsOfNoUser) {
  const Look look = two_gpus({41});
  for (const char* status : {"", "Uid:\n", "Uid:\t \n", "Name:\tUid: 1000\n", "Gid:\t1000\n"}) {
    Recording recording;
    recording.files["/proc/41/status"] = status;
    EXPECT_EQ(left_by(*scripted(recording), job_gpus(look, "0"), job_of("1000")), Pids{}) << status;
  }
}

// What each look shows, the last one again and again; counts looks and pauses.
struct Looks {
  std::vector<Seen> seen;
  int looks = 0, pauses = 0;

  JobLook operator()(bool after, const JobVariables& job = job_of("1000")) {
    const auto host = scripted(processes());
    return look_at_job(
        *host, job, after,
        [&] {
          EXPECT_EQ(pauses, looks) << "a pause before each look but the first";
          return seen.at(std::min(static_cast<std::size_t>(looks++), seen.size() - 1));
        },
        [&] { ++pauses; });
  }
};

TEST(SlurmLookAtJob, LooksUpToSixTimesUntilTheProcessesHaveEnded) {
  const Seen busy{.look = two_gpus({41})}, idle{.look = two_gpus()};
  Looks stays{.seen = {busy}};
  auto looked = stays(true);
  EXPECT_EQ(stays.looks, 6);
  EXPECT_EQ(stays.pauses, 5);
  EXPECT_EQ(looked.left, Pids{41});
  Looks ends{.seen = {busy, busy, idle}};
  looked = ends(true);
  EXPECT_EQ(ends.looks, 3);
  EXPECT_EQ(looked.left, Pids{});
  EXPECT_EQ(looked.seen.look->gpus[0].pids, Pids{});
  Looks idle_at_once{.seen = {idle}};
  idle_at_once(true);
  EXPECT_EQ(idle_at_once.looks, 1);
}

TEST(SlurmLookAtJob, BeforeAJobOneLookIsEnoughAndNothingIsLeft) {
  Looks looks{.seen = {{.look = two_gpus({41})}}};
  const auto looked = looks(false);
  EXPECT_EQ(looks.looks, 1);
  EXPECT_EQ(looked.left, Pids{});
  EXPECT_TRUE(looked.seen.look);
}

TEST(SlurmLookAtJob, ALookThatShowsNothingEndsItAndTakesNothingBack) {
  Looks blind{.seen = {{.unknown = "failed", .unix_seconds = 9}}};
  auto looked = blind(true);
  EXPECT_EQ(blind.looks, 1);
  EXPECT_FALSE(looked.seen.look);
  EXPECT_EQ(looked.seen.unknown, "failed");
  EXPECT_EQ(looked.seen.unix_seconds, 9);
  EXPECT_EQ(looked.left, Pids{});
  Looks later{.seen = {{.look = two_gpus({41})}, {.unknown = "failed"}}};
  looked = later(true);
  EXPECT_EQ(later.looks, 2);
  EXPECT_EQ(looked.seen.unknown, "failed");
  EXPECT_EQ(looked.left, Pids{41});
  ASSERT_TRUE(looked.seen.look);
  EXPECT_EQ(looked.seen.look->gpus[0].pids, Pids{41});
  // So the job's GPUs are still known.
  const auto judged = judge_job(looked, job_of("1000"), {});
  EXPECT_EQ(judged.gpus.gpus.size(), 2u);
  EXPECT_EQ(texts_of(judged.causes), Texts{"process 41 of job 7 still uses its GPU"});
  EXPECT_EQ(judged.unknown, "failed");
}

StatusReport both_passed() {
  StatusReport status;
  status.results = {kept("GPU 0", Standing::good), kept("GPU 1", Standing::good)};
  return status;
}

TEST(SlurmJudgeJob, AJobWithoutAnythingWrongMayBeTested) {
  const JobLook looked{.seen = {.look = two_gpus()}};
  const auto judged = judge_job(looked, job_of("1000"), both_passed());
  EXPECT_EQ(texts_of(judged.causes), Texts{});
  EXPECT_EQ(judged.unknown, std::nullopt);
  EXPECT_EQ(judged.gpus.gpus.size(), 2u);
  EXPECT_TRUE(judged.may_test);
  EXPECT_FALSE(judge_job(looked, job_of("1000"), {}).may_test);  // it would not be short
}

TEST(SlurmJudgeJob, WhatSpeaksAgainstATest) {
  JobLook looked{.seen = {.look = two_gpus()}};
  looked.seen.unknown = "not known";
  auto judged = judge_job(looked, job_of("1000"), both_passed());
  EXPECT_EQ(judged.unknown, "not known");
  EXPECT_FALSE(judged.may_test);
  looked = {.seen = {.look = two_gpus()}};
  looked.seen.look->findings = {lost()};
  judged = judge_job(looked, job_of("1000"), both_passed());
  EXPECT_EQ(texts_of(judged.causes), Texts{"GPU 0: Fell off"});
  EXPECT_EQ(judged.unknown, std::nullopt);
  EXPECT_FALSE(judged.may_test);
  looked = {.seen = {.look = two_gpus()}};
  judged = judge_job(looked, {.gpus = "0,9"}, both_passed());
  EXPECT_EQ(judged.unknown, "no GPU here has the number 9 of SLURM_JOB_GPUS=0,9");
  EXPECT_FALSE(judged.may_test);
}

TEST(SlurmJudgeJob, ALookWithoutAnAnswerIsLeftToTheHealthCheck) {
  const JobLook looked{.seen = {.no_answer = Cause{"no-answer", "no answer within 12 s"},
                                .unknown = "something else"}};
  const auto judged = judge_job(looked, job_of("1000"), both_passed());
  EXPECT_EQ(texts_of(judged.causes), Texts{});
  EXPECT_EQ(judged.unknown, "no answer within 12 s");
  EXPECT_TRUE(judged.gpus.gpus.empty());
  EXPECT_FALSE(judged.may_test);
}

TEST(SlurmJudgeJob, WhatIsNotKnownOfTheLookComesBeforeTheNumbers) {
  const JobLook looked{.seen = {.look = two_gpus(), .unknown = "the bus cannot be read"}};
  EXPECT_EQ(judge_job(looked, {.gpus = "9"}, {}).unknown, "the bus cannot be read");
}

TEST(SlurmJudgeJob, EachProcessThatItLeftIsACauseAfterTheOthers) {
  JobLook looked{.seen = {.look = two_gpus()}, .left = {41, 77}};
  looked.seen.look->findings = {lost()};
  const auto judged = judge_job(looked, {.id = "7\x1b[2J", .gpus = "0"}, {});
  EXPECT_EQ(texts_of(judged.causes),
            (Texts{"GPU 0: Fell off", "process 41 of job 7?[2J still uses its GPU",
                   "process 77 of job 7?[2J still uses its GPU"}));
  EXPECT_EQ(judged.causes[2].id, "leftover");
  EXPECT_EQ(judged.causes[2].action, Action::check_again);
  EXPECT_EQ(judged.causes[2].needs_test, std::nullopt);
  EXPECT_EQ(texts_of(judge_job({.left = {41}}, {.gpus = "0"}, {}).causes),
            Texts{"process 41 of job ? still uses its GPU"});
}

TEST(SlurmTestOfAJob, TestsItsGpusByTheirUuidsAndKeepsTheResult) {
  const Look look = two_gpus();
  EXPECT_EQ(
      test_args(job_gpus(look, "1,0"), "/kept/results.json"),
      (Texts{"check", "--quiet", "--device", "GPU-1,GPU-0", "--state", "/kept/results.json"}));
}

TEST(SlurmTestOfAJob, HasAResultIfItPassedOrFoundAFault) {
  EXPECT_EQ(why_no_result(ended(JobEnd::exited, 0)), std::nullopt);
  EXPECT_EQ(why_no_result(ended(JobEnd::exited, 1, "", "GPU 0 failed\n")), std::nullopt);
  EXPECT_EQ(why_no_result(ended(JobEnd::exited, 2, "", " no such option\n")),
            "the test exited: no such option");
  EXPECT_EQ(why_no_result(ended(JobEnd::timed_out)), "the test timed_out: ");
  EXPECT_EQ(why_no_result(ended(JobEnd::signalled)), "the test signalled: ");
  EXPECT_EQ(why_no_result(fail(ErrorKind::not_found, "cannot start it")), "cannot start it");
}

}  // namespace
}  // namespace gpuready::slurm
