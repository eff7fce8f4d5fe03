#include "host/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "host/process_state.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

Command shell(std::string script) {
  Command command;
  command.program = "/bin/sh";
  command.args = {"-c", std::move(script)};
  return command;
}

ProcessResult must_run(const Command& command) {
  auto result = run_process(command);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result ? *result : ProcessResult{};
}

TEST(Process, CollectsOutputAndExitCode) {
  const auto result = must_run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.end, ProcessEnd::exited);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
}

TEST(Process, TellsTheSignal) {
  const auto result = must_run(shell("kill -SEGV $$"));
  EXPECT_EQ(result.end, ProcessEnd::signalled);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(Process, MissingProgramIsNotFound) {
  Command command;
  command.program = "no-such-program-here";
  const auto result = run_process(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(contains(result.error().message, "no-such-program-here"));
}

TEST(Process, LooksUpNamesInPath) {
  Command command;
  command.program = "true";
  EXPECT_EQ(must_run(command).exit_code, 0);
}

TEST(Process, DocumentPipeIsDescriptor3) {
  Command command = shell("echo document >&3; echo out");
  command.document_pipe = true;
  const auto result = must_run(command);
  EXPECT_EQ(result.document, "document\n");
  EXPECT_EQ(result.out, "out\n");
}

TEST(Process, ChildInheritsNoOtherDescriptor) {
  const int leaked = open("/dev/null", O_RDONLY);  // deliberately without O_CLOEXEC
  const auto result = must_run(shell("exec ls /proc/self/fd"));
  close(leaked);
  EXPECT_EQ(lines(result.out).size(), 4u) << result.out;  // 0, 1, 2 and the folder itself
}

TEST(Process, StandardInputIsEmpty) { EXPECT_EQ(must_run(shell("cat; echo end")).out, "end\n"); }

TEST(Process, HasItsOwnSession) {
  const auto result = must_run(shell("cut -d' ' -f6 /proc/self/stat; echo $$"));
  const auto found = lines(result.out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], found[1]);
}

TEST(Process, ChangesTheEnvironment) {
  setenv("GPUREADY_TEST_OLD", "old", 1);
  setenv("GPUREADY_TEST_GONE", "here", 1);
  Command command = shell("echo \"$GPUREADY_TEST_OLD,${GPUREADY_TEST_GONE-unset},$NEW_ONE\"");
  command.env = {
      {"GPUREADY_TEST_OLD", "new"}, {"GPUREADY_TEST_GONE", std::nullopt}, {"NEW_ONE", "a b"}};
  EXPECT_EQ(must_run(command).out, "new,unset,a b\n");
}

TEST(Process, IgnoredSignalsAreNotInherited) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto result = must_run(shell("kill -PIPE $$; echo survived"));
  std::signal(SIGPIPE, before);
  EXPECT_EQ(result.end, ProcessEnd::signalled);
}

