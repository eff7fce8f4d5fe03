// The life of a job: runs -> (a limit, or asked to stop) killed -> finished or abandoned. All
// waiting is one poll() over the jobs' pipes and pidfds, so that an end is noticed as it happens.
#include "jobs/running_job.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "jobs/orphans.h"
#include "jobs/process_state.h"
#include "jobs/spawn.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeToDie{300};  // after a kill; longer means stuck in the kernel
constexpr milliseconds kLookAtCancelEvery{100};
// How often a kernel without pidfd_open (before 5.3) is asked whether a child has ended.
constexpr milliseconds kPollWithoutPidfd{1};
constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr Deadline kNever = Deadline::max();

int poll_timeout_ms(Deadline until) {
  if (until == kNever) return -1;
  const auto left = until - Clock::now();
  if (left <= Clock::duration::zero()) return 0;
  // Rounded up: rounding down would spin through the last millisecond.
  const auto ms = std::chrono::ceil<milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
}

// A limit may be milliseconds::max(), which must not overflow the clock.
Deadline in(const std::optional<milliseconds>& limit, Clock::time_point from) {
  constexpr milliseconds kLongest = std::chrono::hours(24 * 365);
  return limit ? from + std::clamp(*limit, milliseconds(0), kLongest) : kNever;
}

}  // namespace

struct RunningJob::State {
  Spawned process;
  JobOutcome outcome;
  std::string to_channel;  // not sent yet
  bool channel_ends = false;
  bool has_channel = false, ends_at_output_limit = false, supervises = false;
  milliseconds time_to_stop{};
  std::size_t output_limit_bytes = 0;
  Clock::time_point started, last_output;
  std::optional<milliseconds> silence;
  Deadline time_is_over = kNever, stop_is_over = kNever, death_is_over = kNever;
  std::optional<JobEnd> cause;  // why it was killed, or asked to stop
  bool finished = false;

  // ---- what moves between us and the child
  std::string& sink(int stream) {
    return stream == kOut ? outcome.out : stream == kErr ? outcome.err : outcome.channel;
  }
  Descriptor& pipe(int stream) { return process.streams[static_cast<std::size_t>(stream)]; }

  // Reads at most `want` bytes. Returns how many came; closes the pipe at its end.
  std::size_t read_some(int stream, std::size_t want) {
    char buffer[kReadAtOnce];
    ssize_t size = -1;
    do size = read(pipe(stream).get(), buffer, std::min(want, sizeof buffer));
    while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN) return 0;
    if (size <= 0) {
      pipe(stream).close();
      return 0;
    }
    const auto got = static_cast<std::size_t>(size);
    std::string& text = sink(stream);
    const std::size_t room = output_limit_bytes - std::min(output_limit_bytes, text.size());
    text.append(buffer, std::min(got, room));
    outcome.truncated |= got > room;
    if (!has_channel || stream == kChannel) last_output = Clock::now();
    return got;
  }

  // What the child itself left in its pipes. A grandchild may hold them open and go on writing, so
  // this reads what is there now and no more.
  void drain() {
    for (int stream = 0; stream < kStreamCount; ++stream) {
      int left = 0;
      if (!pipe(stream) || ioctl(pipe(stream).get(), FIONREAD, &left) != 0) continue;
      while (left > 0 && pipe(stream)) {
        const std::size_t got = read_some(stream, static_cast<std::size_t>(left));
        if (got == 0) break;
        left -= static_cast<int>(got);
      }
    }
  }

  void send_pending() {
    while (!to_channel.empty() && pipe(kChannel)) {
      const ssize_t sent = ::send(pipe(kChannel).get(), to_channel.data(), to_channel.size(),
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) to_channel.clear();  // it reads no more; how it ends is reported by its end
      if (sent > 0) to_channel.erase(0, static_cast<std::size_t>(sent));
    }
    if (channel_ends && pipe(kChannel)) shutdown(pipe(kChannel).get(), SHUT_WR);
  }

  // ---- its end
  void kill_group() const { ::kill(-process.pid, SIGKILL); }

  void ask(std::optional<JobEnd> why) {
    ::kill(process.pid, SIGTERM);
    cause = why;
    stop_is_over = Clock::now() + time_to_stop;
  }

  void kill(std::optional<JobEnd> why) {
    if (finished || death_is_over != kNever) return;
    if (supervises && Clock::now() < stop_is_over) {
      if (stop_is_over == kNever) ask(why);
      return;
    }
    kill_group();
    if (why) cause = why;
    death_is_over = Clock::now() + kTimeToDie;
  }

  void stop() {
    if (finished || cause || death_is_over != kNever) return;
    ask(JobEnd::cancelled);
  }

  // Notices that it has ended. Its number is ours until it is reaped, so that the group is killed
  // before.
  void look_for_end() {
    siginfo_t info{};
    int rc = 0;
    do rc = waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0) return;
    if (rc != 0) {  // somebody else reaped it (SIGCHLD ignored): how it ended is unknown
      outcome.exit_code = -1;
    } else {
      kill_group();
      if (info.si_code == CLD_EXITED) {
        outcome.exit_code = info.si_status;
      } else {
        outcome.end = JobEnd::signalled;
        outcome.signal = info.si_status;
      }
      waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG);
    }
    if (cause) outcome.end = *cause;
    finish(false);
  }

  void abandon() {
    outcome.abandoned = true;
    outcome.end = cause.value_or(JobEnd::signalled);
    if (!cause) outcome.signal = SIGKILL;
    if (auto function = uninterruptible_sleep(process.pid)) {
      outcome.end = JobEnd::hung;
      outcome.waits_in = std::move(*function);
    }
    finish(true);
  }

  // What is left of the group is no one's concern any more.
  void finish(bool abandoned) {
    drain();
    process = {.pid = process.pid, .end = {}, .streams = {}};
    add_orphan(process.pid, abandoned);
    outcome.duration_ms = elapsed_ms(started);
    finished = true;
  }

  void release() {
    if (finished) return;
    if (supervises)
      ::kill(process.pid, SIGTERM);
    else
      kill_group();
    finish(false);
  }

  void enforce(const JobWatch& watch) {
    if (finished) return;
    const auto now = Clock::now();
    if (ends_at_output_limit && outcome.truncated) kill(JobEnd::too_much_output);
    if (now >= time_is_over || (watch.deadline && now >= *watch.deadline)) kill(JobEnd::timed_out);
    if (now >= in(silence, last_output)) kill(JobEnd::silent);
    if (watch.cancel != nullptr && watch.cancel->load()) stop();
    if (now >= stop_is_over) kill(cause);
    if (now >= death_is_over) abandon();
  }

  Deadline next_limit() const {
    if (death_is_over != kNever) return death_is_over;
    if (supervises && stop_is_over != kNever) return stop_is_over;
    return std::min({time_is_over, stop_is_over, in(silence, last_output)});
  }
};

