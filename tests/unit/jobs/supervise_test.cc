#include "jobs/supervise.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "base/text.h"
#include "jobs/parent_watch.h"
#include "jobs/process_state.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

bool lives(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  return !text.empty() && state_in_stat(text) != 'Z';
}

bool is_gone(pid_t pid) {
  for (const auto until = deadline_in(milliseconds(60'000)); lives(pid) && Clock::now() < until;)
    usleep(1000);
  return !lives(pid);
}

// A process that supervises `body`, which writes numbers of processes into the pipe.
struct Supervised {
  explicit Supervised(const std::function<int(int)>& body,
                      const std::function<void()>& afterwards = {}) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
    numbers = ends[0];
    pid = fork();
    if (pid < 0) std::abort();  // its number is signalled below: -1 would be everybody
    if (pid == 0) {
      close(ends[0]);
      close(channel[0]);
      dup2(channel[1], kChannelDescriptor);
      if (channel[1] != kChannelDescriptor) close(channel[1]);
      _exit(supervise([&] { return body(ends[1]); }, afterwards));
    }
    close(ends[1]);
    close(channel[1]);
  }
  ~Supervised() {
    close(numbers);
    if (channel[0] >= 0) close(channel[0]);
  }
  pid_t number() const {
    pid_t got = -1;
    EXPECT_EQ(read(numbers, &got, sizeof got), static_cast<ssize_t>(sizeof got));
    return got;
  }
  int status() const {
    int found = -1;
    EXPECT_EQ(waitpid(pid, &found, 0), pid);
    return found;
  }
  pid_t pid = -1;
  int numbers = -1, channel[2] = {-1, -1};
};

void tell(int to, pid_t pid) { EXPECT_EQ(write(to, &pid, sizeof pid), ssize_t{sizeof pid}); }

// As daemons do it: another session, and a parent that has ended.
void leave_daemon(int to) {
  int ready[2];
  EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t first = fork();
  if (first == 0) {
    setsid();
    if (fork() > 0) _exit(0);
    tell(to, getpid());
    tell(ready[1], 0);
    sleep(30);
    _exit(0);
  }
  waitpid(first, nullptr, 0);
  pid_t none = 0;
  EXPECT_EQ(read(ready[0], &none, sizeof none), static_cast<ssize_t>(sizeof none));
}

TEST(Supervise, GivesTheExitCodeAndTheSignalBack) {
  const Supervised exits([](int) { return 7; });
  const int status = exits.status();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  const Supervised dies([](int) { return kill(getpid(), SIGUSR1); });
  const int signalled = dies.status();
  EXPECT_TRUE(WIFSIGNALED(signalled) && WTERMSIG(signalled) == SIGUSR1) << signalled;
}

TEST(Supervise, NoDaemonOutlivesTheEnd) {
  const Supervised one([](int to) {
    leave_daemon(to);
    leave_daemon(to);
    return 3;
  });
  const pid_t first = one.number(), second = one.number();
  EXPECT_EQ(WEXITSTATUS(one.status()), 3);
  EXPECT_TRUE(is_gone(first));
  EXPECT_TRUE(is_gone(second));
}

TEST(Supervise, AskedToEndItTakesAllAlong) {
  const Supervised one([](int to) {
    leave_daemon(to);
    tell(to, getpid());
    for (;;) pause();
    return 0;
  });
  const pid_t daemon = one.number(), body = one.number();
  kill(one.pid, SIGTERM);
  const int status = one.status();
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_TRUE(is_gone(daemon));
  EXPECT_TRUE(is_gone(body));
}

TEST(Supervise, TheEndOfTheChannelEndsAll) {
  Supervised one([](int to) {
    leave_daemon(to);
    for (;;) pause();
    return 0;
  });
  const pid_t daemon = one.number();
  close(one.channel[0]);
  one.channel[0] = -1;
  one.status();
  EXPECT_TRUE(is_gone(daemon));
}

// What is written there is for the child: it neither ends it nor is it lost.
TEST(Supervise, TheChannelIsTheChilds) {
  const Supervised one([](int to) {
    char byte = 0;
    EXPECT_EQ(read(kChannelDescriptor, &byte, 1), 1);
    tell(to, byte);
    return 0;
  });
  usleep(20'000);
  EXPECT_EQ(write(one.channel[0], "x", 1), 1);
  EXPECT_EQ(one.number(), 'x');
  EXPECT_EQ(one.status(), 0);
}

// A process that is always another one.
TEST(Supervise, WhatRunsAwayIsCaught) {
  const Supervised one([](int to) {
    const pid_t first = fork();
    if (first == 0) {
      setsid();
      close(kChannelDescriptor);
      for (int generation = 0; generation < 3000; ++generation) {
        usleep(1000);
        if (fork() != 0) _exit(0);
      }
      tell(to, getpid());  // it got away
      _exit(0);
    }
    usleep(20'000);
    return 0;
  });
  EXPECT_EQ(one.status(), 0);
  // Nobody holds the pipe any more, and nobody wrote.
  fcntl(one.numbers, F_SETFL, O_NONBLOCK);
  pid_t none = 0;
  EXPECT_EQ(read(one.numbers, &none, sizeof none), 0);
}

TEST(Supervise, AnIgnorantBodyCannotEndItsSupervisorByItsGroup) {
  const Supervised one([](int) {
    std::signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    return 5;
  });
  EXPECT_EQ(WEXITSTATUS(one.status()), 5);
}

TEST(Supervise, AfterwardsComesWhenAllHaveEnded) {
  char folder[] = "/tmp/gpuready-supervise-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string name = folder;
  const Supervised one(
      [](int to) {
        leave_daemon(to);
        return 0;
      },
      [&] { rmdir(name.c_str()); });
  const pid_t daemon = one.number();
  EXPECT_EQ(one.status(), 0);
  EXPECT_FALSE(lives(daemon));
  struct stat facts{};
  EXPECT_NE(stat(name.c_str(), &facts), 0);
}

TEST(ProcessState, ReadsTheParentBehindAnyName) {
  EXPECT_EQ(parent_in_stat("12 (sh) S 7 12 12"), 7);
  EXPECT_EQ(parent_in_stat("12 (a) R 9) (b)) D 31 12"), 31);
  for (const char* none :
       {"", "12", "12 (sh)", "12 (sh) ", "12 (sh) S", "12 (sh) S ", "12 (sh) S x"})
    EXPECT_EQ(parent_in_stat(none), -1) << none;
}

}  // namespace
}  // namespace gpuready
