#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/descriptor.h"
#include "base/text.h"
#include "host/file_status.h"
#include "host/storage.h"
#include "jobs/trusted_path.h"

namespace gpuready {
namespace {

Result<void> outcome(int returned, const std::string& path) {
  if (returned < 0) return fail_errno(path, errno);
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

using Handle = std::shared_ptr<const Descriptor>;

class LiveFile final : public Storage::File {
 public:
  LiveFile(int fd, Handle folder, std::string path)
      : fd_(fd), folder_(std::move(folder)), path_(std::move(path)) {}

  Result<void> write(std::string_view bytes) override {
    TRY(write_all(fd_.get(), bytes, path_));
    waiting_bytes_ += static_cast<off_t>(bytes.size());
    if (waiting_bytes_ < kWaitingBytes) return {};
    // The disk begins while more comes. That is only a hint: what fails is seen by sync().
    (void)sync_file_range(fd_.get(), begun_bytes_, waiting_bytes_, SYNC_FILE_RANGE_WRITE);
    begun_bytes_ += std::exchange(waiting_bytes_, 0);
    return {};
  }
  Result<void> set_mode(std::uint32_t mode) override {
    return outcome(fchmod(fd_.get(), mode), path_);
  }
  Result<void> set_modified(std::chrono::sys_seconds time) override {
    const timespec times[] = {{0, UTIME_OMIT}, {time.time_since_epoch().count(), 0}};
    return outcome(futimens(fd_.get(), times), path_);
  }
  Result<void> take_owner_of(const std::string& name) override {
    const Descriptor from(openat(folder_->get(), name.c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat facts{};
    if (from.get() < 0 || fstat(from.get(), &facts) != 0) return fail_errno(path_, errno);
    TRY(outcome(fchown(fd_.get(), facts.st_uid, facts.st_gid), path_));
    std::string names(64 << 10, '\0'), value(64 << 10, '\0');  // the kernel's limits
    names.resize(std::max<ssize_t>(flistxattr(from.get(), names.data(), names.size()), 0));
    for (const std::string_view each : split(names, std::string_view("\0", 1))) {
      const std::string attribute(each);
      const ssize_t size = fgetxattr(from.get(), attribute.c_str(), value.data(), value.size());
      // A label that this process may not set is that of any new file in the folder.
      const bool label = attribute.starts_with("security.");
      if (size >= 0 &&
          fsetxattr(fd_.get(), attribute.c_str(), value.data(), static_cast<std::size_t>(size),
                    0) != 0 &&
          !label)
        return fail_errno(path_, errno);
    }
    return {};
  }
  Result<void> sync() override { return outcome(fsync(fd_.get()), path_); }
  Result<void> link(const std::string& name) override {
    return outcome(linkat(AT_FDCWD, path_of(fd_.get()).c_str(), folder_->get(), name.c_str(),
                          AT_SYMLINK_FOLLOW),
                   path_);
  }

 private:
  static constexpr off_t kWaitingBytes = 16 << 20;

  Descriptor fd_;
  Handle folder_;
  std::string path_;
  off_t begun_bytes_ = 0, waiting_bytes_ = 0;  // that the disk writes; that come next
};

Result<std::unique_ptr<Storage::File>> opened(int fd, const Handle& folder,
                                              const std::string& path) {
  if (fd < 0) return fail_errno(path, errno);
  return std::make_unique<LiveFile>(fd, folder, path);
}

Result<void> rename_between(int from_folder, const std::string& from, int to_folder,
                            const std::string& to, OnExisting existing) {
  if (existing == OnExisting::replace)
    return outcome(renameat(from_folder, from.c_str(), to_folder, to.c_str()), to);
  if (renameat2(from_folder, from.c_str(), to_folder, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  return fail_errno(to, as_unsupported(errno));
}

Result<void> link_between(int from_folder, const std::string& from, int to_folder,
                          const std::string& to) {
  if (linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0) == 0) return {};
  // EPERM is how Linux says that the filesystem has no hard links.
  return fail_errno(to, errno == EPERM ? EOPNOTSUPP : as_unsupported(errno));
}

class LiveFolder final : public Storage::Folder {
 public:
  explicit LiveFolder(HeldFolder folder)
      : folder_(std::move(folder.descriptor)), path_(std::move(folder.path)) {}

  Result<std::unique_ptr<Storage::File>> create(const std::string& name,
                                                std::uint32_t mode) override {
    return opened(
        openat(fd(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode),
        folder_, path_ + "/" + name);
  }
  Result<std::unique_ptr<Storage::File>> create_unnamed(std::uint32_t mode) override {
    // Without /proc it could never get a name.
    if (access("/proc/self/fd", X_OK) != 0) return fail_errno(path_, EOPNOTSUPP);
    const int file = openat(fd(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (file < 0) return fail_errno(path_, as_unsupported(errno));
    return opened(file, folder_, path_);
  }
  Result<void> link(const std::string& from, const std::string& to) override {
    return link_between(fd(), from, fd(), to);
  }
  Result<void> rename(const std::string& from, const std::string& to,
                      OnExisting existing) override {
    return rename_between(fd(), from, fd(), to, existing);
  }
  Result<void> unlink(const std::string& name) override {
    return outcome(unlinkat(fd(), name.c_str(), 0), path_ + "/" + name);
  }
  Result<void> sync() override {
    const Descriptor readable(openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A folder that may be written to and not read cannot be synced by anybody.
    if (!readable && errno == EACCES) return {};
    if (!readable) return fail_errno(path_, errno);
    if (fsync(readable.get()) == 0 || as_unsupported(errno) == EOPNOTSUPP) return {};
    return fail_errno(path_, errno);
  }

 private:
  int fd() const { return folder_->get(); }

  Handle folder_;
  std::string path_;
};

class LiveLock final : public Storage::Lock {
 public:
  explicit LiveLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

// Writing to one of these disturbs no one, whoever owns its node: in a container that may be an
// unknown user.
constexpr std::string_view kStandardDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty",
                                                 "/dev/console"};

// Before it is opened: opening a device can do something, and opening a pipe can wait.
Result<void> check_appendable(const PathEnd& end, const std::string& path) {
  const mode_t kind = end.file->st_mode & S_IFMT;
  if (kind == S_IFBLK)
    return fail(ErrorKind::no_permission,
                printable(path) + ": a block device, which would lose what is on it; name a file");
  if (kind == S_IFCHR && std::ranges::find(kStandardDevices, path) != std::end(kStandardDevices))
    return {};
  if (end.fixed) return {};
  return fail(ErrorKind::no_permission,
              printable(path) + ": " + (kind == S_IFCHR ? "a device" : "a pipe or socket") +
                  " that another user made or may exchange (user " +
                  std::to_string(end.file->st_uid) +
                  "), so nothing is written to it. Name a file, or standard output: -");
}

// Like write_all, and waits no longer than `patience` for a reader to take the next bytes.
Result<void> write_patiently(int fd, std::string_view bytes, const std::string& path,
                             std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno(path, errno);
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int found = poll(&ready, 1, static_cast<int>(patience.count()));
    if (found < 0 && errno != EINTR) return fail_errno(path, errno);
    if (found == 0)
      return fail(ErrorKind::timed_out,
                  printable(path) + ": nothing was read from it for " +
                      std::to_string(patience.count() / 1000) +
                      " s, so the rest is not written. Read from it, or name a file");
  }
  return {};
}

class LiveStorage final : public Storage {
 public:
  Result<Target> target(const std::string& path, bool follow_link) override {
    auto end = TRY(walk_to(path, follow_link ? LastLink::follow : LastLink::keep));
    TRY(refuse_foreign(end, path));
    Target target{.folder = nullptr, .name = std::move(end.name), .old = {}};
    if (end.file) target.old = to_file_status(*end.file);
    target.folder = std::make_unique<LiveFolder>(std::move(end.folder));
    return target;
  }

  Result<std::unique_ptr<File>> create(const std::string& path, std::uint32_t mode) override {
    auto end = TRY(walk_to(path, LastLink::keep));
    return LiveFolder(std::move(end.folder)).create(end.name, mode);
  }

  Result<std::unique_ptr<File>> create_unnamed(const std::string& folder,
                                               std::uint32_t mode) override {
    return LiveFolder(TRY(hold_folder(folder))).create_unnamed(mode);
  }

  Result<void> link(const std::string& from, const std::string& to) override {
    const auto source = TRY(walk_to(from, LastLink::keep)), end = TRY(walk_to(to, LastLink::keep));
    return link_between(source.folder.fd(), source.name, end.folder.fd(), end.name);
  }

  Result<void> rename(const std::string& from, const std::string& to,
                      OnExisting existing) override {
    const auto source = TRY(walk_to(from, LastLink::keep)), end = TRY(walk_to(to, LastLink::keep));
    return rename_between(source.folder.fd(), source.name, end.folder.fd(), end.name, existing);
  }

  Result<void> symlink(const std::string& target, const std::string& path) override {
    const auto end = TRY(walk_to(path, LastLink::keep));
    return outcome(symlinkat(target.c_str(), end.folder.fd(), end.name.c_str()), path);
  }

  Result<void> unlink(const std::string& path) override {
    const auto end = TRY(walk_to(path, LastLink::keep));
    return outcome(unlinkat(end.folder.fd(), end.name.c_str(), 0), path);
  }

  Result<void> remove_folder(const std::string& path) override {
    const auto end = TRY(walk_to(path, LastLink::keep));
    return outcome(unlinkat(end.folder.fd(), end.name.c_str(), AT_REMOVEDIR), path);
  }

  Result<void> sync_folder(const std::string& path) override {
    return LiveFolder(TRY(hold_folder(path))).sync();
  }

  Result<void> make_folder(const std::string& path, std::uint32_t mode) override {
    const auto end = TRY(walk_to(path, LastLink::keep));
    return outcome(mkdirat(end.folder.fd(), end.name.c_str(), mode), path);
  }

  Result<std::unique_ptr<Lock>> lock(const std::string& path) override {
    const auto end = TRY(walk_to(path, LastLink::keep));
    TRY(refuse_foreign(end, path));
    Descriptor fd(openat(end.folder.fd(), end.name.c_str(),
                         O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
    if (fd.get() < 0) return fail_errno(path, errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return errno == EWOULDBLOCK
                 ? fail(ErrorKind::busy, path + ": another process holds this lock", errno)
                 : fail_errno(path, errno);
    // Whoever held it before may have removed the file: then a lock on it keeps no one out.
    struct stat held{}, named{};
    if (fstat(fd.get(), &held) != 0) return fail_errno(path, errno);
    if (fstatat(end.folder.fd(), end.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        held.st_dev != named.st_dev || held.st_ino != named.st_ino)
      return fail(ErrorKind::busy, path + ": the lock was removed just now", EWOULDBLOCK);
    return std::make_unique<LiveLock>(std::move(fd));
  }

  Result<void> write_attribute(const std::string& path, std::string_view bytes) override {
    const auto end = TRY(walk_to(path, LastLink::follow));
    const Descriptor fd(openat(end.folder.fd(), end.name.c_str(),
                               O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0) return fail_errno(path, errno);
    const ssize_t size = ::write(fd.get(), bytes.data(), bytes.size());
    if (size < 0) return fail_errno(path, errno);
    if (static_cast<std::size_t>(size) == bytes.size()) return {};
    return fail(ErrorKind::io,
                path + ": the kernel took " + std::to_string(size) + " of " +
                    std::to_string(bytes.size()) + " bytes",
                EIO);
  }

  Result<void> append(const std::string& path, std::string_view bytes,
                      std::chrono::milliseconds patience) override {
    const auto end = TRY(walk_to(path, LastLink::follow));
    if (!end.file) return fail_errno(path, ENOENT);
    TRY(check_appendable(end, path));
    const Descriptor fd(
        openat(end.folder.fd(), end.name.c_str(),
               O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0 && errno == ENXIO && S_ISFIFO(end.file->st_mode))
      return fail(ErrorKind::io,
                  printable(path) + ": no program reads this pipe. Start its reader first");
    if (fd.get() < 0) return fail_errno(path, errno);
    return write_patiently(fd.get(), bytes, path, patience);
  }

  Result<FileStatus> status(const std::string& path) override { return live_->status(path); }
  Result<std::string> real_path(const std::string& path) override { return live_->real_path(path); }
  Result<FileSystemSpace> space(const std::string& folder) override { return live_->space(folder); }

 private:
  std::unique_ptr<Host> live_ = make_live_host();
};

}  // namespace

Storage& live_storage() {
  static LiveStorage storage;
  return storage;
}

}  // namespace gpuready
