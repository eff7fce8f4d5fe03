#include "jobs/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "jobs/helper.h"
#include "jobs/orphans.h"
#include "jobs/process_state.h"
#include "jobs/running_job.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr milliseconds kHang{60'000};  // after which a wait is given up

Job shell(std::string script) {
  Job command;
  command.program = "/bin/sh";
  command.args = {"-c", std::move(script)};
  return command;
}

JobOutcome must_run(const Job& command) {
  auto result = run_job(command);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result ? *result : JobOutcome{};
}

// Until the process has ended, reaped or not.
bool ends(int pid) {
  const auto state = [&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    return text.empty() ? 'Z' : state_in_stat(text);
  };
  for (const auto give_up = deadline_in(kHang); state() != 'Z' && Clock::now() < give_up;)
    usleep(1000);
  return state() == 'Z';
}

TEST(Job, CollectsOutputAndExitCode) {
  const auto result = must_run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.end, JobEnd::exited);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
}

TEST(Job, TellsTheSignal) {
  const auto result = must_run(shell("kill -SEGV $$"));
  EXPECT_EQ(result.end, JobEnd::signalled);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(Job, MissingProgramIsNotFound) {
  Job command;
  command.program = "no-such-program-here";
  const auto result = run_job(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(contains(result.error().message, "no-such-program-here"));
}

TEST(Job, LooksUpNamesInPath) {
  Job command;
  command.program = "true";
  EXPECT_EQ(must_run(command).exit_code, 0);
}

TEST(Job, ChannelIsDescriptor3) {
  Job command = shell("echo document >&3; echo out");
  command.channel = true;
  const auto result = must_run(command);
  EXPECT_EQ(result.channel, "document\n");
  EXPECT_EQ(result.out, "out\n");
}

TEST(Job, ChildInheritsNoOtherDescriptor) {
  const int leaked = open("/dev/null", O_RDONLY);  // deliberately without O_CLOEXEC
  const auto result = must_run(shell("exec ls /proc/self/fd"));
  close(leaked);
  EXPECT_EQ(lines(result.out).size(), 4u) << result.out;  // 0, 1, 2 and the folder itself
}

TEST(Job, StandardInputIsEmpty) { EXPECT_EQ(must_run(shell("cat; echo end")).out, "end\n"); }

TEST(Job, HasItsOwnSession) {
  const auto result = must_run(shell("cut -d' ' -f6 /proc/self/stat; echo $$"));
  const auto found = lines(result.out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], found[1]);
}

TEST(Job, ChangesTheEnvironment) {
  setenv("GPUREADY_TEST_OLD", "old", 1);
  setenv("GPUREADY_TEST_GONE", "here", 1);
  Job command = shell("echo \"$GPUREADY_TEST_OLD,${GPUREADY_TEST_GONE-unset},$NEW_ONE\"");
  command.env = {
      {"GPUREADY_TEST_OLD", "new"}, {"GPUREADY_TEST_GONE", std::nullopt}, {"NEW_ONE", "a b"}};
  EXPECT_EQ(must_run(command).out, "new,unset,a b\n");
}

TEST(Job, IgnoredSignalsAreNotInherited) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto result = must_run(shell("kill -PIPE $$; echo survived"));
  std::signal(SIGPIPE, before);
  EXPECT_EQ(result.end, JobEnd::signalled);
}

TEST(Job, DeadlineKillsTheWholeGroup) {
  char folder[] = "/tmp/gpuready-process-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string pid_file = std::string(folder) + "/pid";
  Job command = shell("sleep 600 & echo $! > " + pid_file + "; echo before; wait");
  command.limits.time = milliseconds(200);
  const auto result = must_run(command);
  EXPECT_EQ(result.end, JobEnd::timed_out);
  EXPECT_EQ(result.out, "before\n");
  EXPECT_GE(result.duration_ms, 200);
  int grandchild = 0;
  std::ifstream(pid_file) >> grandchild;
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(ends(grandchild));
  unlink(pid_file.c_str());
  rmdir(folder);
}

TEST(Job, GrandchildHoldingThePipesDoesNotDelayTheEnd) {
  const auto result = must_run(shell("(sleep 30; echo late) & echo done"));
  EXPECT_EQ(result.out, "done\n");
  EXPECT_EQ(result.end, JobEnd::exited);
}

