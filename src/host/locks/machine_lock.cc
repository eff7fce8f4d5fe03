#include "host/locks/machine_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
constexpr mode_t kForAll = 0444;

// Without O_CREAT at first: the kernel refuses it for another user's file in a folder such as /tmp
// (fs.protected_regular).
Descriptor open_shared(const char* path) {
  Descriptor fd(open(path, kFlags));
  if (fd || errno != ENOENT) return fd;
  Descriptor made(open(path, kFlags | O_CREAT | O_EXCL, kForAll));
  if (made) fchmod(made.get(), kForAll);  // whatever the umask took
  return made || errno != EEXIST ? std::move(made) : Descriptor(open(path, kFlags));
}

}  // namespace

Result<MachineLock> MachineLock::take(const std::string& path) {
  Descriptor fd = open_shared(path.c_str());
  struct stat status{};
  if (!fd || fstat(fd.get(), &status) != 0) return fail_errno(path, errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::bad_input, path + ": not a file");
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? fail(ErrorKind::busy, path + ": another process holds this lock", errno)
               : fail_errno(path, errno);
  return MachineLock(std::move(fd));
}

// "1: FLOCK  ADVISORY  WRITE 4711 08:02:123456 0 EOF"; "->" before the type of one that waits.
std::uint64_t lock_holder(std::string_view locks, std::uint64_t inode) {
  const std::string ending = fmt::format(":{}", inode);
  for (const std::string_view line : lines(locks)) {
    const auto words = split(line, " ");
    if (words.size() > 5 && words[1] == "FLOCK" && words[5].ends_with(ending))
      return parse_uint(words[4]).value_or(0);
  }
  return 0;
}

std::string holder_of_lock(Host& host, const std::string& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) return {};
  const auto locks = host.read_file("/proc/locks");
  const std::uint64_t process = locks ? lock_holder(*locks, file.st_ino) : 0;
  if (process == 0) return {};
  const std::string folder = fmt::format("/proc/{}", process);
  std::string text = fmt::format("process {}", process);
  if (const auto status = host.status(folder)) text += fmt::format(" of user {}", status->uid);
  std::string command = host.read_file(folder + "/cmdline").value_or("");
  std::ranges::replace(command, '\0', ' ');
  if (!trim(command).empty()) text += fmt::format(" ({})", printable(trim(command)));
  return text;
}

}  // namespace gpuready
