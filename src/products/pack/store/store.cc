#include "pack/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/folders.h"
#include "host/lock_wait.h"
#include "host/mapped_file.h"
#include "pack/store/store_fields.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kOwn = ".gpuready";
constexpr const char* kInfoName = "gpu-package-info.json";
constexpr std::string_view kOwnNames[] = {"objects",    "partial", "generations", "current",
                                          "state.json", "lock",    ".next",       kInfoName};

Result<void> unless_code(Result<void> result, int code) {
  if (!result && result.error().code == code) return {};
  return result;
}

VariantNames names_of(const Variant& variant) {
  VariantNames names;
  for (const auto& file : variant.files) {
    names.files.insert(file.path);
    for (auto at = file.path.find('/'); at != file.path.npos; at = file.path.find('/', at + 1))
      names.folders.insert(file.path.substr(0, at));
  }
  return names;
}

// Between 2000 and 2008, so that whatever writes to an object, or restores one, gives it another
// time; and not one for all, because programs that copy compare sizes and times.
std::chrono::sys_seconds object_time(const PackedFile& file) {
  constexpr std::chrono::sys_days kFirst = std::chrono::year(2000) / 1 / 1;
  constexpr std::size_t kDigits = 7;
  const auto digits = file.sha256.value_or("").substr(0, kDigits);
  return kFirst + std::chrono::seconds(std::strtoul(digits.c_str(), nullptr, 16));
}

WriteOptions object_options(const PackedFile& file) {
  // No one writes to what several versions share.
  return {.mode = file.executable ? 0555u : 0444u, .modified = object_time(file)};
}

bool looks_like(const MappedFile& mapped, const PackedFile& file) {
  return mapped.bytes().size() == file.size_bytes && mapped.modified() == object_time(file);
}

constexpr int kDamage = EUCLEAN;  // what filesystems say of themselves

template <class T>
Result<T> or_damage(Result<T> result) {
  if (result) return result;
  return as_damage(std::move(result).error());
}

template <class T>
Result<T> parse_record(const std::string& text, const std::string& path) {
  return value::read_document<T>(TRY(parse_json(text, path)), path);
}

}  // namespace

bool is_damage(const Error& error) { return error.code == kDamage; }
Error as_damage(Error error) {
  if (error.kind == ErrorKind::bad_input || error.kind == ErrorKind::not_found ||
      error.kind == ErrorKind::too_large)
    error.code = kDamage;
  return error;
}

std::string Store::generation_path(std::uint64_t number) const {
  return fmt::format("{}/generations/{}", root_, number);
}
std::string Store::own_path(std::uint64_t number) const {
  return fmt::format("{}/{}/", generation_path(number), kOwn);
}
std::string Store::object_path(const PackedFile& file) const {
  return fmt::format("{}/objects/{}{}", root_, file.sha256.value_or(""),
                     file.executable ? "x" : "");
}

// Whoever names a folder of his own by mistake keeps what is in it: nothing is removed by name
// alone.
Result<void> Store::check_ours() const {
  for (const char* name : {"state.json", "lock"})
    if (host_.exists(fmt::format("{}/{}", root_, name))) return {};
  std::vector<std::string> foreign;
  for (const char* name : {"objects", "generations"})
    if (!host_.list_directory(fmt::format("{}/{}", root_, name))
             .value_or(std::vector<std::string>())
             .empty())
      foreign.emplace_back(name);
  if (foreign.empty()) return {};
  return fail(
      ErrorKind::bad_input,
      fmt::format("{}: holds {} that no package made (there is no state.json): name another "
                  "folder, or move them away",
                  root_, join(foreign, " and ")));
}

// Whoever else may write there could choose what is removed, and what programs load.
Result<void> Store::check_owner() const {
  TRY(host_.check_own(root_ + "/"));
  for (const char* name : {"/objects", "/partial", "/generations", "/state.json"})
    if (const auto own = host_.check_own(root_ + name);
        !own && own.error().kind != ErrorKind::not_found)
      return own;
  return {};
}