RunningJob::RunningJob(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunningJob::RunningJob(RunningJob&&) noexcept = default;
RunningJob& RunningJob::operator=(RunningJob&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
RunningJob::~RunningJob() {
  if (state_) state_->release();
}

Result<RunningJob> RunningJob::start(const Job& job) {
  reap_orphans();
  auto state = std::make_unique<State>();
  state->started = Clock::now();
  state->process = TRY(spawn(job));
  state->has_channel = job.channel;
  state->output_limit_bytes = job.output_limit_bytes;
  state->ends_at_output_limit = job.ends_at_output_limit;
  state->supervises = job.supervises;
  state->time_to_stop = job.time_to_stop;
  RunningJob running(std::move(state));
  running.limit(job.limits);
  return running;
}

int RunningJob::pid() const { return state_->process.pid; }
bool RunningJob::finished() const { return state_->finished; }
const JobOutcome& RunningJob::outcome() const { return state_->outcome; }
std::string& RunningJob::text(Stream stream) { return state_->sink(stream); }

std::vector<std::string> RunningJob::take_lines(Stream stream) {
  std::string& text = state_->sink(stream);
  const auto last = text.rfind('\n');
  const std::size_t end = state_->finished ? text.size() : last == text.npos ? 0 : last + 1;
  std::vector<std::string> taken;
  for (const auto line : lines(std::string_view(text).substr(0, end))) taken.emplace_back(line);
  text.erase(0, end);
  return taken;
}

bool RunningJob::send(std::string_view text) {
  if (!state_->pipe(kChannel)) return false;
  state_->to_channel += text;
  state_->send_pending();
  return true;
}
void RunningJob::end_channel() {
  state_->channel_ends = true;
  state_->send_pending();
}

void RunningJob::enter(std::string step) { state_->outcome.step = std::move(step); }
void RunningJob::limit(const JobLimits& limits) {
  state_->time_is_over = in(limits.time, Clock::now());
  limit_silence(limits.silence);
}
bool RunningJob::resume(const JobLimits& limits) {
  limit(limits);
  poll_jobs({this}, Clock::now());
  return !finished();
}
void RunningJob::limit_silence(std::optional<milliseconds> silence) {
  state_->silence = silence;
  state_->last_output = Clock::now();
}
void RunningJob::stop() { state_->stop(); }
void RunningJob::kill() { state_->kill(std::nullopt); }
void RunningJob::release() { state_->release(); }

void poll_jobs(std::vector<RunningJob*> jobs, Deadline until, const JobWatch& watch) {
  reap_orphans();
  std::erase_if(jobs, [](const RunningJob* job) { return job == nullptr || job->finished(); });
  std::vector<pollfd> waits;
  std::vector<std::pair<RunningJob::State*, int>> owners;  // stream, or kStreamCount for its end
  bool news = jobs.empty();
  while (!news) {
    waits.clear();
    owners.clear();
    Deadline wake = until;
    // Once it has passed all are killed, and wait for their own end.
    if (watch.deadline && Clock::now() < *watch.deadline) wake = std::min(wake, *watch.deadline);
    if (watch.cancel != nullptr) wake = std::min(wake, deadline_in(kLookAtCancelEvery));
    for (const RunningJob* job : jobs) {
      RunningJob::State* state = job->state_.get();
      wake = std::min(wake, state->next_limit());
      if (!state->process.end) wake = std::min(wake, deadline_in(kPollWithoutPidfd));
      for (int stream = 0; stream <= kStreamCount; ++stream) {
        const Descriptor& fd = stream == kStreamCount ? state->process.end : state->pipe(stream);
        if (!fd) continue;
        const bool sends = stream == kChannel && !state->to_channel.empty();
        waits.push_back({fd.get(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
        owners.emplace_back(state, stream);
      }
    }
    poll(waits.data(), waits.size(), poll_timeout_ms(wake));

    for (std::size_t i = 0; i < waits.size(); ++i) {
      const auto [state, stream] = owners[i];
      if ((waits[i].revents & POLLOUT) != 0) state->send_pending();
      if ((waits[i].revents & ~POLLOUT) == 0 || stream == kStreamCount || !state->pipe(stream))
        continue;
      news |= state->read_some(stream, kReadAtOnce) > 0;
    }
    for (const RunningJob* job : jobs) {
      RunningJob::State* state = job->state_.get();
      state->look_for_end();
      state->enforce(watch);
      news |= state->finished;
    }
    if (Clock::now() >= until) return;
  }
}

}  // namespace gpuready
