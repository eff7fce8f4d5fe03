// A worker whose parent was killed ends within seconds, whatever its driver does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "health/worker/worker.h"
#include "jobs/helper.h"
#include "jobs/running_job.h"
#include "unit/device/in_child.h"
#include "value/json.h"

namespace gpuready {
namespace {

enum class Starter {
  main_thread,
  thread_that_ends,  // with which the kernel's signal at a parent's death would come
  forked_since,      // and a copy of the parent keeps its end of the channel
};

// The parent: starts a worker whose driver hangs in cuInit, writes its number, and stays.
[[noreturn]] void be_parent(Starter starter, int numbers) {
  std::optional<RunningJob> worker;
  const auto start = [&] {
    Job job = helper_job({"__worker", "--device", std::string("cuda:") + kFakeGpu0});
    job.program = GPUREADY_BINARY;
    job.env.emplace_back("GPUREADY_LIBCUDA", fake_cuda_path());
    job.env.emplace_back("FAKE_CUDA", "hang=cuInit");
    auto started = RunningJob::start(job);
    if (!started) ::_exit(1);
    worker = std::move(*started);
    worker->send(dump_line(Json{{"test", "memory"}, {"options", to_json(TestOptions{})}}) + "\n");
  };
  if (starter == Starter::main_thread)
    start();
  else
    std::thread(start).join();
  if (starter == Starter::forked_since && ::fork() == 0) {
    ::close(numbers);
    ::alarm(20);
  } else {
    const int pid = worker->pid();
    if (::write(numbers, &pid, sizeof pid) != sizeof pid) ::_exit(1);
  }
  while (true) ::pause();
}

class Orphans : public testing::TestWithParam<Starter> {};

TEST_P(Orphans, EndWithinFiveSecondsOfTheirParentInADriverThatHangs) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) be_parent(GetParam(), ends[1]);
  ::close(ends[1]);
  int worker = 0;
  ASSERT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  ::close(ends[0]);
  const int watched = static_cast<int>(::syscall(SYS_pidfd_open, worker, 0));
  if (watched < 0) GTEST_SKIP() << "this kernel has no pidfd_open";
  // It ends when its own descriptor says so, whoever reaps it.
  const auto ended_within = [&](int ms) {
    pollfd wait{watched, POLLIN, 0};
    return ::poll(&wait, 1, ms) == 1;
  };
  EXPECT_FALSE(ended_within(1500)) << "its parent lives, and its driver hangs";
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ended_within(5000));
  ::syscall(SYS_pidfd_send_signal, watched, SIGKILL, nullptr, 0);
  ::close(watched);
}

INSTANTIATE_TEST_SUITE_P(StartedBy, Orphans,
                         testing::Values(Starter::main_thread, Starter::thread_that_ends,
                                         Starter::forked_since));

}  // namespace
}  // namespace gpuready
