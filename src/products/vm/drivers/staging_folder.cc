#include "vm/drivers/staging_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/paths.h"
#include "host/folders.h"

namespace gpuready::vm {

Result<void> refuse_existing(const std::string& path, Storage& storage) {
  if (!storage.status(path)) return {};
  return fail(ErrorKind::bad_input, path + " exists; name a new folder, or remove it first",
              EEXIST);
}

Result<StagingFolder> StagingFolder::create(const std::string& parent, Storage& storage) {
  static std::atomic<unsigned> count{0};
  auto folder = fmt::format("{}/.gpuready-{}-{}.tmp", parent, ::getpid(), ++count);
  if (const auto made = storage.make_folder(folder, 0755); !made)
    return fail(made.error().kind,
                fmt::format("cannot make a folder in {}: {}{}", parent,
                            std::generic_category().message(made.error().code),
                            made.error().code == ENOENT ? "; make it first" : ""),
                made.error().code);
  return StagingFolder(std::move(folder), storage);
}

Error StagingFolder::as_of(const std::string& path, Error error) const {
  for (auto at = error.message.find(folder_ + "/"); at != error.message.npos;
       at = error.message.find(folder_ + "/", at + path.size()))
    error.message.replace(at, folder_.size(), path);
  return error;
}

StagingFolder::~StagingFolder() {
  if (committed_.value) return;
  // Nothing is left to do when this fails: the name says whose it is.
  for (const auto& file : files_) (void)storage_->unlink(path_of(file));
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
    (void)storage_->remove_folder(path_of(*folder));
  (void)storage_->remove_folder(folder_);
}

Result<void> StagingFolder::make_parents(const std::string& relative) {
  for (auto at = relative.find('/'); at != relative.npos; at = relative.find('/', at + 1)) {
    const auto folder = relative.substr(0, at);
    if (folders_.contains(folder)) continue;
    TRY(storage_->make_folder(path_of(folder), 0755));
    folders_.insert(folder);
  }
  return {};
}

Result<std::unique_ptr<Storage::File>> StagingFolder::create_file(const std::string& relative,
                                                                  std::uint32_t mode) {
  TRY(make_parents(relative));
  auto file = TRY(storage_->create(path_of(relative), mode));
  files_.insert(relative);
  return file;
}

Result<void> StagingFolder::write_file(const std::string& relative, std::string_view bytes,
                                       std::uint32_t mode) {
  const auto file = TRY(create_file(relative, mode));
  TRY(file->write(bytes));
  return file->sync();
}

Result<bool> StagingFolder::link_file(const std::string& from, const std::string& relative) {
  TRY(make_parents(relative));
  if (const auto linked = storage_->link(from, path_of(relative)); !linked) {
    switch (linked.error().code) {
      case EXDEV:  // another filesystem
      case EPERM:  // one without links, or somebody else's file
      case EACCES:
      case EMLINK:
      case EOPNOTSUPP:
        return false;
      default:
        return std::unexpected(linked.error());
    }
  }
  files_.insert(relative);
  return true;
}

Result<void> StagingFolder::move_file(const std::string& from, const std::string& to) {
  TRY(make_parents(to));
  TRY(storage_->rename(path_of(from), path_of(to), OnExisting::replace));
  files_.erase(from);
  files_.insert(to);
  return {};
}

Result<void> StagingFolder::remove_file(const std::string& relative) {
  TRY(storage_->unlink(path_of(relative)));
  files_.erase(relative);
  return {};
}

Result<void> StagingFolder::remove_empty_folders(const std::string& above) {
  for (auto at = folders_.end(); at != folders_.begin();) {
    --at;
    if (*at != above && !at->starts_with(above + "/")) continue;
    TRY(storage_->remove_folder(path_of(*at)));
    at = folders_.erase(at);
  }
  return {};
}

Result<void> StagingFolder::remove_tree(const std::string& folder, Host& host) {
  TRY(gpuready::remove_tree(host, *storage_, path_of(folder)));
  const auto within = [&](const std::string& path) {
    return path == folder || path.starts_with(folder + "/");
  };
  std::erase_if(files_, within);
  std::erase_if(folders_, within);
  return {};
}

Result<void> StagingFolder::commit(const std::string& path) {
  TRY(refuse_existing(path, *storage_));
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
    TRY(storage_->sync_folder(path_of(*folder)));
  TRY(storage_->sync_folder(folder_));
  auto renamed = storage_->rename(folder_, path, OnExisting::fail);
  // Where a filesystem cannot tell: a folder is never renamed over one that holds something.
  if (!renamed && renamed.error().code == EOPNOTSUPP)
    renamed = storage_->rename(folder_, path, OnExisting::replace);
  TRY(std::move(renamed));
  committed_.value = true;
  return storage_->sync_folder(gpuready::folder_of(path));
}

}  // namespace gpuready::vm
