#include "pack/store/install.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/units.h"
#include "host/folders.h"
#include "pack/release/key_chain.h"
#include "pack/release/recipe.h"
#include "pack/store/installed.h"

namespace gpuready::pack {
namespace {

// Left free beside what is written.
constexpr std::uint64_t kSpareBytes = 64 * MiB;

Result<std::int64_t> now_of(Host& host) { return TRY(host.identity()).unix_seconds; }

// The range as the seed's installers write it: "sm_75-86".
std::string architecture_range(const Variant& variant) {
  std::vector<CudaTarget> targets;
  for (const auto& text : variant.architectures)
    if (const auto architecture = parse_architecture(text)) targets.push_back(architecture->target);
  if (targets.empty()) return "cpu";
  const auto [least, most] = std::ranges::minmax(targets);
  return least == most ? least.sm() : fmt::format("{}-{}", least.sm(), most.number());
}

std::string info_text(const Manifest& manifest, const Variant& variant, const Installed& installed,
                      const InstallTarget& target, const Places& places) {
  Json doc;
  doc["variant"] = variant.name;
  doc["architectures"] = architecture_range(variant);
  if (const auto capability = target.compute_capability
                                  ? parse_cuda_target(*target.compute_capability)
                                  : std::nullopt) {
    doc["smVersion"] = capability->major * 10 + capability->minor;
    doc["computeCap"] = capability->capability();
  }
  put(doc, "gpuName", target.gpu_name);
  put(doc, "model", installed.model);
  doc["version"] = manifest.version;
  const auto folders =
      library_folders(places.store + "/current", *manifest.find(members_of(variant.name).front()));
  doc["libsPath"] = folders.empty() ? places.store + "/current" : folders.front();
  doc["installedAt"] = installed.installed_utc;
  return dump(doc);
}

Result<void> make_info_folder(const Places& places, Storage& storage) {
  return make_folders(places.info.substr(0, places.info.rfind('/')), storage);
}

// Before anything is switched over: whether gpu-package-info.json can be written.
Result<void> prepare_info(const Places& places, Storage& storage) {
  if (places.info.empty()) return {};
  const auto begun = [&]() -> Result<AtomicFile> {
    TRY(make_info_folder(places, storage));
    return AtomicFile::create(places.info, kStoreFile, storage);  // nothing is left of it
  }();
  if (begun) return {};
  return fail(ErrorKind::io,
              fmt::format("{}: programs look there for what is installed, and it cannot be written "
                          "({}): move away what is in its place, or name another folder with --to",
                          places.info, begun.error().message),
              begun.error().code);
}

Result<void> write_info(Host& host, const Places& places, const std::string& text,
                        Storage& storage) {
  if (places.info.empty() || host.read_file(places.info).value_or("") == text) return {};
  TRY(make_info_folder(places, storage));
  return write_file_atomically(places.info, text, kStoreFile, storage);
}

bool may_not_write(const Error& error) {
  return error.code == EROFS || error.code == EACCES || error.code == EPERM;
}

// All versions but the current one and the one before it go, and the objects that neither needs.
Result<Collected> keep_two(Store& store) {
  std::set<std::uint64_t> kept;
  if (const auto current = TRY(store.current())) {
    kept.insert(*current);
    // What it needs, and which one was before it, is not guessed.
    const auto now = read_current(store);
    if (!now)
      return Error{now.error().kind,
                   now.error().message + ". Nothing was removed: install again first",
                   now.error().code};
    if (now->installed.previous) kept.insert(*now->installed.previous);
  }
  Collected collected;
  TRY(store.remove_incomplete());
  for (const auto& each : TRY(store.installed())) {
    if (kept.contains(each.number)) continue;
    TRY(store.remove_generation(each.number));
    collected.generations.push_back(each.number);
  }
  collected.objects = TRY(store.remove_unused_objects());
  return collected;
}

class Installer {
 public:
  Installer(Host& host, Origin& origin, const Release& release, const InstallTarget& target,
            const InstallOptions& options)
      : host_(host),
        origin_(origin),
        release_(release),
        target_(target),
        options_(options),
        store_(host, *options.storage, options.places.store) {}

