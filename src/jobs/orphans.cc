#include "jobs/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace gpuready {
namespace {

using std::chrono::microseconds;

// A killed child that closes a driver takes milliseconds, and seconds where the last user of a GPU
// without persistence goes.
constexpr std::chrono::milliseconds kLongestGoodbye{2'000};
constexpr microseconds kFirstLook{50}, kLastLook{2'000};

std::atomic<bool> adopts{false};

// Reaps the members of the group that have ended. Whether one is left that is a child of ours.
bool reap_group(int group) {
  while (true) {
    siginfo_t info{};
    const int rc = waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG);
    if (rc != 0 && errno == EINTR) continue;
    if (rc != 0) return false;          // no child of ours is in it
    if (info.si_pid == 0) return true;  // one is, and runs
  }
}

class Orphans {
 public:
  // At the end of the process.
  ~Orphans() {
    const Deadline until = deadline_in(kLongestGoodbye);
    for (auto pause = kFirstLook; !reap() && Clock::now() < until;
         pause = std::min(pause * 2, kLastLook))
      std::this_thread::sleep_for(pause);
    // What left its group, a daemon of a child's, and has ended since.
    while (adopts && waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }

  void add(int group, bool abandoned) {
    const std::lock_guard lock(mutex_);
    groups_.push_back({group, abandoned});
  }
  // Whether nothing is left that is worth waiting for.
  bool reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(groups_, [](const Group& group) { return !reap_group(group.id); });
    return std::ranges::all_of(groups_, &Group::abandoned);
  }

 private:
  struct Group {
    int id;
    bool abandoned;
  };
  std::mutex mutex_;
  std::vector<Group> groups_;
};

Orphans& orphans() {
  static Orphans instance;
  return instance;
}

}  // namespace

void add_orphan(int group, bool abandoned) { orphans().add(group, abandoned); }

void reap_orphans() { orphans().reap(); }

void adopt_orphans() {
  orphans();  // its destructor reaps them
  adopts = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

bool adopted_children_run() {
  reap_orphans();
  pid_t ended = adopts ? 1 : -1;
  while (ended > 0) ended = waitpid(-1, nullptr, WNOHANG);
  return ended == 0;
}

}  // namespace gpuready