Result<std::unique_ptr<Storage::Lock>> Store::open(const LockWait& wait) {
  TRY(check_ours());
  const auto until = deadline_in(wait.limit);
  const auto take = [&]() -> Result<std::unique_ptr<Storage::Lock>> {
    // Whoever held the lock before may have removed them.
    if (const auto made = make_folders(root_, storage_); !made)
      return fail(made.error().kind,
                  fmt::format("{}: the package's folder cannot be made ({}): name one that you may "
                              "write to with --to",
                              root_, made.error().message),
                  made.error().code);
    TRY(check_owner());
    return storage_.lock(root_ + "/lock");  // before all else: it says whose folder this is
  };
  bool waited = false, cancelled = false;
  auto lock = lock_when_free(take, [&] {
    if (!std::exchange(waited, true) && wait.limit.count() > 0 && wait.begins) wait.begins();
    cancelled = wait.cancel != nullptr && *wait.cancel;
    return !cancelled && Clock::now() < until;
  });
  if (cancelled) return fail(ErrorKind::cancelled, root_ + ": interrupted");
  if (!lock && lock.error().kind == ErrorKind::busy)
    return fail(ErrorKind::busy,
                root_ + ": another gpuready changes this package now; try again when it is done");
  if (lock)
    for (const char* name : {"/objects", "/generations"}) TRY(make_folders(root_ + name, storage_));
  return lock;
}

bool Store::exists() const { return host_.exists(root_ + "/generations"); }
bool Store::remembers() const { return host_.exists(root_ + "/state.json"); }

Result<StoreState> Store::state() const {
  const auto path = root_ + "/state.json";
  const auto text = host_.read_believed(path, kMostManifestBytes);
  auto state = text ? parse_record<StoreState>(*text, path)
                    : Result<StoreState>(std::unexpected(text.error()));
  if (!state && state.error().kind == ErrorKind::not_found) return StoreState{};
  if (state && state->highest_version && !parse_version(*state->highest_version))
    state = fail(ErrorKind::bad_input,
                 fmt::format("{}/state.json: highest_version is \"{}\", which is not a version",
                             root_, printable(*state->highest_version)));
  if (!state && state.error().kind == ErrorKind::bad_input)
    return as_damage(
        {ErrorKind::bad_input,
         fmt::format("{}. It remembers the package's key and the highest version seen: put it "
                     "back from a backup, or remove it and install again with --key",
                     state.error().message)});
  return state;
}
Result<void> Store::write_state(const StoreState& state) {
  return write_file_atomically(root_ + "/state.json", dump(value::write_fields(state)), kStoreFile,
                               storage_);
}

Result<std::optional<std::uint64_t>> Store::current() const {
  if (const auto believed = host_.check_believed(root_ + "/");
      !believed && believed.error().kind != ErrorKind::not_found)
    return std::unexpected(believed.error());
  const auto link = host_.read_link(current_path());
  if (!link && link.error().kind == ErrorKind::not_found) return std::nullopt;
  if (!link && link.error().code == EINVAL)
    return as_damage({ErrorKind::bad_input,
                      fmt::format("{}: not a link that gpuready made, but a file or a folder: move "
                                  "it away, and install again",
                                  current_path())});
  if (!link) return std::unexpected(link.error());
  const auto number = after_prefix(*link, "generations/");
  const auto value = number ? parse_uint(*number) : std::nullopt;
  if (!value)
    return as_damage(
        {ErrorKind::bad_input, fmt::format("{}: leads to {}, which gpuready did not make",
                                           current_path(), printable(*link))});
  return value;
}

Result<std::vector<std::uint64_t>> Store::numbers() const {
  std::vector<std::uint64_t> found;
  const auto names = host_.list_directory(root_ + "/generations");
  if (!names && names.error().kind == ErrorKind::not_found) return found;
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names)
    if (const auto number = parse_uint(name)) found.push_back(*number);
  std::ranges::sort(found);
  return found;
}

Result<Installed> Store::installed(std::uint64_t number) const {
  const auto path = own_path(number) + "installed.json";
  const auto text = host_.read_believed(path, kMostManifestBytes);
  if (!text) return as_damage(text.error());
  return or_damage(parse_record<Installed>(*text, path));
}

Result<std::vector<Installed>> Store::installed() const {
  std::vector<Installed> list;
  for (const auto number : TRY(numbers()))
    if (auto one = installed(number)) list.push_back(std::move(*one));
  return list;
}

Result<std::string> Store::manifest_of(std::uint64_t number) const {
  return or_damage(
      host_.read_believed(own_path(number) + std::string(kManifestName), kMostManifestBytes));
}
Result<Manifest> Store::parsed_manifest(std::uint64_t number) const {
  return or_damage(
      parse_manifest(TRY(manifest_of(number)), own_path(number) + std::string(kManifestName)));
}