TEST(Process, DeadlineKillsTheWholeGroup) {
  char folder[] = "/tmp/gpuready-process-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string pid_file = std::string(folder) + "/pid";
  Command command = shell("sleep 60 & echo $! > " + pid_file + "; echo before; wait");
  command.timeout = milliseconds(200);
  const auto result = must_run(command);
  EXPECT_EQ(result.end, ProcessEnd::timed_out);
  EXPECT_EQ(result.out, "before\n");
  EXPECT_GE(result.duration_ms, 200);
  EXPECT_LT(result.duration_ms, 2000);
  int grandchild = 0;
  std::ifstream(pid_file) >> grandchild;
  ASSERT_GT(grandchild, 0);
  usleep(50'000);
  std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  EXPECT_TRUE(text.empty() || state_in_stat(text) == 'Z') << text;
  unlink(pid_file.c_str());
  rmdir(folder);
}

TEST(Process, GrandchildHoldingThePipesDoesNotDelayTheEnd) {
  const auto start = Clock::now();
  const auto result = must_run(shell("sleep 3 & echo done"));
  EXPECT_EQ(result.out, "done\n");
  EXPECT_EQ(result.end, ProcessEnd::exited);
  EXPECT_LT(elapsed_ms(start), 1500);
}

TEST(Process, GrandchildWritingForEverDoesNotDelayTheEnd) {
  const auto start = Clock::now();
  const auto result = must_run(shell("(trap '' PIPE; timeout 3 yes) & sleep 0.1; exit 3"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_LT(elapsed_ms(start), 2000);
}

TEST(Process, OutputBeyondTheLimitIsCutAndTold) {
  Command command = shell("head -c 300000 /dev/zero; echo end >&2");
  command.output_limit_bytes = 1000;
  const auto result = must_run(command);
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.err, "end\n");
}

TEST(Process, MuchOutputArrivesWhole) {
  const auto result = must_run(shell("head -c 3000000 /dev/zero"));
  EXPECT_EQ(result.out.size(), 3'000'000u);
  EXPECT_FALSE(result.truncated);
}

TEST(Process, ChildThatClosesItsOutputIsStillWaitedFor) {
  const auto result = must_run(shell("exec >&- 2>&-; sleep 0.2; exit 5"));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_GE(result.duration_ms, 200);
}

TEST(Process, WaitingBurnsNoProcessorTime) {
  const std::clock_t before = std::clock();
  must_run(shell("sleep 0.5"));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20);
}

TEST(Process, EndIsNoticedAtOnce) {
  Command command;
  command.program = "/bin/true";
  double best_ms = 1e9;
  for (int i = 0; i < 20; ++i) best_ms = std::min(best_ms, must_run(command).duration_ms);
  EXPECT_LT(best_ms, 20);  // a waiting loop with a coarse step would never come below its step
}

TEST(Process, PollReturnsWithPartialDocuments) {
  Command command = shell("echo one >&3; sleep 30");
  command.document_pipe = true;
  auto child = Child::start(command);
  ASSERT_TRUE(child);
  const auto give_up = deadline_in(milliseconds(5000));
  while (child->document().empty() && Clock::now() < give_up) poll_children({&*child}, give_up);
  EXPECT_EQ(child->document(), "one\n");
  EXPECT_FALSE(child->finished());
  child->kill();
  while (!child->finished() && Clock::now() < give_up) poll_children({&*child}, give_up);
  EXPECT_EQ(child->result().end, ProcessEnd::signalled);
  EXPECT_EQ(child->result().signal, SIGKILL);
}

TEST(Process, PollReturnsAtItsTime) {
  auto child = Child::start(shell("sleep 30"));
  ASSERT_TRUE(child);
  const auto start = Clock::now();
  poll_children({&*child}, deadline_in(milliseconds(50)));
  EXPECT_GE(elapsed_ms(start), 50);
  EXPECT_LT(elapsed_ms(start), 1000);
  EXPECT_FALSE(child->finished());
}

TEST(Process, DestructorKills) {
  int pid = 0;
  {
    auto child = Child::start(shell("sleep 30"));
    ASSERT_TRUE(child);
    pid = child->pid();
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(Process, ManyChildrenRunAtTheSameTime) {
  const auto start = Clock::now();
  std::vector<Child> children;
  std::vector<Child*> waiting;
  for (int i = 0; i < 8; ++i) children.push_back(std::move(*Child::start(shell("sleep 0.4"))));
  for (auto& child : children) waiting.push_back(&child);
  while (!waiting.empty()) {
    poll_children(waiting, deadline_in(milliseconds(5000)));
    std::erase_if(waiting, [](const Child* child) { return child->finished(); });
  }
  EXPECT_LT(elapsed_ms(start), 2000);
}

TEST(ProcessState, ReadsTheLetterBehindAnyName) {
  EXPECT_EQ(state_in_stat("12 (cat) D 1 12 12 0"), 'D');
  EXPECT_EQ(state_in_stat("12 (a) R (b)) S 1 12"), 'S');
  EXPECT_EQ(state_in_stat("12 (cat)"), 0);
  EXPECT_EQ(state_in_stat(""), 0);
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
  EXPECT_FALSE(in_uninterruptible_sleep(7, root));
  put("/7/task/8/stat", "8 (probe) D 1 7");
  EXPECT_TRUE(in_uninterruptible_sleep(7, root));
  EXPECT_FALSE(in_uninterruptible_sleep(9, root));
  std::system(("rm -r " + root).c_str());
}

// A task frozen by the cgroup v1 freezer is in state D and does not die by SIGKILL until thawed:
// the one way to make a hung child without a broken driver.
TEST(Process, UnkillableChildIsAbandonedAsHung) {
  const std::string group = "/sys/fs/cgroup/freezer/gpuready-test-" + std::to_string(getpid());
  if (mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup v1 freezer that we may use";
  if (access((group + "/freezer.state").c_str(), W_OK) != 0) {
    rmdir(group.c_str());
    GTEST_SKIP() << "no cgroup v1 freezer that we may use";
  }
  Command command = shell("echo before; sleep 30");
  command.timeout = milliseconds(300);
  int pid = 0;
  {
    auto child = Child::start(command);
    ASSERT_TRUE(child);
    pid = child->pid();
    poll_children({&*child}, deadline_in(milliseconds(200)));
    std::ofstream(group + "/cgroup.procs") << pid;
    std::ofstream(group + "/freezer.state") << "FROZEN";
    const auto start = Clock::now();
    while (!child->finished()) poll_children({&*child}, deadline_in(milliseconds(5000)));
    EXPECT_EQ(child->result().end, ProcessEnd::hung);
    EXPECT_EQ(child->result().out, "before\n");
    EXPECT_LT(elapsed_ms(start), 3000);
  }
  std::ofstream(group + "/freezer.state") << "THAWED";
  for (int i = 0; i < 100 && rmdir(group.c_str()) != 0; ++i) usleep(10'000);
}

TEST(HelperPath, EnvironmentComesFirst) {
  setenv("GPUREADY_HELPER", "/somewhere/helper", 1);
  EXPECT_EQ(helper_path(), "/somewhere/helper");
  unsetenv("GPUREADY_HELPER");
  EXPECT_TRUE(helper_path().ends_with("gpuready")) << helper_path();
}

}  // namespace
}  // namespace gpuready