  InstallOutcome run() {
    if (const auto done = steps(); !done) outcome_.error = done.error();
    return std::move(outcome_);
  }

 private:
  // Each step says what it means when it fails: outcome_.end is set before.
  Result<void> steps() {
    outcome_.folder = store_.current_path();
    variant_ = release_.manifest.find(target_.variant);
    if (!variant_)
      return fail(ErrorKind::bad_input,
                  fmt::format("the release has no variant {}", target_.variant));
    std::unique_ptr<Storage::Lock> lock;
    if (!options_.dry_run) {
      auto opened = store_.open(options_.wait);
      if (!opened && may_not_write(opened.error()) && check_version() &&
          is_current().value_or(false)) {
        (void)find_missing(true);
        outcome_.notes.push_back(opened.error().message);
        outcome_.end = InstallEnd::unchanged;
        return {};
      }
      lock = TRY(std::move(opened));
    }
    outcome_.end = InstallEnd::refused;
    TRY(check_version());
    outcome_.end = InstallEnd::failed;
    const bool unchanged = TRY(is_current());
    const auto missing = TRY(find_missing(unchanged));
    if (unchanged) {
      if (options_.always_test && !options_.dry_run) TRY(test(*outcome_.installed));
      if (!options_.dry_run) tell_programs(renew_info());
      outcome_.end = InstallEnd::unchanged;
      return {};
    }
    TRY(check_space());
    if (options_.dry_run) {
      TRY(fetch(missing));
      outcome_.end = InstallEnd::planned;
      return {};
    }
    TRY(prepare_info(options_.places, *options_.storage));
    // From here on no older release is accepted, whatever becomes of this one.
    TRY(store_.write_state(state_));
    TRY(store_.remove_incomplete());
    TRY(fetch(missing));
    return switch_over();
  }

  Result<void> check_version() {
    state_ = TRY(store_.state());
    TRY(check_history(state_, release_, store_.root(), origin_.where()));
    state_.name = release_.manifest.name;
    state_.key = release_.key.text();
    state_.highest_version = release_.manifest.version;
    state_.highest_sha256 = to_hex(sha256(release_.text));
    return {};
  }

  // Where a version changes, each object is hashed before it becomes a part of the new one.
  Result<std::vector<const PackedFile*>> find_missing(bool unchanged) {
    std::vector<const PackedFile*> missing;
    std::set<std::string> counted;
    for (const auto& file : variant_->files) {
      ++outcome_.files;
      if (file.link) continue;
      outcome_.content_bytes += file.size_bytes;
      if (unchanged || store_.has(file)) {
        ++outcome_.reused_files;
        continue;
      }
      missing.push_back(&file);
      if (!counted.insert(store_.object_path(file)).second) continue;
      largest_frame_bytes_ = std::max(largest_frame_bytes_, file.frame_bytes);
      to_write_bytes_ += file.size_bytes;
    }
    return missing;
  }

  Result<bool> is_current() {
    previous_ = TRY(store_.current());
    if (!previous_) return false;
    const auto now = store_.installed(*previous_);
    if (!now || now->variant != variant_->name) return false;
    if (store_.manifest_of(*previous_).value_or("") != release_.text) return false;
    if (!store_.is_whole(*previous_, *variant_, options_.verify)) return false;
    if (const auto added = store_.added(*previous_, *variant_); !added || !added->empty())
      return false;
    // One that `verify` has found damaged is gone from the objects.
    if (!std::ranges::all_of(variant_->files, [&](const auto& file) {
          return file.link || host_.exists(store_.object_path(file));
        }))
      return false;
    outcome_.installed = *now;
    return true;
  }

