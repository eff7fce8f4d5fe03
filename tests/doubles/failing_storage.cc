#include "doubles/failing_storage.h"

#include <cerrno>

namespace gpuready {

Result<void> FailingStorage::enter(StorageCall call, const std::string& path) {
  using Kind = StorageFault::Kind;
  const std::size_t number = ++calls_;
  if (before_call) before_call(call);
  const bool fails =
      fault_.at != 0 && (number == fault_.at || (number > fault_.at && fault_.kind != Kind::once));
  if (fails && fault_.kind == Kind::killed) return fail(ErrorKind::cancelled, path + ": killed");
  if (fails) return fail_errno(path, fault_.error_number);
  if (unsupported_.contains(call)) return fail_errno(path, EOPNOTSUPP);
  return {};
}

class FailingStorage::FailingFile final : public Storage::File {
 public:
  FailingFile(FailingStorage& storage, std::unique_ptr<File> file, std::string path)
      : storage_(storage), file_(std::move(file)), path_(std::move(path)) {}

  Result<void> write(std::string_view bytes) override {
    const auto entered = storage_.enter(StorageCall::write, path_);
    if (entered) return file_->write(bytes);
    if (storage_.calls_ == storage_.fault_.at) TRY(file_->write(bytes.substr(0, bytes.size() / 2)));
    return entered;
  }
  Result<void> set_mode(std::uint32_t mode) override {
    TRY(storage_.enter(StorageCall::set_mode, path_));
    return file_->set_mode(mode);
  }
  Result<void> set_modified(std::chrono::sys_seconds time) override {
    TRY(storage_.enter(StorageCall::set_mode, path_));
    return file_->set_modified(time);
  }
  Result<void> take_owner_of(const std::string& name) override {
    TRY(storage_.enter(StorageCall::set_mode, path_));
    return file_->take_owner_of(name);
  }
  Result<void> sync() override {
    TRY(storage_.enter(StorageCall::sync, path_));
    return file_->sync();
  }
  Result<void> link(const std::string& name) override {
    TRY(storage_.enter(StorageCall::link, name));
    return file_->link(name);
  }

 private:
  FailingStorage& storage_;
  std::unique_ptr<File> file_;
  std::string path_;
};

Result<std::unique_ptr<Storage::File>> FailingStorage::wrapped(Result<std::unique_ptr<File>> file,
                                                               const std::string& path) {
  if (!file) return file;
  return std::make_unique<FailingFile>(*this, std::move(*file), path);
}

Result<std::unique_ptr<Storage::File>> FailingStorage::create(const std::string& path,
                                                              std::uint32_t mode) {
  TRY(enter(StorageCall::create, path));
  return wrapped(inner_.create(path, mode), path);
}
Result<std::unique_ptr<Storage::File>> FailingStorage::create_unnamed(const std::string& folder,
                                                                      std::uint32_t mode) {
  TRY(enter(StorageCall::create_unnamed, folder));
  return wrapped(inner_.create_unnamed(folder, mode), folder);
}
Result<void> FailingStorage::link(const std::string& from, const std::string& to) {
  TRY(enter(StorageCall::link, to));
  return inner_.link(from, to);
}
Result<void> FailingStorage::rename(const std::string& from, const std::string& to,
                                    OnExisting existing) {
  TRY(enter(existing == OnExisting::replace ? StorageCall::rename : StorageCall::rename_no_replace,
            to));
  return inner_.rename(from, to, existing);
}
Result<void> FailingStorage::symlink(const std::string& target, const std::string& path) {
  TRY(enter(StorageCall::symlink, path));
  return inner_.symlink(target, path);
}
Result<void> FailingStorage::remove_folder(const std::string& path) {
  TRY(enter(StorageCall::remove_folder, path));
  return inner_.remove_folder(path);
}
Result<void> FailingStorage::unlink(const std::string& path) {
  TRY(enter(StorageCall::unlink, path));
  return inner_.unlink(path);
}
Result<void> FailingStorage::sync_folder(const std::string& path) {
  TRY(enter(StorageCall::sync_folder, path));
  return inner_.sync_folder(path);
}
Result<void> FailingStorage::make_folder(const std::string& path, std::uint32_t mode) {
  TRY(enter(StorageCall::make_folder, path));
  return inner_.make_folder(path, mode);
}
Result<std::unique_ptr<Storage::Lock>> FailingStorage::lock(const std::string& path) {
  TRY(enter(StorageCall::lock, path));
  return inner_.lock(path);
}
Result<void> FailingStorage::write_attribute(const std::string& path, std::string_view bytes) {
  TRY(enter(StorageCall::write_attribute, path));
  return inner_.write_attribute(path, bytes);
}
Result<void> FailingStorage::append(const std::string& path, std::string_view bytes,
                                    std::chrono::milliseconds patience) {
  TRY(enter(StorageCall::append, path));
  return inner_.append(path, bytes, patience);
}
Result<FileStatus> FailingStorage::status(const std::string& path) {
  TRY(enter(StorageCall::status, path));
  return inner_.status(path);
}
Result<std::string> FailingStorage::real_path(const std::string& path) {
  TRY(enter(StorageCall::real_path, path));
  return inner_.real_path(path);
}
Result<FileSystemSpace> FailingStorage::space(const std::string& folder) {
  TRY(enter(StorageCall::space, folder));
  return free_space ? *free_space : inner_.space(folder);
}

}  // namespace gpuready
