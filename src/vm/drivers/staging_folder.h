// A folder that appears whole or not at all: it is filled under another name beside its place and
// renamed when it is complete.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/storage.h"

namespace gpuready::vm {

class StagingFolder {
 public:
  // `path` must not exist. The other name is .gpuready-PID-N.tmp in the same folder; a process
  // that is killed leaves it behind.
  static Result<StagingFolder> create(const std::string& path, Storage& storage);
  StagingFolder(StagingFolder&&) = default;
  StagingFolder& operator=(StagingFolder&&) = delete;
  ~StagingFolder();  // removes what was not committed

  // Of paths relative to the folder; folders above them are made.
  std::string path_of(std::string_view relative) const {
    return folder_ + "/" + std::string(relative);
  }
  Result<std::unique_ptr<Storage::File>> create_file(const std::string& relative,
                                                     std::uint32_t mode);
  Result<void> write_file(const std::string& relative, std::string_view bytes, std::uint32_t mode);
  // A hard link where the filesystem allows one. False: it does not.
  Result<bool> link_file(const std::string& from, const std::string& relative);
  Result<void> move_file(const std::string& from, const std::string& to);  // both relative
  Result<void> remove_file(const std::string& relative);
  Result<void> remove_empty_folders(const std::string& above);  // this folder and those below it

  Result<void> commit();

 private:
  StagingFolder(std::string path, std::string folder, Storage& storage)
      : path_(std::move(path)), folder_(std::move(folder)), storage_(&storage) {}
  Result<void> make_parents(const std::string& relative);

  std::string path_, folder_;
  Storage* storage_;
  std::set<std::string> folders_, files_;  // relative, made by us
  struct Committed {
    bool value = false;
    Committed() = default;
    Committed(Committed&& other) noexcept : value(other.value) { other.value = true; }
  } committed_;
};

}  // namespace gpuready::vm
