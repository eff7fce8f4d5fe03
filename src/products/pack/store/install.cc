#include "pack/store/install.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/units.h"
#include "pack/release/recipe.h"
#include "pack/store/installed.h"

namespace gpuready::pack {
namespace {

// Left free beside what is written.
constexpr std::uint64_t kSpareBytes = 64 * MiB;

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

// What every step knows.
struct Asked {
  Host& host;
  Origin& origin;
  const Release& release;
  const InstallTarget& target;
  const InstallOptions& options;
  Store& store;
};

// Why a step ends the installation.
struct Stop {
  Stop(Error why, InstallEnd how = InstallEnd::failed) : error(std::move(why)), end(how) {}
  Error error;
  InstallEnd end;
};
template <class T>
using Step = std::expected<T, Stop>;

// Decided before anything is changed.
struct Plan {
  Variant variant = {};                        // or the set of them
  std::unique_ptr<Storage::Lock> lock = {};    // but for --dry-run,
  std::optional<Error> read_only = {};         // or why there is none
  StoreState state = {};                       // that is remembered from now on
  std::optional<std::uint64_t> previous = {};  // that is current
  std::optional<Installed> unchanged = {};     // that one, if it is what is to be installed
  std::vector<const PackedFile*> missing = {};
  std::uint64_t reused_files = 0;
};

struct Tested {
  Installed installed;
  std::vector<TriedLoad> tried = {};
  std::vector<std::string> rejected_models = {};
  std::optional<Stop> failure = {};
};

Result<StoreState> trusted_state(const Asked& asked) {
  const Release& release = asked.release;
  auto state = TRY(asked.store.state());
  TRY(check_history(state, release, asked.store.root(), asked.origin.where()));
  state.name = release.manifest.name;
  state.key = release.key.text();
  state.highest_version = release.manifest.version;
  state.highest_sha256 = to_hex(sha256(release.text));
  return state;
}

// The version of this number, if it is the variant of this release and whole.
std::optional<Installed> unchanged_version(const Asked& asked, const Variant& variant,
                                           std::uint64_t number) {
  const Store& store = asked.store;
  const auto now = store.installed(number);
  // An object that `verify` has found damaged is gone.
  const auto has_object = [&](const PackedFile& file) {
    return file.link || asked.host.exists(store.object_path(file));
  };
  const bool unchanged = now && now->variant == variant.name &&
                         store.manifest_of(number).value_or("") == asked.release.text &&
                         store.is_whole(number, variant, asked.options.verify) &&
                         store.added(number, variant) == std::vector<std::string>() &&
                         std::ranges::all_of(variant.files, has_object);
  return unchanged ? std::optional(*now) : std::nullopt;
}

// Of the nearest folder that exists.
Result<void> check_space(const Asked& asked, const std::vector<const PackedFile*>& missing) {
  auto folder = asked.store.root();
  while (!asked.host.exists(folder) && folder.rfind('/') != 0 && folder.rfind('/') != folder.npos)
    folder.resize(folder.rfind('/'));
  const auto space = asked.options.storage->space(asked.host.exists(folder) ? folder : "/");
  std::uint64_t needed = 0, largest_frame_bytes = 0;
  std::set<std::string> counted;
  for (const auto* file : missing) {
    if (!counted.insert(asked.store.object_path(*file)).second) continue;
    largest_frame_bytes = std::max(largest_frame_bytes, file->frame_bytes);
    needed += file->size_bytes;
  }
  // Pieces of a large file stay until it is unpacked, while the next one begins.
  if (!asked.origin.is_local()) needed += 2 * largest_frame_bytes;
  if (!space || space->available_bytes >= needed + kSpareBytes || needed == 0) return {};
  return fail(
      ErrorKind::io,
      fmt::format(
          "{}: {} are free, and {} are written: make room, or name another folder with --to",
          asked.store.root(), format_bytes(space->available_bytes), format_bytes(needed)),
      ENOSPC);
}

Step<Plan> make_plan(const Asked& asked) {
  Plan plan;
  auto variant = asked.release.manifest.find(asked.target.variant);
  if (!variant)
    return fail(ErrorKind::bad_input,
                fmt::format("the release has no variant {}", asked.target.variant));
  plan.variant = std::move(*variant);
  if (!asked.options.dry_run) {
    auto opened = asked.store.open(asked.options.wait);
    if (!opened && !may_not_write(opened.error())) return std::unexpected(opened.error());
    if (opened)
      plan.lock = std::move(*opened);
    else
      plan.read_only = opened.error();
  }
  const auto compared = [&]() -> Step<void> {
    auto state = trusted_state(asked);
    if (!state) return std::unexpected(Stop(state.error(), InstallEnd::refused));
    plan.state = std::move(*state);
    plan.previous = TRY(asked.store.current());
    if (plan.previous) plan.unchanged = unchanged_version(asked, plan.variant, *plan.previous);
    return {};
  }();
  if (plan.read_only && !(compared && plan.unchanged)) return std::unexpected(*plan.read_only);
  TRY(compared);
  // Where a version changes, each object is hashed before it becomes a part of the new one.
  for (const auto& file : plan.variant.files) {
    if (file.link) continue;
    if (plan.unchanged || asked.store.has(file))
      ++plan.reused_files;
    else
      plan.missing.push_back(&file);
  }
  if (!plan.unchanged) TRY(check_space(asked, plan.missing));
  return plan;
}

// From here on no older release is accepted, whatever becomes of this one.
Result<void> begin(const Asked& asked, const Plan& plan) {
  TRY(prepare_info(asked.options.places, *asked.options.storage));
  TRY(asked.store.write_state(plan.state));
  return asked.store.remove_incomplete();
}

// Each file is verified while it is written.
Step<FetchOutcome> fetch(const Asked& asked, const Plan& plan) {
  const InstallOptions& how = asked.options;
  FetchOptions options{.at_once = how.at_once,
                       .cancel = how.cancel,
                       .limit = how.fetch_limit,
                       .only_plan = how.dry_run};
  if (const auto now = read_current(asked.store)) options.old = now->variant();
  if (how.progress)
    options.progress = [&how](std::uint64_t bytes, std::uint64_t of_all) {
      how.progress("fetching", std::min(bytes, of_all), of_all);
    };
  auto fetched = fetch_files(asked.origin, plan.variant, plan.missing, asked.store, options);
  if (fetched) return std::move(*fetched);
  const bool untrusted = fetched.error().kind == ErrorKind::bad_input;
  return std::unexpected(
      Stop(fetched.error(), untrusted ? InstallEnd::refused : InstallEnd::failed));
}

// A version of what was fetched and what was there. Nothing leads to it yet.
Result<Installed> stage(const Asked& asked, const Plan& plan) {
  Installed installed;
  // What root installs is for all users' programs, and its load test runs as another one.
  const auto mask = ::umask(022);
  if (::geteuid() != 0) ::umask(mask);
  const auto staged = asked.store.stage(plan.variant);
  ::umask(mask);
  installed.number = TRY(staged);
  installed.name = asked.release.manifest.name;
  installed.version = asked.release.manifest.version;
  installed.variant = plan.variant.name;
  installed.installed_utc = format_utc(TRY(asked.host.identity()).unix_seconds);
  // A folder from wherever it is asked for again.
  const auto& from = asked.origin.where();
  installed.from = asked.host.exists(from) ? std::filesystem::absolute(from).string() : from;
  installed.previous = plan.previous;
  installed.gpus = asked.target.gpus;
  installed.machine = asked.target.machine;
  return installed;
}

Stop not_loaded(const std::string& what) {
  return {{ErrorKind::unsupported, what + "; what was installed before stays"},
          InstallEnd::not_loaded};
}

// The first model that loads.
std::optional<Stop> choose_model(const Asked& asked, const Variant& variant, Tested& tested) {
  const InstallOptions& how = asked.options;
  tested.installed.model.reset();
  for (auto plan : asked.target.models) {
    plan.folder = asked.store.generation_path(tested.installed.number);
    plan.library_folders = library_folders(
        plan.folder, *asked.release.manifest.find(members_of(variant.name).front()));
    if (how.progress) how.progress("loading model " + plan.model.name, 0, 0);
    const auto failure = plan.model.load.empty() ? std::nullopt : how.model_test(plan, how.cancel);
    if (how.cancel != nullptr && *how.cancel)
      return Error{ErrorKind::cancelled, "cancelled; what was installed before stays"};
    if (!failure) {
      tested.installed.model = plan.model.name;
      return std::nullopt;
    }
    tested.rejected_models.push_back(
        fmt::format("model {} does not load: {}", plan.model.name, *failure));
  }
  if (tested.rejected_models.empty()) return std::nullopt;
  return not_loaded(
      fmt::format("variant {}: {}", variant.name, join(tested.rejected_models, "; ")));
}

Tested test(const Asked& asked, const Variant& variant, const Installed& installed) {
  const InstallTarget& target = asked.target;
  Tested tested{installed};
  if (!target.plans) {
    if (!target.models.empty()) tested.installed.model = target.models.front().model.name;
    return tested;
  }
  tested.installed.loads.clear();
  for (const auto& plan : target.plans(asked.store.generation_path(installed.number), variant)) {
    if (asked.options.progress) asked.options.progress("testing", 0, 0);
    const auto& result = tested.installed.loads.emplace_back(asked.options.load_test(plan));
    tested.tried.push_back({variant.name, plan, result});
    if (!result.failure) continue;
    tested.failure =
        not_loaded(fmt::format("variant {} does not load on {}: {}", variant.name,
                               result.name.empty() ? result.device : result.name, *result.failure));
    return tested;
  }
  tested.failure = choose_model(asked, variant, tested);
  return tested;
}

// The version is current: a failed information file undoes nothing.
void tell_programs(const Asked& asked, std::uint64_t number, const std::string& info,
                   std::vector<std::string>& notes) {
  const auto told = [&]() -> Result<void> {
    if (asked.store.info_of(number).value_or("") != info) TRY(asked.store.write_info(number, info));
    return write_info(asked.host, asked.options.places, info, *asked.options.storage);
  }();
  if (!told)
    notes.push_back(
        fmt::format("{} is not written, so programs that read it do not see this version: {}. "
                    "Fix that, and install again.",
                    asked.options.places.info, told.error().message));
}

// Makes a version the current one. What is worth a note.
Result<std::vector<std::string>> switch_over(const Asked& asked, const Installed& installed,
                                             const std::string& info) {
  Store& store = asked.store;
  TRY(store.complete(installed, asked.release.text, asked.release.signature, info));
  TRY(store.activate(installed.number));
  std::vector<std::string> notes;
  tell_programs(asked, installed.number, info, notes);
  if (const auto foreign = store.foreign(); !foreign.empty())
    notes.push_back(fmt::format(
        "{} also holds {}{}, which gpuready did not install. Programs use {}: remove the others "
        "if an earlier installer left them.",
        store.root(), foreign.front(),
        foreign.size() > 1 ? fmt::format(" and {} more", foreign.size() - 1) : "",
        store.current_path()));
  if (const auto kept = keep_two(store); !kept)
    notes.push_back("Versions before the previous one are still there: " + kept.error().message);
  return notes;
}

Step<Installed> accept(Tested tested, InstallOutcome& outcome) {
  outcome.tried = std::move(tested.tried);
  outcome.rejected_models = std::move(tested.rejected_models);
  if (!tested.failure) return std::move(tested.installed);
  if (tested.failure->end == InstallEnd::not_loaded)
    outcome.installed = std::move(tested.installed);
  return std::unexpected(*tested.failure);
}

// Plan, fetch and verify, test, switch; what is known by the end is in the outcome.
Step<void> walk(const Asked& asked, InstallOutcome& outcome) {
  const InstallOptions& how = asked.options;
  const auto plan = TRY(make_plan(asked));
  const auto info = [&](const Installed& installed) {
    return info_text(asked.release.manifest, plan.variant, installed, asked.target.gpu, how.places);
  };
  outcome.files = plan.variant.files.size();
  outcome.reused_files = plan.reused_files;
  outcome.content_bytes = plan.variant.content_bytes();
  if (plan.unchanged) {
    outcome.installed = plan.unchanged;
    outcome.end = InstallEnd::unchanged;
    if (plan.read_only) outcome.notes.push_back(plan.read_only->message);
    if (plan.read_only || how.dry_run) return {};
    if (how.always_test)
      outcome.installed = TRY(accept(test(asked, plan.variant, *plan.unchanged), outcome));
    tell_programs(asked, plan.unchanged->number, info(*outcome.installed), outcome.notes);
    return {};
  }
  if (!how.dry_run) TRY(begin(asked, plan));
  const auto fetched = TRY(fetch(asked, plan));
  outcome.to_fetch_bytes = fetched.to_fetch_bytes;
  outcome.fetched_bytes = fetched.fetched_bytes;
  outcome.written_bytes = fetched.written_bytes;
  outcome.without_ranges = fetched.without_ranges;
  outcome.end = InstallEnd::planned;
  if (how.dry_run) return {};
  const auto staged = TRY(stage(asked, plan));
  auto tested = accept(test(asked, plan.variant, staged), outcome);
  if (!tested) TRY(asked.store.remove_generation(staged.number));
  auto installed = TRY(std::move(tested));
  outcome.notes = TRY(switch_over(asked, installed, info(installed)));
  outcome.installed = std::move(installed);
  outcome.end = InstallEnd::installed;
  return {};
}

std::string numbers_text(const std::vector<Installed>& versions) {
  std::vector<std::string> texts;
  for (const auto& each : versions) texts.push_back(std::to_string(each.number));
  return join(texts, ", ");
}

}  // namespace

InstallOutcome install(Host& host, Origin& origin, const Release& release,
                       const InstallTarget& target, const InstallOptions& options) {
  Store store(host, *options.storage, options.places.store);
  InstallOutcome outcome;
  outcome.folder = store.current_path();
  if (auto walked = walk({host, origin, release, target, options, store}, outcome); !walked) {
    outcome.end = walked.error().end;
    outcome.error = std::move(walked.error().error);
  }
  return outcome;
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

}  // namespace gpuready::pack
