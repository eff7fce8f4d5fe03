// A folder that appears whole or not at all: it is filled under another name beside its place and
// renamed when it is complete.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::vm {

class StagingFolder {
 public:
  // In the folder that it will be in, under the name .gpuready-PID-N.tmp; a process that is
  // killed leaves it behind.
  static Result<StagingFolder> create(const std::string& parent, Storage& storage);
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
  // This folder with all that it holds, what other programs made there too.
  Result<void> remove_tree(const std::string& folder, Host& host);

  // `path` is in the same folder and must not exist.
  Result<void> commit(const std::string& path);
  // An error of this folder, told by the name that the folder shall have.
  Error as_of(const std::string& path, Error error) const;

 private:
  StagingFolder(std::string folder, Storage& storage)
      : folder_(std::move(folder)), storage_(&storage) {}
  Result<void> make_parents(const std::string& relative);

  std::string folder_;
  Storage* storage_;
  std::set<std::string> folders_, files_;  // relative, made by us
  struct Committed {
    bool value = false;
    Committed() = default;
    Committed(Committed&& other) noexcept : value(other.value) { other.value = true; }
  } committed_;
};

// EEXIST, and what to do, where something stands at `path`.
Result<void> refuse_existing(const std::string& path, Storage& storage);

}  // namespace gpuready::vm
