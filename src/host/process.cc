// The life of a child: running -> (deadline) killed -> finished or abandoned. All waiting is one
// poll() over the children's pipes and pidfds, so that an end is noticed as it happens.
#include "host/process.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <vector>

#include "host/process_state.h"
#include "host/spawn.h"

namespace gpuready {
namespace {

constexpr std::chrono::milliseconds kTimeToDie{300};
// How often a kernel without pidfd_open (before 5.3) is asked whether a child has ended.
constexpr std::chrono::milliseconds kPollWithoutPidfd{1};
constexpr std::size_t kReadAtOnce = 64 << 10;

void close_descriptor(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

int poll_timeout_ms(Deadline until) {
  const auto left = until - Clock::now();
  if (left <= Clock::duration::zero()) return 0;
  // Rounded up: rounding down would spin through the last millisecond.
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
}

// `timeout` may be milliseconds::max(), which must not overflow the clock.
Deadline deadline_of(const Command& command) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return deadline_in(std::clamp(command.timeout, std::chrono::milliseconds(0), kLongest));
}

// Children that nobody waits for: let go, or stuck in a driver. Those that have ended since are
// reaped whenever another starts, so that a program that runs for long gathers no zombies.
class Leftovers {
 public:
  void add(int pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](int pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<int> pids_;
};
Leftovers& leftovers() {
  static Leftovers instance;
  return instance;
}

}  // namespace

struct Child::State {
  Spawned process;
  ProcessResult result;
  std::size_t limit_bytes = 0;
  Clock::time_point started;
  Deadline deadline;  // when it is killed; once killed, when it is given up
  bool killed_late = false;
  bool reaped = false;
  bool finished = false;

  ~State() { close_all(); }

  void close_all() {
    for (int& fd : process.pipes) close_descriptor(fd);
    close_descriptor(process.pidfd);
  }

  std::string& sink(int stream) {
    return stream == kOut ? result.out : stream == kErr ? result.err : result.document;
  }

  // Reads at most `want` bytes. Returns how many came; closes the pipe at its end.
  std::size_t read_some(int stream, std::size_t want) {
    char buffer[kReadAtOnce];
    int& fd = process.pipes[stream];
    ssize_t size = -1;
    do size = read(fd, buffer, std::min(want, sizeof buffer));
    while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN) return 0;
    if (size <= 0) {
      close_descriptor(fd);
      return 0;
    }
    const auto got = static_cast<std::size_t>(size);
    std::string& text = sink(stream);
    const std::size_t room = limit_bytes > text.size() ? limit_bytes - text.size() : 0;
    text.append(buffer, std::min(got, room));
    result.truncated |= got > room;
    return got;
  }

  // What the child itself left in its pipes. A grandchild may hold them open and go on writing, so
  // this reads what is there now and no more.
  void drain() {
    for (int stream = 0; stream < kStreamCount; ++stream) {
      int left = 0;
      if (process.pipes[stream] < 0 || ioctl(process.pipes[stream], FIONREAD, &left) != 0) continue;
      while (left > 0 && process.pipes[stream] >= 0) {
        const std::size_t got = read_some(stream, static_cast<std::size_t>(left));
        if (got == 0) break;
        left -= static_cast<int>(got);
      }
    }
  }

  // Whether the child has ended and was reaped.
  bool reap() {
    if (reaped) return true;
    siginfo_t info{};
    int rc = 0;
    do rc = waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0) return false;
    reaped = true;
    if (rc != 0) {  // somebody else reaped it (SIGCHLD ignored): how it ended is unknown
      result.exit_code = -1;
    } else if (info.si_code == CLD_EXITED) {
      result.exit_code = info.si_status;
    } else {
      result.end = ProcessEnd::signalled;
      result.signal = info.si_status;
    }
    return true;
  }

  void finish() {
    drain();
    close_all();
    if (killed_late) result.end = ProcessEnd::timed_out;
    result.duration_ms = elapsed_ms(started);
    finished = true;
  }

  void kill_group() {
    if (reaped) return;  // the number may belong to somebody else by now
    ::kill(-process.pid, SIGKILL);
  }