// More than one read takes.
TEST(Job, WhatAChildLeavesInItsChannelIsReadWholeThoughAGrandchildHoldsIt) {
  constexpr std::size_t kBytes = 150'000;
  Job job = shell("setsid sleep 30 & head -c 150000 /dev/zero >&3");
  job.channel = true;
  auto child = RunningJob::start(job);
  ASSERT_TRUE(child) << child.error().message;
  siginfo_t end{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child->pid()), &end, WEXITED | WNOWAIT), 0);
  while (!child->finished()) poll_jobs({&*child}, deadline_in(kHang));
  EXPECT_EQ(child->outcome().end, JobEnd::exited);
  EXPECT_EQ(child->outcome().channel.size(), kBytes);
}

TEST(Job, GrandchildWritingForEverDoesNotDelayTheEnd) {
  Job command = shell("(trap '' PIPE; yes) & sleep 0.1; exit 3");
  command.limits.time = kHang;
  const auto result = must_run(command);
  EXPECT_EQ(result.end, JobEnd::exited);
  EXPECT_EQ(result.exit_code, 3);
}

TEST(Job, OutputBeyondTheLimitIsCutAndTold) {
  Job command = shell("head -c 300000 /dev/zero; echo end >&2");
  command.output_limit_bytes = 1000;
  const auto result = must_run(command);
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.err, "end\n");
}

TEST(Job, MuchOutputArrivesWhole) {
  const auto result = must_run(shell("head -c 3000000 /dev/zero"));
  EXPECT_EQ(result.out.size(), 3'000'000u);
  EXPECT_FALSE(result.truncated);
}

TEST(Job, ChildThatClosesItsOutputIsStillWaitedFor) {
  const auto result = must_run(shell("exec >&- 2>&-; sleep 0.2; exit 5"));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_GE(result.duration_ms, 200);
}

// One wait, which the kernel ends: a loop that spins never gives its core away, and one with steps
// does so at each of them.
TEST(Job, WaitingIsOneCallOfTheKernel) {
  auto child = RunningJob::start(shell("sleep 600"));
  ASSERT_TRUE(child);
  const auto times_that_the_core_was_given_away = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const auto before = times_that_the_core_was_given_away();
  poll_jobs({&*child}, deadline_in(milliseconds(500)));
  const auto times = times_that_the_core_was_given_away() - before;
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 5);
}

TEST(Job, PollReturnsWithPartialDocuments) {
  Job command = shell("echo one >&3; sleep 30");
  command.channel = true;
  auto child = RunningJob::start(command);
  ASSERT_TRUE(child);
  const auto give_up = deadline_in(milliseconds(5000));
  while (child->text(kChannel).empty() && Clock::now() < give_up) poll_jobs({&*child}, give_up);
  EXPECT_EQ(child->text(kChannel), "one\n");
  EXPECT_FALSE(child->finished());
  child->kill();
  while (!child->finished() && Clock::now() < give_up) poll_jobs({&*child}, give_up);
  EXPECT_EQ(child->outcome().end, JobEnd::signalled);
  EXPECT_EQ(child->outcome().signal, SIGKILL);
}

TEST(Job, PollReturnsAtItsTime) {
  auto child = RunningJob::start(shell("sleep 30"));
  ASSERT_TRUE(child);
  const auto start = Clock::now();
  poll_jobs({&*child}, deadline_in(milliseconds(50)));
  EXPECT_GE(elapsed_ms(start), 50);
  EXPECT_FALSE(child->finished());
}

// Reaps until the process is gone.
bool is_reaped(int pid) {
  const auto give_up = deadline_in(kHang);
  while (kill(pid, 0) == 0 && Clock::now() < give_up) {
    reap_orphans();
    usleep(1000);
  }
  return kill(pid, 0) != 0;
}

TEST(Job, DestructorKillsAndNoZombieStays) {
  int pid = 0;
  {
    auto child = RunningJob::start(shell("sleep 30"));
    ASSERT_TRUE(child);
    pid = child->pid();
  }
  EXPECT_TRUE(is_reaped(pid));
}