  // Of the nearest folder that exists.
  Result<void> check_space() {
    auto folder = store_.root();
    while (!host_.exists(folder) && folder.rfind('/') != 0 && folder.rfind('/') != folder.npos)
      folder.resize(folder.rfind('/'));
    const auto space = options_.storage->space(host_.exists(folder) ? folder : "/");
    // Pieces of a large file stay until it is unpacked, while the next one begins.
    const auto needed = to_write_bytes_ + (origin_.is_local() ? 0 : 2 * largest_frame_bytes_);
    if (!space || space->available_bytes >= needed + kSpareBytes || needed == 0) return {};
    return fail(
        ErrorKind::io,
        fmt::format(
            "{}: {} are free, and {} are written: make room, or name another folder with --to",
            store_.root(), format_bytes(space->available_bytes), format_bytes(needed)),
        ENOSPC);
  }

  // Large files of the current version that the new one lacks: their pieces may be in its files.
  std::vector<std::string> old_files() const {
    std::vector<std::string> paths;
    if (!previous_) return paths;
    const auto now = read_current(store_);
    if (!now) return paths;
    const auto old = now->variant();
    std::set<std::string> kept;
    for (const auto& file : variant_->files) kept.insert(file.sha256.value_or(""));
    for (const auto& file : old.files)
      if (file.is_cut() && !kept.contains(*file.sha256)) paths.push_back(store_.object_path(file));
    return paths;
  }

  Result<void> fetch(const std::vector<const PackedFile*>& missing) {
    FetchOptions options{.at_once = options_.at_once,
                         .cancel = options_.cancel,
                         .limit = options_.fetch_limit,
                         .old_files = old_files(),
                         .only_plan = options_.dry_run};
    if (options_.progress)
      options.progress = [this](std::uint64_t bytes, std::uint64_t of_all) {
        options_.progress("fetching", std::min(bytes, of_all), of_all);
      };
    const auto fetched = fetch_files(origin_, *variant_, missing, store_, options);
    if (!fetched && fetched.error().kind == ErrorKind::bad_input)
      outcome_.end = InstallEnd::refused;
    const auto done = TRY(fetched);
    outcome_.to_fetch_bytes = done.to_fetch_bytes;
    outcome_.fetched_bytes = done.fetched_bytes;
    outcome_.written_bytes = done.written_bytes;
    outcome_.without_ranges = done.without_ranges;
    return {};
  }

  Result<void> switch_over() {
    Installed installed;
    // What root installs is for all users' programs, and its load test runs as another one.
    const auto mask = ::umask(022);
    if (::geteuid() != 0) ::umask(mask);
    const auto staged = store_.stage(*variant_);
    ::umask(mask);
    installed.number = TRY(staged);
    installed.name = release_.manifest.name;
    installed.version = release_.manifest.version;
    installed.variant = variant_->name;
    installed.installed_utc = format_utc(TRY(now_of(host_)));
    // A folder from wherever it is asked for again.
    installed.from = host_.exists(origin_.where())
                         ? std::filesystem::absolute(origin_.where()).string()
                         : origin_.where();
    installed.previous = previous_;
    installed.gpus = target_.gpus;
    installed.machine = target_.machine;
    if (const auto tested = test(installed); !tested) {
      TRY(store_.remove_generation(installed.number));
      return tested;
    }
    const auto info = info_text(release_.manifest, *variant_, installed, target_, options_.places);
    TRY(store_.complete(installed, release_.text, release_.signature, info));
    TRY(store_.activate(installed.number));
    outcome_.installed = std::move(installed);
    outcome_.end = InstallEnd::installed;
    tell_programs(write_info(host_, options_.places, info, *options_.storage));
    if (const auto foreign = store_.foreign(); !foreign.empty())
      outcome_.notes.push_back(fmt::format(
          "{} also holds {}{}, which gpuready did not install. Programs use {}: remove the others "
          "if an earlier installer left them.",
          store_.root(), foreign.front(),
          foreign.size() > 1 ? fmt::format(" and {} more", foreign.size() - 1) : "",
          store_.current_path()));
    if (const auto kept = keep_two(store_); !kept)
      outcome_.notes.push_back("Versions before the previous one are still there: " +
                               kept.error().message);
    return {};
  }

