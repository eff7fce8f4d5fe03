#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor.h"
#include "host/storage.h"

namespace gpuready {
namespace {

Result<void> outcome(int returned, const std::string& path) {
  if (returned < 0) return fail_errno(path, errno);
  return {};
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail_errno(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

// What a file without a name is linked by.
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// A filesystem without files without names says so in several ways, the oldest as if the folder
// were to be opened for writing.
int as_unsupported(int error_number) {
  switch (error_number) {
    case EISDIR:
    case EINVAL:
    case ENOSYS:
      return EOPNOTSUPP;
    default:
      return error_number;
  }
}

class LiveFile final : public Storage::File {
 public:
  LiveFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Result<void> write(std::string_view bytes) override { return write_all(fd_.get(), bytes, path_); }
  Result<void> set_mode(std::uint32_t mode) override {
    return outcome(fchmod(fd_.get(), mode), path_);
  }
  Result<void> sync() override { return outcome(fsync(fd_.get()), path_); }
  Result<void> link(const std::string& path) override {
    return outcome(
        linkat(AT_FDCWD, path_of(fd_.get()).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW),
        path);
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class LiveLock final : public Storage::Lock {
 public:
  explicit LiveLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

class LiveStorage final : public Storage {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path, std::uint32_t mode) override {
    return opened(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode), path);
  }

  Result<std::unique_ptr<File>> create_unnamed(const std::string& folder,
                                               std::uint32_t mode) override {
    // Without /proc it could never get a name.
    if (access("/proc/self/fd", X_OK) != 0) return fail_errno(folder, EOPNOTSUPP);
    const int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0) return fail_errno(folder, as_unsupported(errno));
    return opened(fd, folder);
  }

  Result<void> link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) == 0) return {};
    // EPERM is how Linux says that the filesystem has no hard links.
    return fail_errno(to, errno == EPERM ? EOPNOTSUPP : as_unsupported(errno));
  }

  Result<void> rename(const std::string& from, const std::string& to,
                      OnExisting existing) override {
    if (existing == OnExisting::replace) return outcome(std::rename(from.c_str(), to.c_str()), to);
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    return fail_errno(to, as_unsupported(errno));
  }

  Result<void> symlink(const std::string& target, const std::string& path) override {
    return outcome(::symlink(target.c_str(), path.c_str()), path);
  }

  Result<void> unlink(const std::string& path) override {
    return outcome(::unlink(path.c_str()), path);
  }

  Result<void> remove_folder(const std::string& path) override {
    return outcome(rmdir(path.c_str()), path);
  }

  Result<void> sync_folder(const std::string& path) override {
    const Descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A folder that may be written to and not read cannot be synced by anybody.
    if (fd.get() < 0 && errno == EACCES) return {};
    if (fd.get() < 0) return fail_errno(path, errno);
    if (fsync(fd.get()) == 0 || as_unsupported(errno) == EOPNOTSUPP) return {};
    return fail_errno(path, errno);
  }

  Result<void> make_folder(const std::string& path, std::uint32_t mode) override {
    return outcome(mkdir(path.c_str(), mode), path);
  }

  Result<std::unique_ptr<Lock>> lock(const std::string& path) override {
    Descriptor fd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) return fail_errno(path, errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return errno == EWOULDBLOCK
                 ? fail(ErrorKind::busy, path + ": another process holds this lock", errno)
                 : fail_errno(path, errno);
    // Whoever held it before may have removed the file: then a lock on it keeps nobody out.
    struct stat held{}, named{};
    if (fstat(fd.get(), &held) != 0) return fail_errno(path, errno);
    if (lstat(path.c_str(), &named) != 0 || held.st_dev != named.st_dev ||
        held.st_ino != named.st_ino)
      return fail(ErrorKind::busy, path + ": the lock was removed just now", EWOULDBLOCK);
    return std::make_unique<LiveLock>(std::move(fd));
  }

  Result<void> write_attribute(const std::string& path, std::string_view bytes) override {
    const Descriptor fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (fd.get() < 0) return fail_errno(path, errno);
    const ssize_t size = ::write(fd.get(), bytes.data(), bytes.size());
    if (size < 0) return fail_errno(path, errno);
    if (static_cast<std::size_t>(size) == bytes.size()) return {};
    return fail(ErrorKind::io,
                path + ": the kernel took " + std::to_string(size) + " of " +
                    std::to_string(bytes.size()) + " bytes",
                EIO);
  }

  Result<void> append(const std::string& path, std::string_view bytes) override {
    const Descriptor fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY));
    if (fd.get() < 0) return fail_errno(path, errno);
    return write_all(fd.get(), bytes, path);
  }

  Result<FileStatus> status(const std::string& path) override { return live_->status(path); }
  Result<std::string> real_path(const std::string& path) override { return live_->real_path(path); }
  Result<FileSystemSpace> space(const std::string& folder) override { return live_->space(folder); }

 private:
  static Result<std::unique_ptr<File>> opened(int fd, const std::string& path) {
    if (fd < 0) return fail_errno(path, errno);
    return std::make_unique<LiveFile>(fd, path);
  }

  std::unique_ptr<Host> live_ = make_live_host();
};

}  // namespace

Storage& live_storage() {
  static LiveStorage storage;
  return storage;
}

}  // namespace gpuready
