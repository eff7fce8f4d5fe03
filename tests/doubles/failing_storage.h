// Storage that fails where a test wants it to.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>

#include "host/storage.h"

namespace gpuready {

enum class StorageCall {
  create,
  create_unnamed,
  write,
  set_mode,
  sync,
  link,
  rename,
  rename_no_replace,
  symlink,
  unlink,
  remove_folder,
  sync_folder,
  make_folder,
  lock,
  write_attribute,
  append,
  status,
  real_path,
  space,
};

struct StorageFault {
  enum class Kind {
    once,          // the call fails and has no effect, but that a write writes half of its bytes
    from_then_on,  // and every later call does: a filesystem that became read-only
    killed,        // the call and every later one does nothing, as if the process had died in it
  };
  std::size_t at = 0;  // which call, counted from 1; 0: none fails
  Kind kind = Kind::once;
  int error_number = 0;  // errno, unless killed
};

// Wraps another storage, which must outlive it.
class FailingStorage final : public Storage {
 public:
  // `unsupported`: calls that always fail with EOPNOTSUPP, as on a filesystem that lacks them.
  FailingStorage(Storage& inner, StorageFault fault, std::set<StorageCall> unsupported = {})
      : inner_(inner), fault_(fault), unsupported_(std::move(unsupported)) {}

  std::size_t calls() const { return calls_; }
  std::optional<FileSystemSpace> free_space;  // what space() answers; none: what the other does
  // Called before each call: what somebody else does meanwhile.
  std::function<void(StorageCall)> before_call;

  Result<std::unique_ptr<File>> create(const std::string& path, std::uint32_t mode) override;
  Result<std::unique_ptr<File>> create_unnamed(const std::string& folder,
                                               std::uint32_t mode) override;
  Result<void> link(const std::string& from, const std::string& to) override;
  Result<void> rename(const std::string& from, const std::string& to, OnExisting) override;
  Result<void> symlink(const std::string& target, const std::string& path) override;
  Result<void> unlink(const std::string& path) override;
  Result<void> remove_folder(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<void> make_folder(const std::string& path, std::uint32_t mode) override;
  Result<std::unique_ptr<Lock>> lock(const std::string& path) override;
  Result<void> write_attribute(const std::string& path, std::string_view bytes) override;
  Result<void> append(const std::string& path, std::string_view bytes,
                      std::chrono::milliseconds patience) override;
  Result<FileStatus> status(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override;
  Result<FileSystemSpace> space(const std::string& folder) override;

 private:
  class FailingFile;
  // Counts the call; an error when it is to fail.
  Result<void> enter(StorageCall call, const std::string& path);
  Result<std::unique_ptr<File>> wrapped(Result<std::unique_ptr<File>> file,
                                        const std::string& path);

  Storage& inner_;
  StorageFault fault_;
  std::set<StorageCall> unsupported_;
  std::size_t calls_ = 0;
};

}  // namespace gpuready
