#include "host/storage.h"

#include <utility>

#include "base/paths.h"

namespace gpuready {
namespace {

// A folder known by its path alone: of storages that no one else changes.
class FolderByPath final : public Storage::Folder {
 public:
  FolderByPath(Storage& storage, std::string path) : storage_(storage), path_(std::move(path)) {}

  Result<std::unique_ptr<Storage::File>> create(const std::string& name,
                                                std::uint32_t mode) override {
    return storage_.create(in(name), mode);
  }
  Result<std::unique_ptr<Storage::File>> create_unnamed(std::uint32_t mode) override {
    return storage_.create_unnamed(path_, mode);
  }
  Result<void> link(const std::string& from, const std::string& to) override {
    return storage_.link(in(from), in(to));
  }
  Result<void> rename(const std::string& from, const std::string& to,
                      OnExisting existing) override {
    return storage_.rename(in(from), in(to), existing);
  }
  Result<void> unlink(const std::string& name) override { return storage_.unlink(in(name)); }
  Result<void> sync() override { return storage_.sync_folder(path_); }

 private:
  std::string in(const std::string& name) const {
    return (path_ == "/" ? path_ : path_ + "/") + name;
  }

  Storage& storage_;
  std::string path_;
};

}  // namespace

Result<Storage::Target> Storage::target(const std::string& path, bool follow_link) {
  Target target;
  std::string end = path;
  if (auto found = status(path)) {
    target.old = *found;
    if (follow_link) end = TRY(real_path(path));
  } else if (found.error().kind != ErrorKind::not_found) {
    return std::unexpected(found.error());
  }
  target.folder = std::make_unique<FolderByPath>(*this, folder_of(end));
  target.name = std::string(base_name(end));
  return target;
}

}  // namespace gpuready