  Result<void> test(Installed& installed) {
    if (!target_.plans) {
      if (!target_.models.empty()) installed.model = target_.models.front().model.name;
      return {};
    }
    installed.loads.clear();
    for (const auto& plan : target_.plans(store_.generation_path(installed.number), *variant_)) {
      if (options_.progress) options_.progress("testing", 0, 0);
      installed.loads.push_back(options_.load_test(plan));
      const auto& result = installed.loads.back();
      outcome_.tried.push_back({variant_->name, plan, result});
      if (!result.failure) continue;
      outcome_.end = InstallEnd::not_loaded;
      outcome_.installed = installed;
      return fail(ErrorKind::unsupported,
                  fmt::format("variant {} does not load on {}: {}; what was installed before stays",
                              variant_->name, result.name.empty() ? result.device : result.name,
                              *result.failure));
    }
    return choose_model(installed);
  }

  Result<void> choose_model(Installed& installed) {
    installed.model.reset();
    const auto folder = store_.generation_path(installed.number);
    for (auto plan : target_.models) {
      plan.folder = folder;
      plan.library_folders =
          library_folders(folder, *release_.manifest.find(members_of(variant_->name).front()));
      if (options_.progress) options_.progress("loading model " + plan.model.name, 0, 0);
      const auto failure =
          plan.model.load.empty() ? std::nullopt : options_.model_test(plan, options_.cancel);
      if (options_.cancel != nullptr && *options_.cancel)
        return fail(ErrorKind::cancelled, "cancelled; what was installed before stays");
      if (!failure) {
        installed.model = plan.model.name;
        return {};
      }
      outcome_.rejected_models.push_back(
          fmt::format("model {} does not load: {}", plan.model.name, *failure));
    }
    if (outcome_.rejected_models.empty()) return {};
    outcome_.end = InstallEnd::not_loaded;
    outcome_.installed = installed;
    return fail(ErrorKind::unsupported,
                fmt::format("variant {}: {}; what was installed before stays", variant_->name,
                            join(outcome_.rejected_models, "; ")));
  }

  Result<void> renew_info() {
    const auto& now = *outcome_.installed;
    const auto text = info_text(release_.manifest, *variant_, now, target_, options_.places);
    if (store_.info_of(now.number).value_or("") != text) TRY(store_.write_info(now.number, text));
    return write_info(host_, options_.places, text, *options_.storage);
  }

  // The version is current: a failed information file undoes nothing.
  void tell_programs(const Result<void>& told) {
    if (!told)
      outcome_.notes.push_back(
          fmt::format("{} is not written, so programs that read it do not see this version: {}. "
                      "Fix that, and install again.",
                      options_.places.info, told.error().message));
  }