TEST(Job, ReleasedJobIsReapedAndItsGroupIsKilled) {
  auto child = RunningJob::start(shell("sleep 600 & echo $!; wait"));
  ASSERT_TRUE(child);
  while (child->outcome().out.empty()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
  const auto grandchild = parse_int(trim(child->outcome().out));
  ASSERT_TRUE(grandchild);
  child->release();
  EXPECT_TRUE(child->finished());
  EXPECT_TRUE(is_reaped(child->pid()));
  EXPECT_TRUE(ends(static_cast<int>(*grandchild)));
}

TEST(Job, WhatItLeavesRunningInItsGroupEndsWithIt) {
  const auto result = must_run(shell("sleep 600 & echo $!"));
  const auto grandchild = parse_int(trim(result.out));
  ASSERT_TRUE(grandchild);
  EXPECT_TRUE(ends(static_cast<int>(*grandchild)));
}

TEST(Job, DaemonThatKeepsThePipesOpenIsNotWaitedFor) {
  const auto result = must_run(shell("setsid sh -c 'sleep 30; echo late' & echo done"));
  EXPECT_EQ(result.end, JobEnd::exited);
  EXPECT_EQ(result.out, "done\n");
}

TEST(Job, ReadsItsInput) {
  Job command = shell("cat; echo; wc -c < /dev/stdin");
  command.input = std::string(300'000, 'x');
  const auto result = must_run(command);
  EXPECT_EQ(result.out.substr(0, 300'001), command.input + "\n");
}

TEST(Job, InputThatNobodyReadsHarmsNobody) {
  Job command = shell("exec <&-; exit 4");
  command.input = std::string(1 << 20, 'x');
  EXPECT_EQ(must_run(command).exit_code, 4);
}

TEST(Job, SilenceEndsIt) {
  Job command = shell("for i in 1 2 3 4; do echo $i; sleep 0.1; done; sleep 30");
  command.limits.silence = milliseconds(400);
  const auto result = must_run(command);
  EXPECT_EQ(result.end, JobEnd::silent);
  EXPECT_EQ(result.out, "1\n2\n3\n4\n");
  EXPECT_GE(result.duration_ms, 700);
}

TEST(Job, WithAChannelOnlyTheChannelBreaksTheSilence) {
  Job command = shell("while :; do echo noise; sleep 0.05; done");
  command.channel = true;
  command.limits.silence = milliseconds(200);
  EXPECT_EQ(must_run(command).end, JobEnd::silent);
}

TEST(Job, OutputLimitCanEndIt) {
  Job command = shell("yes");
  command.output_limit_bytes = 10'000;
  command.ends_at_output_limit = true;
  const auto result = must_run(command);
  EXPECT_EQ(result.end, JobEnd::too_much_output);
  EXPECT_EQ(result.out.size(), 10'000u);
}

TEST(Job, LimitsCanChangeAndTheStepIsTold) {
  auto child = RunningJob::start(shell("sleep 30"));
  ASSERT_TRUE(child);
  child->enter("first");
  child->limit({.time = std::nullopt});
  poll_jobs({&*child}, deadline_in(milliseconds(50)));
  child->enter("second");
  child->limit({.time = milliseconds(50)});
  while (!child->finished()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
  EXPECT_EQ(child->outcome().end, JobEnd::timed_out);
  EXPECT_EQ(child->outcome().step, "second");
}

TEST(Job, CancellationAsksFirst) {
  std::atomic<bool> cancel{false};
  Job command =
      shell("trap 'echo stopped >&3; exit 6' TERM; echo ready >&3; while :; do sleep 0.01; done");
  command.channel = true;
  auto child = RunningJob::start(command);
  ASSERT_TRUE(child);
  while (child->text(kChannel).empty()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
  EXPECT_EQ(child->take_lines(kChannel), std::vector<std::string>{"ready"});
  cancel = true;
  while (!child->finished()) poll_jobs({&*child}, Deadline::max(), {.cancel = &cancel});
  EXPECT_EQ(child->outcome().end, JobEnd::cancelled);
  EXPECT_EQ(child->outcome().exit_code, 6);
  EXPECT_EQ(child->take_lines(kChannel), std::vector<std::string>{"stopped"});
}

TEST(Job, CancellationKillsWhatDoesNotStop) {
  const std::atomic<bool> cancel{true};
  const auto result = run_jobs(std::vector<Job>{}, {.watch = {.cancel = &cancel}});
  EXPECT_TRUE(result.empty());
  auto child = RunningJob::start(shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"));
  ASSERT_TRUE(child);
  while (child->outcome().out.empty()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
  while (!child->finished()) poll_jobs({&*child}, Deadline::max(), {.cancel = &cancel});
  EXPECT_EQ(child->outcome().end, JobEnd::cancelled);
  EXPECT_EQ(child->outcome().signal, SIGKILL);
}

TEST(Job, ChannelGoesBothWaysAndEnds) {
  Job command = shell("while read line <&3; do echo got $line >&3; done; echo end >&3");
  command.channel = true;
  auto child = RunningJob::start(command);
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->send("one\n"));
  EXPECT_TRUE(child->send("two\n"));
  child->end_channel();
  while (!child->finished()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
  EXPECT_EQ(child->text(kChannel), "got one\ngot two\nend\n");
}

TEST(Job, MuchIsSentToASlowReader) {
  Job command = shell("sleep 0.2; head -c 1000000 <&3 | wc -c >&3");
  command.channel = true;
  auto child = RunningJob::start(command);
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->send(std::string(1'000'000, 'x')));
  const auto give_up = deadline_in(milliseconds(10'000));
  while (!child->finished() && Clock::now() < give_up) poll_jobs({&*child}, give_up);
  EXPECT_EQ(trim(child->text(kChannel)), "1000000");
}

TEST(Job, AddressSpaceIsLimited) {
  Job command = shell("ulimit -v");
  command.memory = MemoryLimit{.bytes = 512 << 20};
  EXPECT_EQ(must_run(command).out, "524288\n");
}

// The files of a cgroup, as plain files: what is written into them is what the kernel would get.
TEST(Job, EntersTheCgroupWithItsLimit) {
  char folder[] = "/tmp/gpuready-cgroup-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string root = folder;
  std::ofstream(root + "/memory.max") << "";
  std::ofstream(root + "/cgroup.procs") << "";
  Job command = shell("exit 0");
  command.memory = MemoryLimit{MemoryLimit::Kind::cgroup, 123456, root};
  EXPECT_EQ(must_run(command).exit_code, 0);
  const auto content = [&](const char* name) {
    std::ifstream file(root + name);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  EXPECT_EQ(content("/memory.max"), "123456");
  EXPECT_EQ(content("/cgroup.procs"), "0") << "the process that writes";
  command.memory->folder = root + "/absent";
  EXPECT_EQ(run_job(command).error().kind, ErrorKind::not_found);
  std::system(("rm -r " + root).c_str());
}

TEST(Job, IsTheFirstToGoWhereMemoryRunsOut) {
  EXPECT_EQ(must_run(shell("cat /proc/self/oom_score_adj")).out, "1000\n");
}

TEST(Job, WhatCannotBeExecutedIsAnError) {
  char folder[] = "/tmp/gpuready-exec-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/program";
  std::ofstream(path) << "no program";
  Job command;
  command.program = path;
  EXPECT_EQ(run_job(command).error().kind, ErrorKind::no_permission);
  chmod(path.c_str(), 0755);
  const auto result = run_job(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ENOEXEC);
  command.program = folder;
  EXPECT_EQ(run_job(command).error().kind, ErrorKind::no_permission);
  std::system(("rm -r " + std::string(folder)).c_str());
}

TEST(Pool, RunsNoMoreAtOnceThanAllowedInOrder) {
  std::vector<Job> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(shell("sleep 0.1; echo " + std::to_string(i)));
  jobs[3].program = "no-such-program-here";
  const auto start = Clock::now();
  const auto outcomes = run_jobs(jobs, {.at_once = 2});
  EXPECT_GE(elapsed_ms(start), 200);
  ASSERT_EQ(outcomes.size(), 5u);
  EXPECT_EQ(outcomes[0]->out, "0\n");
  EXPECT_EQ(outcomes[4]->out, "4\n");
  EXPECT_EQ(outcomes[3].error().kind, ErrorKind::not_found);
}

TEST(Pool, OneDeadlineForAll) {
  const std::vector<Job> jobs(3, shell("sleep 600"));
  const auto outcomes =
      run_jobs(jobs, {.at_once = 2, .watch = {.deadline = deadline_in(milliseconds(200))}});
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0]->end, JobEnd::timed_out);
  EXPECT_EQ(outcomes[1]->end, JobEnd::timed_out);
  EXPECT_EQ(outcomes[2].error().kind, ErrorKind::timed_out);
}

TEST(Pool, CancellationEndsAllAndBeginsNothing) {
  std::atomic<bool> cancel{false};
  const std::vector<Job> jobs(3, shell("echo begun; exec sleep 30"));
  const auto outcomes =
      run_jobs(jobs, {.at_once = 2,
                      .watch = {.cancel = &cancel},
                      .on_output = [&](std::size_t, RunningJob&) { cancel = true; }});
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0]->end, JobEnd::cancelled);
  EXPECT_EQ(outcomes[2].error().kind, ErrorKind::cancelled);
}

// Each ends when it has seen all others.
TEST(Pool, RunsAsManyAtOnceAsAllowed) {
  char folder[] = "/tmp/gpuready-process-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  Job job = shell("cd " + std::string(folder) +
                  "; : >$$; until [ $(ls | wc -l) = 8 ]; do sleep 0.01; done; echo met");
  job.limits.time = kHang;
  for (const auto& outcome : run_jobs(std::vector<Job>(8, job), {.at_once = 8}))
    EXPECT_EQ(outcome->out, "met\n");
  std::filesystem::remove_all(folder);
}

TEST(ProcessState, ReadsTheLetterBehindAnyName) {
  EXPECT_EQ(state_in_stat("12 (cat) D 1 12 12 0"), 'D');
  EXPECT_EQ(state_in_stat("12 (a) R (b)) S 1 12"), 'S');
  EXPECT_EQ(state_in_stat("12 (cat)"), 0);
  EXPECT_EQ(state_in_stat(""), 0);
  EXPECT_EQ(state_in_stat(" S 1 12"), 0);
  EXPECT_EQ(state_in_stat("12 (cat)S 1 12"), 0);
  constexpr std::string_view kWhole = "12 (cat) D 1 12";
  for (std::size_t size = 0; size < kWhole.size(); ++size)
    EXPECT_EQ(state_in_stat(kWhole.substr(0, size)), size < 10 ? 0 : 'D') << size;
}

TEST(ProcessState, SeesAnyThreadInUninterruptibleSleep) {
  char folder[] = "/tmp/gpuready-proc-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string root = folder;
  for (const char* part : {"/7", "/7/task", "/7/task/7", "/7/task/8"})
    mkdir((root + part).c_str(), 0755);
  const auto put = [&](const std::string& at, const char* text) {
    std::ofstream(root + at, std::ios::trunc) << text;
  };
  put("/7/stat", "7 (probe) Z 1 7");
  put("/7/task/7/stat", "7 (probe) Z 1 7");
  put("/7/task/8/stat", "8 (probe) S 1 7");
  EXPECT_FALSE(uninterruptible_sleep(7, root));
  put("/7/task/8/stat", "8 (probe) D 1 7");
  EXPECT_EQ(uninterruptible_sleep(7, root), "");
  put("/7/task/8/wchan", "nvidia_unlocked_ioctl");
  EXPECT_EQ(uninterruptible_sleep(7, root), "nvidia_unlocked_ioctl");
  EXPECT_FALSE(uninterruptible_sleep(9, root));
  std::system(("rm -r " + root).c_str());
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// A task frozen by the cgroup v1 freezer is in state D and does not die by SIGKILL until thawed:
// the one way to make a hung child without a broken driver.
TEST(Job, UnkillableChildIsAbandonedAsHung) {
  const std::string group = "/sys/fs/cgroup/freezer/gpuready-test-" + std::to_string(getpid());
  if (mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup v1 freezer that we may use";
  if (access((group + "/freezer.state").c_str(), W_OK) != 0) {
    rmdir(group.c_str());
    GTEST_SKIP() << "no cgroup v1 freezer that we may use";
  }
  Job command = shell("echo before; sleep 30");
  command.limits.time = milliseconds(300);
  int pid = 0;
  const auto before = open_descriptors();
  {
    auto child = RunningJob::start(command);
    ASSERT_TRUE(child);
    pid = child->pid();
    poll_jobs({&*child}, deadline_in(milliseconds(200)));
    std::ofstream(group + "/cgroup.procs") << pid;
    std::ofstream(group + "/freezer.state") << "FROZEN";
    while (!child->finished()) poll_jobs({&*child}, deadline_in(milliseconds(5000)));
    EXPECT_EQ(child->outcome().end, JobEnd::hung);
    EXPECT_TRUE(child->outcome().abandoned);
    EXPECT_EQ(child->outcome().waits_in, *uninterruptible_sleep(pid));
    EXPECT_EQ(child->outcome().out, "before\n");
    EXPECT_EQ(open_descriptors(), before) << "it holds no pipe of ours";
  }
  std::ofstream(group + "/freezer.state") << "THAWED";
  EXPECT_TRUE(is_reaped(pid)) << "it is reaped when the driver lets it go";
  for (int i = 0; i < 100 && rmdir(group.c_str()) != 0; ++i) usleep(10'000);
}

TEST(HelperJob, JoinsNoMpsServerAndHasAChannel) {
  setenv("GPUREADY_HELPER", "/bin/sh", 1);
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps", 1);
  const auto result = must_run(helper_job({"-c", "echo $CUDA_MPS_PIPE_DIRECTORY >&3"}));
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  unsetenv("GPUREADY_HELPER");
  EXPECT_EQ(result.channel, "/dev/null\n");
}

TEST(HelperPath, EnvironmentComesFirst) {
  setenv("GPUREADY_HELPER", "/somewhere/helper", 1);
  EXPECT_EQ(helper_path(), "/somewhere/helper");
  unsetenv("GPUREADY_HELPER");
  EXPECT_TRUE(helper_path().ends_with("gpuready")) << helper_path();
}

// A copy of this program only writes the path that it finds.
constexpr const char* kWritesHelperPath = "GPUREADY_TEST_WRITES_HELPER_PATH";
[[maybe_unused]] const bool kIsOriginal = [] {
  if (std::getenv(kWritesHelperPath) == nullptr) return true;
  const std::string path = helper_path();
  _exit(write(3, path.data(), path.size()) == static_cast<ssize_t>(path.size()) ? 0 : 1);
}();

// The copy is in top/app/ of an empty folder.
class HelperPathOfAProgram : public ::testing::Test {
 protected:
  HelperPathOfAProgram() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    fs::create_directories(folder_ + "/top/app");
    fs::copy_file("/proc/self/exe", folder_ + "/top/app/program");
  }
  ~HelperPathOfAProgram() override { fs::remove_all(folder_); }
  std::string put(const std::string& name, mode_t mode) const {
    const std::string file = folder_ + "/" + name;
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << "#!/bin/sh\n";
    chmod(file.c_str(), mode);
    return fs::canonical(file);
  }
  // As a path without links or "..".
  std::string found(const std::string& started_as) const {
    Job job = shell("cd '" + folder_ + "/top/app' && exec " + started_as);
    job.env = {{kWritesHelperPath, "1"}, {"GPUREADY_HELPER", std::nullopt}};
    job.channel = true;
    const std::string path = must_run(job).channel;
    return path.starts_with("/") ? std::string(fs::weakly_canonical(path)) : path;
  }
  std::string found() const { return found("'" + folder_ + "/top/app/program'"); }
  // Without a helper near it: the installed one, or a name to look up in PATH.
  static std::string installed() {
    for (const char* path :
         {"/usr/local/bin/gpuready", "/usr/bin/gpuready", "/opt/gpuready/bin/gpuready"})
      if (access(path, X_OK) == 0) return fs::canonical(path);
    return "gpuready";
  }
  std::string folder_ = std::string(GPUREADY_BINARY_DIR) + "/helperXXXXXX";
};

TEST_F(HelperPathOfAProgram, IsTheInstalledOneIfNoneIsNear) {
  EXPECT_EQ(found(), installed());
  put("top/app/gpuready", 0644);  // it cannot be run
  put("top/bin/gpuready", 0644);
  EXPECT_EQ(found(), installed());
}

// Where an installation keeps it, seen from the program or a library in lib/ or lib/ARCHITECTURE/.
TEST_F(HelperPathOfAProgram, IsTheNearestThatCanBeRun) {
  const auto farthest = put("bin/gpuready", 0755);
  EXPECT_EQ(found(), farthest);
  const auto next = put("top/bin/gpuready", 0755);
  EXPECT_EQ(found(), next);
  const auto nearest = put("top/app/gpuready", 0755);
  EXPECT_EQ(found(), nearest);
}

TEST_F(HelperPathOfAProgram, IsNotSearchedFromARelativePath) {
  put("top/bin/gpuready", 0755);
  EXPECT_EQ(found("./program"), installed());
  const auto beside = put("top/app/gpuready", 0755);  // the kernel knows the program's folder
  EXPECT_EQ(found("./program"), beside);
}

}  // namespace
}  // namespace gpuready
