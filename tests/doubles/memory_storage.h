// Storage in memory, with what a disk forgets when the power goes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/storage.h"

namespace gpuready {

// Paths are absolute and compared as text; symbolic links are kept and not followed, and there are
// no users. "/" exists.
class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(std::uint64_t capacity_bytes = UINT64_MAX) : capacity_(capacity_bytes) {}

  // Anything that exists from the start and is not a regular file: a device, a pipe, an attribute.
  void add(const std::string& path, FileKind kind);
  std::optional<std::string> content(const std::string& path) const;
  std::vector<std::string> names(const std::string& folder) const;  // full paths, sorted

  // What a disk may hold after a loss of power: of each file what was synced, and names either all
  // as they are, or those alone whose folder was synced.
  enum class Names { all, synced };
  void lose_power(Names);

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
  // What is not a regular file holds what was written to it last.
  Result<void> write_attribute(const std::string& path, std::string_view bytes) override;
  Result<void> append(const std::string& path, std::string_view bytes,
                      std::chrono::milliseconds patience) override;
  Result<FileStatus> status(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override;
  Result<FileSystemSpace> space(const std::string& folder) override;

 private:
  struct Node {
    FileKind kind = FileKind::regular;
    std::uint32_t mode = 0;
    std::string content, synced;
  };
  class MemoryFile;
  class MemoryLock;
  using Nodes = std::map<std::string, std::shared_ptr<Node>>;

  // An error when `path` cannot become a new name.
  Result<void> free_name(const std::string& path) const;
  Result<std::shared_ptr<Node>> existing(const std::string& path) const;
  std::uint64_t used_bytes() const;

  std::uint64_t capacity_;
  Nodes nodes_ = {{"/", std::make_shared<Node>(Node{FileKind::directory, 0755, {}, {}})}};
  Nodes synced_ = nodes_;
  std::set<std::string> locks_;
};

}  // namespace gpuready
