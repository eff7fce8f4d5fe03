#include "host/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace gpuready {
namespace {

// The child's ends of the pipes are moved above this, so that no dup2 onto 1, 2 or 3 hits another.
constexpr int kFirstFreeDescriptor = 16;

void close_if_open(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

struct PipeEnds {
  std::array<int, kStreamCount> ours{-1, -1, -1}, theirs{-1, -1, -1};
  ~PipeEnds() {
    for (int& fd : ours) close_if_open(fd);
    for (int& fd : theirs) close_if_open(fd);
  }
  bool open(Stream stream) {
    int ends[2];
    // The document's is a socket, on which the child can be told something, too.
    const bool opened = stream == kDocument
                            ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0
                            : pipe2(ends, O_CLOEXEC) == 0;
    if (!opened) return false;
    ours[stream] = ends[0];
    theirs[stream] = fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstFreeDescriptor);
    const int error = errno;
    close(ends[1]);
    errno = error;
    // Only our end: O_NONBLOCK belongs to the open file, and each end of a pipe is one of its own.
    return theirs[stream] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
};

std::vector<std::string> changed_environment(const Command& command) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& change : command.env) replaced |= change.first == name;
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : command.env)
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

struct FileActions {
  posix_spawn_file_actions_t raw;
  FileActions() { posix_spawn_file_actions_init(&raw); }
  ~FileActions() { posix_spawn_file_actions_destroy(&raw); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t raw;
  Attributes() { posix_spawnattr_init(&raw); }
  ~Attributes() { posix_spawnattr_destroy(&raw); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

int set_up(FileActions& actions, Attributes& attributes, const PipeEnds& pipes) {
  int first_closed = 3;
  int error = posix_spawn_file_actions_addopen(&actions.raw, 0, "/dev/null", O_RDONLY, 0);
  for (int stream = 0; stream < kStreamCount && error == 0; ++stream) {
    if (pipes.theirs[stream] < 0) continue;
    const int target = stream + 1;  // 1, 2, 3
    if (target >= first_closed) first_closed = target + 1;
    error = posix_spawn_file_actions_adddup2(&actions.raw, pipes.theirs[stream], target);
  }
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions.raw, first_closed);
  if (error != 0) return error;

  // A parent that ignores or blocks signals must not make an unkillable child of ours.
  sigset_t all, none;
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes.raw, &all);
  posix_spawnattr_setsigmask(&attributes.raw, &none);
  return posix_spawnattr_setflags(
      &attributes.raw, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

}  // namespace

Result<Spawned> spawn(const Command& command) {
  PipeEnds pipes;
  if (!pipes.open(kOut) || !pipes.open(kErr) || (command.document_pipe && !pipes.open(kDocument)))
    return fail_errno("cannot make a pipe for " + command.program, errno);

  std::vector<std::string> arguments{command.program};
  arguments.insert(arguments.end(), command.args.begin(), command.args.end());
  std::vector<std::string> variables = changed_environment(command);

  FileActions actions;
  Attributes attributes;
  if (const int error = set_up(actions, attributes, pipes); error != 0)
    return fail_errno("cannot start " + command.program, error);

  Spawned spawned;
  const int error =
      posix_spawnp(&spawned.pid, command.program.c_str(), &actions.raw, &attributes.raw,
                   pointers(arguments).data(), pointers(variables).data());
  if (error != 0) return fail_errno("cannot start " + command.program, error);

  spawned.pidfd = static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0));
  spawned.pipes = pipes.ours;
  pipes.ours = {-1, -1, -1};
  return spawned;
}

}  // namespace gpuready