  Host& host_;
  Origin& origin_;
  const Release& release_;
  const InstallTarget& target_;
  const InstallOptions& options_;
  Store store_;
  StoreState state_;
  std::optional<Variant> variant_ = {};  // that is installed, or the set of them
  std::optional<std::uint64_t> previous_;
  std::uint64_t to_write_bytes_ = 0, largest_frame_bytes_ = 0;
  InstallOutcome outcome_;
};

Result<PublicKey> remembered_key(Host& host, const std::string& text, const std::string& where,
                                 std::string store) {
  // The name is not trusted yet: it only says where the trusted key would be.
  const auto manifest = TRY(parse_manifest(text, where));
  if (store.empty()) store = TRY(default_places(host, manifest.name)).store;
  const auto state = TRY(Store(host, live_storage(), store).state());
  if (!state.key)
    return fail(ErrorKind::bad_input,
                fmt::format("no key is trusted for {} yet: give the maker's public key with --key "
                            "(from where you trust it, not from {})",
                            manifest.name, where));
  return parse_public_key(*state.key, store + "/state.json");
}

// The newest key that the trusted one leads to by the release's own chain of keys.
Result<std::optional<PublicKey>> successor(Origin& origin, const Release& release) {
  const auto text = origin.file(std::string(kKeyChainName), kMostKeyChainBytes);
  if (!text && text.error().kind == ErrorKind::not_found) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  const auto chain = parse_key_chain(*text, kKeyChainName);
  if (!chain) return std::nullopt;  // the signature's own error says more
  const auto newest = newest_key(*chain, chain->package, release.key);
  // The manifest is not trusted yet; its name is that of the chain, or the chain is another's.
  const auto manifest = parse_manifest(release.text, kManifestName);
  if (!manifest || manifest->name != chain->package || newest == release.key) return std::nullopt;
  return newest;
}

// "1, 2, 5"
std::string numbers_text(const std::vector<Installed>& versions) {
  std::vector<std::string> texts;
  for (const auto& each : versions) texts.push_back(std::to_string(each.number));
  return join(texts, ", ");
}

}  // namespace

Result<std::string> home_folder(Host& host) {
  const auto home = host.environment("HOME");
  if (!home || !home->starts_with('/'))
    return fail(ErrorKind::bad_input, "HOME is not set: name the folder with --to");
  return *home;
}

Result<void> check_searchable(const std::string& folder) {
  if (folder.find_first_of(":;") == folder.npos) return {};
  return fail(ErrorKind::bad_input,
              folder +
                  ": the system's loader splits LD_LIBRARY_PATH at ':' and ';', so nothing "
                  "would be found there: name another folder with --to");
}

Result<Places> default_places(Host& host, const std::string& name) {
  if (const auto wrong = wrong_with_name(name))
    return fail(ErrorKind::bad_input, name + ": " + *wrong);
  const auto home = TRY(home_folder(host));
  return Places{fmt::format("{}/.local/share/{}/gpu-libs", home, name),
                fmt::format("{}/.config/{}/gpu-package-info.json", home, name)};
}

Result<Release> read_release(Host& host, Origin& origin, const std::optional<PublicKey>& key,
                             const std::string& store) {
  const auto where =
      origin.where() + (origin.where().ends_with('/') ? "" : "/") + std::string(kManifestName);
  Release release;
  Result<std::string> signed_by = fail(ErrorKind::bad_input, where);
  // A release that is being published has its manifest for a moment before its signature.
  for (int attempt = 0; attempt < 2 && !signed_by; ++attempt) {
    // Both at once: over one connection the second answer may wait 40 ms for our acknowledgement
    // of the first, where the server sends its headers by themselves.
    auto signature = std::async(std::launch::async, [&] {
      return origin.file(std::string(kSignatureName), kMostSignatureBytes);
    });
    release.text = TRY(origin.file(std::string(kManifestName), kMostManifestBytes));
    release.signature = TRY(signature.get());
    release.key = key ? *key : TRY(remembered_key(host, release.text, where, store));
    signed_by = verify_signature(release.key, release.text, release.signature, where);
    if (!signed_by)
      if (const auto newer = TRY(successor(origin, release))) {
        release.key = *newer;
        signed_by = verify_signature(release.key, release.text, release.signature, where);
      }
  }
  TRY(signed_by);
  release.manifest = TRY(parse_manifest(release.text, where));
  if (TRY(now_of(host)) > *parse_utc(release.manifest.expires_utc))
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: the release expired on {}: a server that is not kept up may hide a "
                    "repair; ask its maker for a new one",
                    where, release.manifest.expires_utc));
  return release;
}