  void enforce_deadline() {
    if (finished || Clock::now() < deadline) return;
    if (!killed_late) {
      kill_group();
      killed_late = true;
      deadline = deadline_in(kTimeToDie);
      return;
    }
    drain();
    close_all();
    result.end = in_uninterruptible_sleep(process.pid) ? ProcessEnd::hung : ProcessEnd::timed_out;
    leftovers().add(process.pid);
    result.duration_ms = elapsed_ms(started);
    finished = true;
  }
};

Child::Child(State* state) : state_(state) {}
Child::Child(Child&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
Child& Child::operator=(Child&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Child::~Child() {
  if (state_ != nullptr && !state_->finished) {
    kill();
    // Normally dead within a millisecond; reaping it then leaves no zombie behind.
    const Deadline until = deadline_in(kTimeToDie);
    while (!state_->reap() && Clock::now() < until) {
      pollfd wait{state_->process.pidfd, POLLIN, 0};
      const int longest = state_->process.pidfd >= 0 ? poll_timeout_ms(until) : 1;
      poll(&wait, 1, longest);
    }
  }
  delete state_;
}

Result<Child> Child::start(const Command& command) {
  leftovers().reap();
  const auto started = Clock::now();
  auto spawned = spawn(command);
  if (!spawned) return std::unexpected(spawned.error());
  auto* state = new State;
  state->process = *spawned;
  state->limit_bytes = command.output_limit_bytes;
  state->started = started;
  state->deadline = deadline_of(command);
  return Child(state);
}

int Child::pid() const { return state_->process.pid; }
bool Child::finished() const { return state_->finished; }
void Child::kill() {
  if (!state_->finished) state_->kill_group();
}
void Child::let_go() {
  if (state_->finished) return;
  state_->kill_group();
  state_->close_all();
  if (!state_->reaped) leftovers().add(state_->process.pid);
  state_->finished = true;
}
bool Child::tell(std::string_view text) {
  const int fd = state_->process.pipes[kDocument];
  if (fd < 0) return false;
  const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(text.size());
}
void Child::tell_no_more() {
  if (const int fd = state_->process.pipes[kDocument]; fd >= 0) shutdown(fd, SHUT_WR);
}
const ProcessResult& Child::result() const { return state_->result; }
std::string& Child::document() { return state_->result.document; }

void poll_children(std::vector<Child*> children, Deadline until) {
  std::erase_if(children, [](const Child* child) { return child == nullptr || child->finished(); });
  std::vector<pollfd> waits;
  std::vector<std::pair<Child::State*, int>> owners;  // stream, or kStreamCount for the pidfd
  bool news = children.empty();
  while (!news) {
    waits.clear();
    owners.clear();
    Deadline wake = until;
    for (const Child* child : children) {
      Child::State* state = child->state_;
      wake = std::min(wake, state->deadline);
      if (state->process.pidfd < 0) wake = std::min(wake, deadline_in(kPollWithoutPidfd));
      for (int stream = 0; stream <= kStreamCount; ++stream) {
        const int fd = stream == kStreamCount ? state->process.pidfd : state->process.pipes[stream];
        if (fd < 0) continue;
        waits.push_back({fd, POLLIN, 0});
        owners.emplace_back(state, stream);
      }
    }
    poll(waits.data(), waits.size(), poll_timeout_ms(wake));

    for (std::size_t i = 0; i < waits.size(); ++i) {
      const auto [state, stream] = owners[i];
      if (waits[i].revents == 0 || stream == kStreamCount) continue;
      news |= state->read_some(stream, kReadAtOnce) > 0;
    }
    for (const Child* child : children) {
      Child::State* state = child->state_;
      if (state->reap()) state->finish();
      state->enforce_deadline();
      news |= state->finished;
    }
    if (Clock::now() >= until) return;
  }
}

Result<ProcessResult> run_process(const Command& command) {
  auto child = Child::start(command);
  if (!child) return std::unexpected(child.error());
  while (!child->finished()) poll_children({&*child}, deadline_in(std::chrono::hours(1)));
  return child->result();
}

}  // namespace gpuready
