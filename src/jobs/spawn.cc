// A child is made by clone() as posix_spawn() does it: it shares our memory and we wait until it
// has become the other program, so that nothing is copied however large we are. Between the two it
// makes system calls alone. posix_spawn() itself knows neither resource limits nor a signal at our
// death, and old C libraries do not let it close all descriptors.
#include "jobs/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "jobs/program.h"

extern char** environ;

namespace gpuready {
namespace {

// The child's ends of the pipes are moved above this, so that no dup2 onto 0 to 3 hits another.
constexpr int kFirstFreeDescriptor = 16;
constexpr std::size_t kStackBytes = 32 << 10;
constexpr int kCannotRun = 127;

struct PipeEnds {
  Descriptor ours, theirs;

  bool open(bool is_socket) {
    int ends[2];
    if ((is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                   : pipe2(ends, O_CLOEXEC)) != 0)
      return false;
    ours = Descriptor(ends[0]);
    const Descriptor low(ends[1]);
    theirs = Descriptor(fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
    // Only our end: O_NONBLOCK belongs to the open file, and each end of a pipe is one of its own.
    return theirs && fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

// The input as a file in memory: no one has to feed the child, and none dies of a broken pipe.
Descriptor file_of(const std::string& input) {
  const Descriptor low(memfd_create("input", MFD_CLOEXEC));
  Descriptor file(fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  for (std::size_t at = 0; file && at < input.size();) {
    const ssize_t size =
        pwrite(file.get(), input.data() + at, input.size() - at, static_cast<off_t>(at));
    if (size <= 0 && errno != EINTR) return {};
    if (size > 0) at += static_cast<std::size_t>(size);
  }
  return file;
}

std::vector<std::string> changed_environment(const Job& job) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    bool replaced = job.keeps != nullptr && !job.keeps(name);
    for (const auto& change : job.env) replaced |= change.first == name;
    if (replaced) continue;
    if (job.keeps != nullptr && name == "PATH")
      out.push_back("PATH=" + only_our_folders(std::string(text.substr(name.size() + 1))));
    else
      out.emplace_back(text);
  }
  for (const auto& [name, value] : job.env)
    if (value) out.push_back(name + "=" + *value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// All that the child needs, made before it is: it may not allocate.
struct Plan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* variables = nullptr;
  int input = -1;  // none: /dev/null
  std::array<int, kStreamCount> streams{-1, -1, -1};
  int cgroup = -1;  // its cgroup.procs, open for writing
  const rlimit* address_space = nullptr;
  char score[16] = {};
  pid_t parent = 0;
  bool dies_with_us = false;
  int error = 0;  // of the child, where it could not become the program
};

// Closes all from `first` on. close_range is of Linux 5.9.
void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  rlimit open_files{};
  if (prlimit(0, RLIMIT_NOFILE, nullptr, &open_files) != 0) return;
  constexpr rlim_t kMost = 1 << 20;
  const int last = static_cast<int>(std::min(open_files.rlim_cur, kMost));
  for (int fd = first; fd < last; ++fd) close(fd);
}

void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const auto written = write(fd, text, strlen(text));
  close(fd);
}

bool set_up_descriptors(const Plan& plan) {
  if (plan.input >= 0) {
    if (dup2(plan.input, STDIN_FILENO) < 0) return false;
  } else {
    close(STDIN_FILENO);
    if (open("/dev/null", O_RDONLY) != STDIN_FILENO) return false;
  }
  int first_closed = STDERR_FILENO + 1;
  for (int stream = 0; stream < kStreamCount; ++stream) {
    if (plan.streams[static_cast<std::size_t>(stream)] < 0) continue;
    const int target = stream + 1;  // 1, 2, 3
    first_closed = std::max(first_closed, target + 1);
    if (dup2(plan.streams[static_cast<std::size_t>(stream)], target) < 0) return false;
  }
  close_from(first_closed);
  return true;
}

// A parent that ignores or blocks signals must not make an unkillable child. A handler of ours must
// not run in it either, so that this comes before the signals are let through.
void set_up_signals() {
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number <= SIGRTMAX; ++number) sigaction(number, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool set_up(const Plan& plan) {
  if (setsid() < 0) return false;
  if (plan.cgroup >= 0 && write(plan.cgroup, "0", 1) != 1) return false;
  if (plan.address_space != nullptr && setrlimit(RLIMIT_AS, plan.address_space) != 0) return false;
  // A score that may not be set is none: only what runs out of memory is another one then.
  write_file("/proc/self/oom_score_adj", plan.score);
  if (plan.dies_with_us) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan.parent) _exit(kCannotRun);  // it has died meanwhile
  }
  if (!set_up_descriptors(plan)) return false;
  set_up_signals();
  return true;
}

// The child, on a stack of its own. Not watched by AddressSanitizer, whose notes on the stack would
// be of a process that shares our memory.
__attribute__((no_sanitize("address", "undefined"))) int become(void* data) {
  auto* plan = static_cast<Plan*>(data);
  errno = 0;
  if (set_up(*plan)) execve(plan->program, plan->arguments, plan->variables);
  plan->error = errno != 0 ? errno : EINVAL;
  _exit(kCannotRun);
}

// The kernel counts the threads of a process as its parents: the signal of our death comes with the
// end of the thread that made the child. So only where that thread lives as long as we do.
bool outlives_the_child() { return syscall(SYS_gettid) == getpid(); }

Result<Descriptor> enter_cgroup(const std::string& folder, std::uint64_t bytes) {
  const auto open_for_writing = [&](const char* name) -> Result<Descriptor> {
    const std::string path = folder + "/" + name;
    Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return fail_errno(path, errno);
    return file;
  };
  const Descriptor limit = TRY(open_for_writing("memory.max"));
  const std::string text = std::to_string(bytes);
  if (write(limit.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(folder + "/memory.max", errno);
  return open_for_writing("cgroup.procs");
}

}  // namespace

Result<Spawned> spawn(const Job& job) {
  const std::string program = TRY(find_program(job.program));
  const std::string what = "cannot start " + job.program;
  std::array<PipeEnds, kStreamCount> streams;
  if (!streams[kOut].open(false) || !streams[kErr].open(false) ||
      (job.channel && !streams[kChannel].open(true)))
    return fail_errno("cannot make a pipe for " + job.program, errno);
  Descriptor input;
  if (!job.input.empty()) {
    input = file_of(job.input);
    if (!input) return fail_errno("cannot keep the input of " + job.program, errno);
  }

  std::vector<std::string> argument_texts{job.program};
  argument_texts.insert(argument_texts.end(), job.args.begin(), job.args.end());
  std::vector<std::string> variable_texts = changed_environment(job);
  const auto arguments = pointers(argument_texts), variables = pointers(variable_texts);

  Plan plan;
  plan.program = program.c_str();
  plan.arguments = arguments.data();
  plan.variables = variables.data();
  plan.input = input.get();
  for (std::size_t i = 0; i < kStreamCount; ++i) plan.streams[i] = streams[i].theirs.get();
  plan.parent = getpid();
  plan.dies_with_us = outlives_the_child();
  *std::to_chars(plan.score, plan.score + sizeof plan.score - 1, job.oom_score_adj).ptr = 0;
  rlimit address_space{};
  Descriptor cgroup;
  if (job.memory && job.memory->kind == MemoryLimit::Kind::address_space) {
    address_space.rlim_cur = address_space.rlim_max = job.memory->bytes;
    plan.address_space = &address_space;
  } else if (job.memory) {
    cgroup = TRY(enter_cgroup(job.memory->folder, job.memory->bytes));
    plan.cgroup = cgroup.get();
  }

  // No handler of ours may run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  alignas(16) char stack[kStackBytes];
  const pid_t pid = clone(become, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  const int error = pid < 0 ? errno : plan.error;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid >= 0 && error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  if (error != 0) return fail_errno(what, error);

  Spawned spawned;
  spawned.pid = pid;
  spawned.end = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  for (std::size_t i = 0; i < kStreamCount; ++i) spawned.streams[i] = std::move(streams[i].ours);
  return spawned;
}

}  // namespace gpuready
