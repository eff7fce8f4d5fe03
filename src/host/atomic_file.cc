#include "host/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace gpuready {
namespace {

// Removes the file unless it was renamed away.
class Temporary {
 public:
  explicit Temporary(const std::string& beside) : path_(beside + ".tmp-XXXXXX") {
    fd_ = mkostemp(path_.data(), O_CLOEXEC);
  }
  ~Temporary() {
    if (fd_ < 0) return;
    close(fd_);
    if (!renamed_) unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int fd() const { return fd_; }
  bool rename_to(const std::string& path) {
    renamed_ = std::rename(path_.c_str(), path.c_str()) == 0;
    return renamed_;
  }

 private:
  std::string path_;
  int fd_ = -1;
  bool renamed_ = false;
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
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);  // some filesystems cannot; the content itself is synced
  close(fd);
}

}  // namespace

Result<void> write_file_atomically(const std::string& path, std::string_view bytes) {
  std::string target = path;
  struct stat facts{};
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (exists) {
    if (!S_ISREG(facts.st_mode))
      return fail(ErrorKind::bad_input, path + ": not a regular file, so it is not written over");
    if (char* real = realpath(path.c_str(), nullptr); real != nullptr) {
      target = real;
      std::free(real);
    }
  }
  Temporary file(target);
  if (file.fd() < 0) return fail_errno("cannot write beside " + path, errno);
  if (!write_all(file.fd(), bytes) || fchmod(file.fd(), mode_for(exists ? &facts : nullptr)) != 0 ||
      fsync(file.fd()) != 0 || !file.rename_to(target))
    return fail_errno("cannot write " + path, errno);
  sync_folder_of(target);
  return {};
}

}  // namespace gpuready
