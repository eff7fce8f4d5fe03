// The one way to change what outlives this process: files, folders, links, locks, attributes of
// devices. Live (this machine), in memory (for tests), and one that wraps another and fails at a
// chosen call. Reading is Host's; here stands only what a writer must know of the place it writes
// to.
//
// No call on this machine follows a symbolic link that another user may have made
// (jobs/trusted_path.h).
//
// Every error carries the errno in `code` and names the path: EEXIST where a name is taken,
// EOPNOTSUPP where a filesystem cannot do what is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/host.h"

namespace gpuready {

enum class OnExisting { replace, fail };

class Storage {
 public:
  // A new file, open for writing. Its destructor closes it; a file that has no name is gone then.
  class File {
   public:
    virtual ~File() = default;
    virtual Result<void> write(std::string_view bytes) = 0;  // all of them, after what was written
    virtual Result<void> set_mode(std::uint32_t mode) = 0;   // 07777; the umask does not count
    virtual Result<void> set_modified(std::chrono::sys_seconds time) = 0;
    // The owner, group and extended attributes (access lists, labels) of a file in the same folder.
    virtual Result<void> take_owner_of(const std::string& name) = 0;
    virtual Result<void> sync() = 0;  // fsync(2)
    // Gives a file without a name its name, in the folder where it was made. EEXIST when that is
    // taken.
    virtual Result<void> link(const std::string& name) = 0;
  };
  // A folder that is held: what is done in it happens there, wherever its path leads by then. Names
  // are without slashes.
  class Folder {
   public:
    virtual ~Folder() = default;
    virtual Result<std::unique_ptr<File>> create(const std::string& name, std::uint32_t mode) = 0;
    virtual Result<std::unique_ptr<File>> create_unnamed(std::uint32_t mode) = 0;
    virtual Result<void> link(const std::string& from, const std::string& to) = 0;
    virtual Result<void> rename(const std::string& from, const std::string& to, OnExisting) = 0;
    virtual Result<void> unlink(const std::string& name) = 0;
    virtual Result<void> sync() = 0;
  };
  // Where a file is to be written.
  struct Target {
    std::unique_ptr<Folder> folder;
    std::string name;
    std::optional<FileStatus> old;  // what has this name
  };
  // Held until it is destroyed, or the process ends.
  class Lock {
   public:
    virtual ~Lock() = default;
  };

  virtual ~Storage() = default;

  // `follow_link`: a symbolic link at the end stands for what it leads to; else for itself.
  // `no_permission` where a link that others may have made is in the way, or where the old file is
  // another user's and not safe to replace.
  virtual Result<Target> target(const std::string& path, bool follow_link);

  // The process's umask takes its bits from `mode`. EEXIST when the name is taken.
  virtual Result<std::unique_ptr<File>> create(const std::string& path, std::uint32_t mode) = 0;
  // A file without a name (O_TMPFILE): EOPNOTSUPP where the filesystem has none.
  virtual Result<std::unique_ptr<File>> create_unnamed(const std::string& folder,
                                                       std::uint32_t mode) = 0;
  virtual Result<void> link(const std::string& from, const std::string& to) = 0;  // a hard link
  // Both in one filesystem. `fail`: EEXIST when `to` is taken; EOPNOTSUPP where the filesystem
  // cannot tell (RENAME_NOREPLACE).
  virtual Result<void> rename(const std::string& from, const std::string& to, OnExisting) = 0;
  // A symbolic link at `path`, which is new, with `target` as its text.
  virtual Result<void> symlink(const std::string& target, const std::string& path) = 0;
  virtual Result<void> unlink(const std::string& path) = 0;
  virtual Result<void> remove_folder(const std::string& path) = 0;  // an empty one, else ENOTEMPTY
  // Makes names in this folder survive a loss of power. A filesystem that cannot says so by
  // success.
  virtual Result<void> sync_folder(const std::string& path) = 0;
  virtual Result<void> make_folder(const std::string& path, std::uint32_t mode) = 0;
  // An exclusive lock on a file, which is made (0600) where it is missing and stays. Does not wait:
  // `busy` while another process, or another lock of this one, holds it.
  virtual Result<std::unique_ptr<Lock>> lock(const std::string& path) = 0;
  // One write(2) to what exists: an attribute in sysfs or procfs, a device. Nothing is truncated,
  // and the kernel's errno is the error; EIO when it took less than all.
  virtual Result<void> write_attribute(const std::string& path, std::string_view bytes) = 0;
  // To a pipe, a terminal or a character device that exists, and is a standard one or no one
  // else's. `timed_out` when nothing reads from the pipe for as long as `patience`.
  virtual Result<void> append(const std::string& path, std::string_view bytes,
                              std::chrono::milliseconds patience) = 0;

  virtual Result<FileStatus> status(const std::string& path) = 0;      // of the link's target
  virtual Result<std::string> real_path(const std::string& path) = 0;  // every link resolved
  virtual Result<FileSystemSpace> space(const std::string& folder) = 0;
};

Storage& live_storage();

}  // namespace gpuready
