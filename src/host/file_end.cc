#include "host/file_end.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.h"
#include "base/descriptor_path.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::size_t kPieceBytes = 1 * MiB;
constexpr std::size_t kMostOfADevice = 1024 * MiB;

void leave_out(FileEnd& end, std::size_t bytes) {
  end.unread_bytes += bytes;
  end.unread_lines += static_cast<std::size_t>(
      std::count(end.text.begin(), end.text.begin() + static_cast<std::ptrdiff_t>(bytes), '\n'));
  end.text.erase(0, bytes);
}

void cut_at_a_line(FileEnd& end, std::size_t most_bytes) {
  const bool too_long = end.text.size() > most_bytes;
  if (!too_long && end.unread_bytes == 0) return;
  const auto cut = end.text.find('\n', too_long ? end.text.size() - most_bytes : 0);
  leave_out(end, cut == end.text.npos ? end.text.size() : cut + 1);
}

}  // namespace

FileEnd end_of(std::string text, std::size_t most_bytes) {
  FileEnd end{std::move(text)};
  cut_at_a_line(end, most_bytes);
  return end;
}

Result<FileEnd> read_file_end(const std::string& path, std::size_t most_bytes) {
  const auto open_one = path == "/dev/stdin" ? STDIN_FILENO : descriptor_named_by(path);
  const Descriptor file(open_one
                            ? ::fcntl(*open_one, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) return fail_errno(path, errno);
  if (!open_one && !S_ISREG(facts.st_mode))
    return fail(ErrorKind::unsupported,
                printable(path) +
                    ": not a regular file, so it is not read; a pipe or a device is read as "
                    "standard input, /dev/stdin");
  FileEnd end;
  const std::size_t room = most_bytes + most_bytes / 4;
  end.text.reserve(room + kPieceBytes);  // growing would take three times as much for a moment
  while (true) {
    const auto before = end.text.size();
    end.text.resize(before + kPieceBytes);
    const ssize_t size = ::read(file.get(), end.text.data() + before, kPieceBytes);
    end.text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail_errno(path, errno);
    if (size == 0) break;
    if (end.text.size() > room) leave_out(end, end.text.size() - most_bytes);
    if (S_ISCHR(facts.st_mode) && end.unread_bytes > kMostOfADevice)
      return fail(ErrorKind::too_large, fmt::format("{}: it does not end", printable(path)));
  }
  cut_at_a_line(end, most_bytes);
  return end;
}

Result<std::size_t> size_of_named_file(const std::string& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0) return static_cast<std::size_t>(there.st_size);
  if (errno == ENOENT) return std::size_t{0};
  return fail_errno("cannot read " + printable(path), errno);
}

Result<void> append_to_named_file(const std::string& path, std::string_view text) {
  const auto what = "cannot write to " + printable(path);
  // A pipe that nothing reads is an error, not a wait.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), kFlags));
  // Only now: O_CREAT on a file of another user is refused in a folder like /tmp.
  if (!file && errno == ENOENT) file = Descriptor(::open(path.c_str(), kFlags | O_CREAT, 0644));
  if (!file) return fail_errno(what, errno);
  return write_all(file.get(), text, what);
}

}  // namespace gpuready