bool Store::has(const PackedFile& file) const {
  const auto path = object_path(file);
  const auto status = host_.status(path);
  if (!status || status->size_bytes != file.size_bytes || !host_.check_own(path)) return false;
  const auto mapped = MappedFile::open(path);
  return mapped && to_hex(sha256(mapped->bytes())) == file.sha256;
}

bool Store::looks_unchanged(const PackedFile& file) const {
  const auto mapped = MappedFile::open(object_path(file));
  return mapped && looks_like(*mapped, file);
}

Result<AtomicFile> Store::new_object(const PackedFile& file) {
  return AtomicFile::create(object_path(file), object_options(file), storage_);
}

std::string Store::piece_path(const PackedFile& file, const std::string& piece) const {
  return fmt::format("{}/partial/{}-{}", root_, file.sha256.value_or(""), piece);
}

Result<Store::Piece> Store::continue_piece(const PackedFile& file, const std::string& piece,
                                           std::uint64_t bytes) {
  const auto path = piece_path(file, piece);
  const auto kept = host_.read_own_file(path, bytes).value_or("");
  if (kept.size() == bytes && bytes > 0) return Piece{nullptr, bytes};
  TRY(make_folders(root_ + "/partial", storage_, 0700));
  TRY(unless_code(storage_.unlink(path), ENOENT));
  auto rest = TRY(storage_.create(path, 0600));
  TRY(rest->write(kept));
  return Piece{std::move(rest), kept.size()};
}

Result<void> Store::remove_piece(const PackedFile& file, const std::string& piece) {
  return unless_code(storage_.unlink(piece_path(file, piece)), ENOENT);
}

