#include "jobs/supervise.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/descriptor.h"
#include "jobs/parent_watch.h"
#include "jobs/process_state.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr int kCannotSupervise = 126;
constexpr int kLookAtParentEveryMs = 1'000, kLookAtChildrenEveryMs = 10;
// A killed process that closes a driver takes milliseconds, and seconds where it is a GPU's last.
constexpr milliseconds kTimeToDie{800}, kLookAgainAfter{100};
constexpr milliseconds kTimeToTidy{10'000};  // where no one waits for the end
// Processes that start others faster than they are found are given up after this.
constexpr milliseconds kTimeToFind{500};

// By whom a process was started; -1: there is none of that number.
pid_t parent_of(pid_t pid) {
  const Descriptor file(
      open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const auto size = file ? read(file.get(), text, sizeof text) : 0;
  const std::string_view stat(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  // Also of a zombie: it may be the first of threads, of which others live and have children.
  return parent_in_stat(stat);
}

// All processes, and by whom each was started.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir("/proc"), closedir);
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    const pid_t pid = std::atoi(entry->d_name);
    const pid_t parent = pid > 0 ? parent_of(pid) : -1;
    if (parent >= 0) found[pid] = parent;
  }
  return found;
}

// Its number may be another process's by now: that one is held first, and looked at again. False:
// it is not the one that was seen, or has another parent since.
bool kill_the_same(pid_t pid, pid_t parent) {
  const Descriptor held(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!held && errno == ESRCH) return true;
  if (parent_of(pid) != parent) return false;
  if (held)
    syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0);
  else
    ::kill(pid, SIGKILL);  // before Linux 5.3
  return true;
}

bool descends_from(const std::map<pid_t, pid_t>& all, pid_t pid, pid_t ancestor) {
  for (std::size_t steps = 0; steps <= all.size(); ++steps) {
    const auto known = all.find(pid);
    if (known == all.end()) return false;
    if (known->second == ancestor) return true;
    pid = known->second;
  }
  return false;
}

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  return set;
}

pid_t start(const std::function<int()>& body, const sigset_t& signals) {
  const auto parent = getpid();
  const auto pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotSupervise);
  setsid();
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  _exit(body());
}

class Watch {
 public:
  explicit Watch(const sigset_t& signals)
      : signals_(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)),
        parent_(getppid()),
        channel_(fcntl(kChannelDescriptor, F_GETFD) < 0 ? -1 : kChannelDescriptor) {}

  // Until the child has ended, or all are to end.
  void wait(pid_t child) {
    while (reap(child), !status_) {
      // The end of the channel alone: what is written there is the child's.
      pollfd news[] = {{signals_.get(), POLLIN, 0}, {channel_, 0, 0}};
      poll(news, 2, kLookAtParentEveryMs);
      if (take_signals() || news[1].revents != 0 || getppid() != parent_) return;
    }
  }
  // Until no child is left.
  void wait_for_all(pid_t child, Deadline until) {
    for (; reap(child), has_children() && Clock::now() < until; take_signals()) {
      pollfd news{signals_.get(), POLLIN, 0};
      poll(&news, 1, kLookAtChildrenEveryMs);
    }
  }
  // All that have ended, orphans too.
  void reap(pid_t child) {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (pid == child) status_ = status;
  }
  // How the child ended; nothing: it has not.
  std::optional<int> status() const { return status_; }

 private:
  // Whether one of them asks for the end.
  bool take_signals() {
    bool asked = false;
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info)
      asked |= info.ssi_signo != SIGCHLD;
    return asked;
  }

  Descriptor signals_;
  pid_t parent_;
  int channel_;
  std::optional<int> status_;
};

// What gets SIGKILL starts nothing any more, so that a look that finds no one new was the last.
// Everything that is orphaned becomes a child of this process, so without a child there is none.
// One more look is for a process whose parent ended while the first one was under way.
void kill_descendants(Watch& watch, pid_t child) {
  const auto self = getpid();
  std::set<pid_t> killed;
  int looks_without_news = 0;
  for (const auto until = deadline_in(kTimeToFind);
       has_children() && looks_without_news < 2 && Clock::now() < until;) {
    ++looks_without_news;
    const auto all = parents();
    for (const auto& [pid, parent] : all) {
      if (!descends_from(all, pid, self)) continue;
      if (!kill_the_same(pid, parent) || killed.insert(pid).second) looks_without_news = 0;
    }
    watch.reap(child);  // what runs away must not use up the machine's process numbers
  }
}

int end_as(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the child's own says more
  std::signal(WTERMSIG(status), SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, WTERMSIG(status));
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(getpid(), WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace

int supervise(const std::function<int()>& body, const std::function<void()>& afterwards,
              const std::function<void()>& ended) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto signals = watched_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  Watch watch(signals);
  const auto child = start(body, before);
  if (child < 0) return kCannotSupervise;
  watch.wait(child);
  const bool by_itself = watch.status().has_value();
  if (!by_itself) ::kill(-child, SIGKILL);
  // Not longer: the parent's own end waits for this process.
  for (const auto until = deadline_in(kTimeToDie); has_children() && Clock::now() < until;) {
    kill_descendants(watch, child);
    watch.wait_for_all(child, deadline_in(kLookAgainAfter));
  }
  if (afterwards && start(
                        [&] {
                          afterwards();
                          return 0;
                        },
                        before) > 0)
    watch.wait_for_all(child, deadline_in(by_itself ? kTimeToTidy : kTimeToDie));
  if (ended) ended();
  return end_as(watch.status().value_or(SIGKILL));
}

}  // namespace gpuready
