#include "host/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace gpuready {
namespace {

constexpr int kNamesTried = 10'000;
constexpr std::uint32_t kPermissions = 0777;  // what a new file takes over from an old one

}  // namespace

struct AtomicFile::State {
  State(Storage& to, std::string shown, WriteOptions how)
      : storage(to), options(how), path(std::move(shown)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    file.reset();
    if (!temporary.empty()) (void)target.folder->unlink(temporary);
  }

  Result<void> open();
  Result<void> commit();

 private:
  // Calls `take` with names until one was free, which is then the temporary's.
  template <class Take>
  Result<void> take_temporary_name(Take take);
  Result<void> publish_unnamed();
  Result<void> publish_named();
  Result<void> rename_to_target(OnExisting existing);
  // What the caller gets: the file that it asked for, not a temporary.
  std::unexpected<Error> cannot_write(const Error& error) const {
    if (error.code == 0) return std::unexpected(error);
    return fail_errno("cannot write " + path, error.code);
  }

 public:
  Storage& storage;
  WriteOptions options;
  std::string path;  // as it was asked for
  Storage::Target target;
  std::unique_ptr<Storage::File> file;
  std::string temporary;  // while the new file has such a name
};

template <class Take>
Result<void> AtomicFile::State::take_temporary_name(Take take) {
  const std::string stem = ".gpuready-" + std::to_string(getpid()) + "-";
  Result<void> taken;
  for (int i = 0; i < kNamesTried; ++i) {
    const std::string name = stem + std::to_string(i) + ".tmp";
    taken = take(name);
    if (taken) temporary = name;
    if (taken || taken.error().code != EEXIST) break;
  }
  return taken;
}

Result<void> AtomicFile::State::open() {
  auto found = storage.target(path, options.follow_link);
  if (!found) return cannot_write(found.error());
  target = std::move(*found);
  const auto& old = target.old;
  if (old && old->kind != FileKind::regular && (old->kind != FileKind::link || options.follow_link))
    return fail(ErrorKind::bad_input, path + ": not a regular file, so it is not written over");
  if (old && options.on_existing == OnExisting::fail)
    return fail_errno("cannot write " + path, EEXIST);
  const std::uint32_t mode = old || options.private_to_user ? 0600 : 0666;
  auto unnamed = target.folder->create_unnamed(mode);
  if (unnamed) {
    file = std::move(*unnamed);
    return {};
  }
  if (unnamed.error().code != EOPNOTSUPP) return cannot_write(unnamed.error());
  const auto created = take_temporary_name([&](const std::string& name) -> Result<void> {
    file = TRY(target.folder->create(name, mode));
    return {};
  });
  if (!created) return cannot_write(created.error());
  return {};
}

Result<void> AtomicFile::State::commit() {
  Result<void> done;
  if (target.old && options.keep_owner) done = file->take_owner_of(target.name);
  if (!done) return cannot_write(done.error());
  if (options.mode)
    done = file->set_mode(*options.mode);
  else if (target.old && !options.private_to_user)
    done = file->set_mode(target.old->mode & kPermissions);
  if (done && options.modified) done = file->set_modified(*options.modified);
  if (done) done = file->sync();
  if (done) done = temporary.empty() ? publish_unnamed() : publish_named();
  if (!done) return cannot_write(done.error());
  const auto synced = target.folder->sync();
  if (synced || synced.error().code == 0) return synced;
  return fail_errno(path + " is written, but a loss of power may undo that", synced.error().code);
}

Result<void> AtomicFile::State::publish_unnamed() {
  if (!target.old) {
    const auto linked = file->link(target.name);
    if (linked || options.on_existing == OnExisting::fail || linked.error().code != EEXIST)
      return linked;
  }
  // rename() alone replaces a file, and it wants a name.
  TRY(take_temporary_name([&](const std::string& name) { return file->link(name); }));
  return rename_to_target(OnExisting::replace);
}

Result<void> AtomicFile::State::publish_named() {
  const auto renamed = rename_to_target(options.on_existing);
  if (renamed || options.on_existing == OnExisting::replace || renamed.error().code != EOPNOTSUPP)
    return renamed;
  const auto linked = target.folder->link(temporary, target.name);
  if (linked && target.folder->unlink(temporary)) temporary.clear();
  if (linked || linked.error().code != EOPNOTSUPP) return linked;
  const auto taken = TRY(storage.target(path, options.follow_link));
  if (taken.old) return fail_errno(path, EEXIST);
  return rename_to_target(OnExisting::replace);
}

Result<void> AtomicFile::State::rename_to_target(OnExisting existing) {
  TRY(target.folder->rename(temporary, target.name, existing));
  temporary.clear();
  return {};
}

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

Result<AtomicFile> AtomicFile::create(const std::string& path, WriteOptions options,
                                      Storage& storage) {
  auto state = std::make_unique<State>(storage, path, options);
  TRY(state->open());
  return AtomicFile(std::move(state));
}

Result<void> AtomicFile::write(std::string_view bytes) {
  const auto written = state_->file->write(bytes);
  if (written || written.error().code == 0) return written;
  return fail_errno("cannot write " + state_->path, written.error().code);
}

Result<void> AtomicFile::commit() { return state_->commit(); }

Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                   WriteOptions options, Storage& storage) {
  auto file = TRY(AtomicFile::create(path, options, storage));
  TRY(file.write(bytes));
  return file.commit();
}

}  // namespace gpuready
