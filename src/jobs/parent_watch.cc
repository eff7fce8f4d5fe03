#include "jobs/parent_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "base/descriptor.h"

namespace gpuready {
namespace {

// A copy of the parent that it forked holds its end of the channel, too: then the id tells.
constexpr int kLookAtParentEveryMs = 1'000;

[[noreturn]] void watch(pid_t parent) {
  pollfd channel{kChannelDescriptor, 0, 0};  // its end and errors are reported unasked
  while (true) {
    const int news = poll(&channel, 1, kLookAtParentEveryMs);
    if (news > 0 || getppid() != parent) break;
  }
  if (getpgrp() == getpid()) kill(0, SIGKILL);  // with what it has started
  _exit(0);
}

}  // namespace

std::optional<std::string> read_channel_line() {
  static std::string read_ahead;
  char more[4096];
  for (std::size_t searched = 0;;) {
    if (const auto end = read_ahead.find('\n', searched); end != read_ahead.npos) {
      std::string line = read_ahead.substr(0, end);
      read_ahead.erase(0, end + 1);
      return line;
    }
    searched = read_ahead.size();
    const ssize_t count = read(kChannelDescriptor, more, sizeof more);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    read_ahead.append(more, static_cast<std::size_t>(count));
  }
}

void write_channel_line(const std::string& line) {
  (void)write_all(kChannelDescriptor, line + '\n', "channel");
}

void end_with_parent() {
  if (fcntl(kChannelDescriptor, F_GETFD) < 0) return;
  // Signals are for the threads that know what to do with them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    std::thread(watch, getppid()).detach();
  } catch (const std::system_error&) {
    // No thread can be had: the parent's own limits and the kernel's signal are left.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void outlive_parent() { prctl(PR_SET_PDEATHSIG, 0); }

}  // namespace gpuready