Result<void> Store::place(const PackedFile& file, const std::string& folder) {
  const auto path = folder + "/" + file.path;
  if (file.link) return storage_.symlink(*file.link, path);
  const auto linked = storage_.link(object_path(file), path);
  // A filesystem without hard links, or a file with as many as it may have: a copy.
  if (linked || (linked.error().code != EOPNOTSUPP && linked.error().code != EMLINK)) return linked;
  const auto source = TRY(MappedFile::open(object_path(file)));
  auto copy = TRY(AtomicFile::create(path, object_options(file), storage_));
  const auto bytes = source.bytes();
  TRY(copy.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  return copy.commit();
}

Result<std::uint64_t> Store::stage(const Variant& variant) {
  const auto all = TRY(numbers());
  // Never what `current` leads to, also where that folder is gone.
  const auto now = TRY(current());
  const auto number = std::max(all.empty() ? 0 : all.back(), now.value_or(0)) + 1;
  const auto folder = generation_path(number);
  std::set<std::string> folders = {folder, folder + "/" + std::string(kOwn)};
  for (const auto& each : names_of(variant).folders) folders.insert(folder + "/" + each);
  for (const auto& each : folders) TRY(storage_.make_folder(each, 0755));  // sorted: parents first
  for (const auto& file : variant.files) TRY(place(file, folder));
  for (const auto& each : folders) TRY(storage_.sync_folder(each));
  TRY(storage_.sync_folder(root_ + "/generations"));
  return number;
}

Result<void> Store::complete(const Installed& installed, const std::string& manifest,
                             const std::string& signature, const std::string& info) {
  const auto folder = own_path(installed.number);
  TRY(write_file_atomically(folder + std::string(kManifestName), manifest, kStoreFile, storage_));
  TRY(write_file_atomically(folder + std::string(kSignatureName), signature, kStoreFile, storage_));
  TRY(write_info(installed.number, info));
  return write_file_atomically(folder + "installed.json", dump(value::write_fields(installed)),
                               kStoreFile, storage_);
}

Result<std::string> Store::info_of(std::uint64_t number) const {
  return host_.read_believed(own_path(number) + kInfoName);
}
Result<void> Store::write_info(std::uint64_t number, const std::string& info) {
  return write_file_atomically(own_path(number) + kInfoName, info, kStoreFile, storage_);
}

Result<void> Store::activate(std::uint64_t number) {
  const auto next = root_ + "/.next";
  TRY(unless_code(storage_.unlink(next), ENOENT));
  TRY(storage_.symlink(fmt::format("generations/{}", number), next));
  TRY(storage_.rename(next, current_path(), OnExisting::replace));
  return storage_.sync_folder(root_);
}

Result<void> Store::remove_generation(std::uint64_t number) {
  TRY(host_.check_own(generation_path(number)));
  // What says that it is whole goes first.
  TRY(remove_tree(host_, storage_, fmt::format("{}/{}", generation_path(number), kOwn)));
  return remove_tree(host_, storage_, generation_path(number));
}

Result<void> Store::remove_incomplete() {
  const auto now = TRY(current());
  for (const auto number : TRY(numbers()))
    if (number != now && !installed(number)) TRY(remove_generation(number));
  return {};
}

Result<StoreOutcome> Store::remove_unused_objects() {
  std::set<std::string> kept;
  for (const auto& each : TRY(installed())) {
    const auto manifest = TRY(parsed_manifest(each.number));
    const auto variant = manifest.find(each.variant);
    if (!variant) continue;
    for (const auto& file : variant->files)
      if (!file.link) kept.insert(object_path(file));
    for (const auto& pieces : variant->pieces) kept.insert(object_path(pieces.index()));
  }
  StoreOutcome outcome;
  TRY(remove_tree(host_, storage_, root_ + "/partial"));
  for (const auto& name : TRY(host_.list_directory(root_ + "/objects"))) {
    const auto path = root_ + "/objects/" + name;
    if (kept.contains(path)) continue;
    const auto status = host_.status(path);
    TRY(storage_.unlink(path));
    ++outcome.files;
    outcome.bytes += status ? status->size_bytes : 0;
  }
  return outcome;
}

Result<void> Store::remove_versions() {
  TRY(unless_code(storage_.unlink(current_path()), ENOENT));
  for (const char* name : {"/.next", "/objects", "/partial", "/generations"})
    TRY(remove_tree(host_, storage_, root_ + name));
  return {};
}

Result<void> Store::remove_all() {
  TRY(remove_versions());
  for (const char* name : {"/state.json", "/lock"}) TRY(remove_tree(host_, storage_, root_ + name));
  // A link to the folder is its owner's, and stays.
  return unless_code(unless_code(storage_.remove_folder(root_), ENOTEMPTY), ENOTDIR);
}

bool Store::is_whole(std::uint64_t number, const Variant& variant, bool hash_all) const {
  return std::ranges::all_of(variant.files, [&](const PackedFile& file) {
    const auto path = generation_path(number) + "/" + file.path;
    if (file.link) return host_.read_link(path).value_or("") == *file.link;
    const auto mapped = MappedFile::open(path);
    return mapped && ((!hash_all && looks_like(*mapped, file)) ||
                      to_hex(sha256(mapped->bytes())) == file.sha256);
  });
}

std::vector<Store::Damage> Store::damaged(std::uint64_t number, const Variant& variant) const {
  std::vector<Damage> wrong;
  for (const auto& file : variant.files) {
    const auto path = generation_path(number) + "/" + file.path;
    if (file.link) {
      const auto link = host_.read_link(path);
      if (!link || *link != *file.link)
        wrong.push_back({&file, path + ": the link is missing or leads elsewhere"});
      continue;
    }
    const auto believed = host_.check_believed(path);
    const auto mapped = MappedFile::open(path);
    if (mapped && !believed)
      wrong.push_back({&file, believed.error().message});
    else if (!mapped)
      wrong.push_back({&file, mapped.error().message});
    else if (to_hex(sha256(mapped->bytes())) != file.sha256)
      wrong.push_back({&file, path + ": its content was changed"});
  }
  return wrong;
}

Result<void> Store::look_for_added(const std::string& folder, const std::string& inside,
                                   const VariantNames& names,
                                   std::vector<std::string>& found) const {
  for (const auto& name : TRY(host_.list_directory(folder))) {
    const auto path = inside + name, full = folder + "/" + name;
    if (path == kOwn || names.files.contains(path)) continue;
    const auto status = host_.status(full);
    if (names.folders.contains(path) && !host_.read_link(full) && status &&
        status->kind == FileKind::directory)
      TRY(look_for_added(full, path + "/", names, found));
    else
      found.push_back(full);
  }
  return {};
}
Result<std::vector<std::string>> Store::added(std::uint64_t number, const Variant& variant) const {
  std::vector<std::string> found;
  TRY(look_for_added(generation_path(number), "", names_of(variant), found));
  return found;
}

std::vector<std::string> Store::foreign() const {
  auto names = host_.list_directory(root_).value_or(std::vector<std::string>());
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::find(kOwnNames, name) != std::end(kOwnNames) ||
           name.starts_with(".gpuready-");
  });
  return names;
}

Result<void> Store::forget_object(const PackedFile& file) {
  if (file.link || !host_.exists(object_path(file))) return {};
  return storage_.unlink(object_path(file));
}

}  // namespace gpuready::pack
