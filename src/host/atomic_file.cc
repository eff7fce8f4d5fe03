#include "host/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace gpuready {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// A file without a name, which is gone with the process however that ends; where the filesystem has
// none, one that is removed unless it was renamed away.
class Temporary {
 public:
  explicit Temporary(const std::string& beside) : path_(beside + ".tmp-XXXXXX") {
    if (access("/proc/self/fd", X_OK) == 0)
      fd_ = open(folder_of(beside).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd_ >= 0) return;
    fd_ = mkostemp(path_.data(), O_CLOEXEC);
    named_ = fd_ >= 0;
  }
  ~Temporary() {
    if (fd_ >= 0) close(fd_);
    if (named_) unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int fd() const { return fd_; }
  bool rename_to(const std::string& path) {
    if (!named_ && !give_name()) return false;
    named_ = std::rename(path_.c_str(), path.c_str()) != 0;
    return !named_;
  }

 private:
  // rename() alone replaces a file, and it wants a name.
  bool give_name() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    const std::string stem = path_.substr(0, path_.size() - 6) + std::to_string(getpid());
    for (int i = 0; i < 1000 && !named_; ++i) {
      path_ = stem + '-' + std::to_string(i);
      named_ = linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
      if (!named_ && errno != EEXIST) return false;
    }
    return named_;
  }

  std::string path_;
  int fd_ = -1;
  bool named_ = false;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

// The permissions of the file to be replaced, else those that open() would give a new one.
mode_t mode_for(const struct stat* existing) {
  if (existing != nullptr) return existing->st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

void sync_folder_of(const std::string& path) {
  const int fd = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);  // some filesystems cannot; the content itself is synced
  close(fd);
}

}  // namespace

struct AtomicFile::State {
  State(const std::string& shown, std::string to, std::optional<struct stat> existing)
      : path(shown), target(std::move(to)), old(existing), file(target) {}
  std::string path, target;  // as it was asked for; with links followed
  std::optional<struct stat> old;
  Temporary file;
};

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  std::string target = path;
  std::optional<struct stat> old;
  if (struct stat facts{}; stat(path.c_str(), &facts) == 0) {
    if (!S_ISREG(facts.st_mode))
      return fail(ErrorKind::bad_input, path + ": not a regular file, so it is not written over");
    old = facts;
    if (char* real = realpath(path.c_str(), nullptr); real != nullptr) {
      target = real;
      std::free(real);
    }
  }
  auto state = std::make_unique<State>(path, std::move(target), old);
  if (state->file.fd() < 0) return fail_errno("cannot write beside " + path, errno);
  return AtomicFile(std::move(state));
}

Result<void> AtomicFile::write(std::string_view bytes) {
  if (write_all(state_->file.fd(), bytes)) return {};
  return fail_errno("cannot write " + state_->path, errno);
}

Result<void> AtomicFile::commit() {
  const int fd = state_->file.fd();
  if (fchmod(fd, mode_for(state_->old ? &*state_->old : nullptr)) != 0 || fsync(fd) != 0 ||
      !state_->file.rename_to(state_->target))
    return fail_errno("cannot write " + state_->path, errno);
  sync_folder_of(state_->target);
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view bytes) {
  auto file = AtomicFile::create(path);
  if (!file) return std::unexpected(file.error());
  const auto written = file->write(bytes);
  return written ? file->commit() : written;
}

}  // namespace gpuready