Result<void> check_history(const StoreState& seen, const Release& release, const std::string& store,
                           const std::string& where) {
  const auto& offered = release.manifest;
  if (!seen.name.empty() && seen.name != offered.name)
    return fail(ErrorKind::bad_input,
                fmt::format("{} holds the package {}, not {}", store, seen.name, offered.name));
  if (!seen.highest_version) return {};
  const auto version = *parse_version(offered.version);
  const auto highest = parse_version(*seen.highest_version);
  if (!highest)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: the highest version seen, \"{}\", is not a version", store,
                            printable(*seen.highest_version)));
  if (version < *highest)
    return fail(
        ErrorKind::bad_input,
        fmt::format("{} offers version {}, and {} was seen before: a server that goes back may "
                    "hide a repair (gpuready pack rollback goes back on purpose, and gpuready pack "
                    "uninstall --forget forgets what was seen)",
                    where, offered.version, *seen.highest_version));
  if (version == *highest && seen.highest_sha256 &&
      *seen.highest_sha256 != to_hex(sha256(release.text)))
    return fail(ErrorKind::bad_input,
                fmt::format("{} offers a version {} that is not the one seen before: a release is "
                            "changed only under a higher version",
                            where, offered.version));
  return {};
}

InstallOutcome install(Host& host, Origin& origin, const Release& release,
                       const InstallTarget& target, const InstallOptions& options) {
  return Installer(host, origin, release, target, options).run();
}

Result<Installed> roll_back(Host& host, Storage& storage, const Places& places,
                            std::optional<std::uint64_t> number, const LockWait& wait) {
  Store store(host, storage, places.store);
  TRY(check_installed(store));
  const auto lock = TRY(store.open(wait));
  const auto current = TRY(store.current());
  if (!number && current) number = TRY(store.installed(*current)).previous;
  if (!number) return fail(ErrorKind::not_found, "there is no earlier version to go back to");
  const auto all = TRY(store.installed());
  if (std::ranges::find(all, *number, &Installed::number) == all.end())
    return fail(ErrorKind::bad_input,
                fmt::format("{}: there is no version of number {}; {}", places.store, *number,
                            all.empty() ? "none is installed"
                                        : "those that are there: " + numbers_text(all)));
  const auto installed = TRY(store.installed(*number));
  const auto manifest = TRY(store.parsed_manifest(*number));
  const auto variant = manifest.find(installed.variant);
  if (!variant || !store.is_whole(*number, *variant))
    return as_damage(
        {ErrorKind::bad_input, fmt::format("{}: number {} is not whole any more: install it again",
                                           places.store, *number)});
  // One that an older gpuready installed has no document of its own.
  const auto kept = store.info_of(*number);
  const auto info = kept ? *kept : info_text(manifest, *variant, installed, {}, places);
  TRY(prepare_info(places, storage));
  TRY(store.activate(*number));
  if (const auto told = write_info(host, places, info, storage); !told)
    return fail(
        told.error().kind,
        fmt::format("number {} is current now, but the information file was not written: {}",
                    *number, told.error().message),
        told.error().code);
  return installed;
}

Result<Collected> collect_garbage(Host& host, Storage& storage, const Places& places,
                                  const LockWait& wait) {
  Store store(host, storage, places.store);
  TRY(check_installed(store));
  const auto lock = TRY(store.open(wait));
  return keep_two(store);
}

Result<void> uninstall(Host& host, Storage& storage, const Places& places, bool forget,
                       const LockWait& wait) {
  Store store(host, storage, places.store);
  if (!forget || !store.remembers()) TRY(check_installed(store));
  const auto lock = TRY(store.open(wait));
  if (!places.info.empty()) {
    const auto removed = storage.unlink(places.info);
    if (!removed && removed.error().kind != ErrorKind::not_found) return removed;
  }
  return forget ? store.remove_all() : store.remove_versions();
}

std::vector<std::string> library_folders(const std::string& root, const Variant& variant) {
  std::vector<std::string> folders;
  for (const auto& file : variant.files) {
    const auto slash = file.path.rfind('/');
    const auto name = file.path.substr(slash + 1);
    if (name.find(".so") == name.npos) continue;
    const auto folder = root + (slash == file.path.npos ? "" : "/" + file.path.substr(0, slash));
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace gpuready::pack
