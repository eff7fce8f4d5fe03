#include "pack/release/adopt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "host/folders.h"
#include "host/mapped_file.h"
#include "pack/code/archive.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

// Libraries pack to a third: what unpacks to so much more was made to fill a disk.
constexpr std::uint64_t kFreeBytes = 64 * MiB, kMostTimes = 200;

class Unpacker {
 public:
  Unpacker(const MappedFile& archive, std::string folder, Storage& storage)
      : archive_bytes_(archive.bytes().size()), folder_(std::move(folder)), storage_(storage) {}

  Result<void> take(const Member& member, const StreamSource::Read& read) {
    std::string path = member.name;
    while (path.ends_with('/')) path.pop_back();
    if (member.kind == Member::Kind::folder) return {};
    if (const auto wrong = wrong_with_path(path)) return refuse(path, *wrong);
    if (member.kind == Member::Kind::device) return refuse(path, "it is a device");
    if (!seen_.insert(path).second) return refuse(path, "the archive holds this name twice");
    for (auto at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
      if (links_.contains(path.substr(0, at)))
        return refuse(path, path.substr(0, at) + ", which it lies below, is a link");
    const auto full = folder_ + "/" + path;
    TRY(make_folders(std::string(folder_of(full)), storage_));
    if (member.kind == Member::Kind::link) return add_link(member, path, full);
    return add_file(member, path, full, read);
  }

 private:
  static Result<void> refuse(std::string_view path, std::string_view why) {
    return fail(ErrorKind::bad_input, printable(fmt::format("{}: {}", path, why)));
  }

  Result<void> add_link(const Member& member, const std::string& path, const std::string& full) {
    if (member.hard_link.empty()) {
      if (const auto wrong = wrong_with_link(path, member.symbolic_link))
        return refuse(path, *wrong);
      links_.insert(path);
      return storage_.symlink(member.symbolic_link, full);
    }
    auto to = member.hard_link;
    while (to.starts_with("./")) to.erase(0, 2);
    if (!files_.contains(to)) return refuse(path, "a hard link to " + to + ", which is not a file");
    files_.insert(path);
    return storage_.link(folder_ + "/" + to, full);
  }

  Result<void> add_file(const Member& member, const std::string& path, const std::string& full,
                        const StreamSource::Read& read) {
    const auto file = TRY(storage_.create(full, member.executable ? 0755 : 0644));
    for (;;) {
      const auto got = read(buffer_);
      if (!got) return refuse(path, got.error().message);
      if (*got == 0) break;
      unpacked_bytes_ += *got;
      if (unpacked_bytes_ > kFreeBytes && unpacked_bytes_ / kMostTimes > archive_bytes_)
        return refuse(
            path, fmt::format("the archive unpacks to more than {} times its size", kMostTimes));
      TRY(file->write({reinterpret_cast<const char*>(buffer_.data()), *got}));
    }
    files_.insert(path);
    return {};
  }

  std::uint64_t archive_bytes_ = 0, unpacked_bytes_ = 0;
  std::string folder_;
  Storage& storage_;
  std::set<std::string> seen_, files_;
  std::set<std::string, std::less<>> links_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(1u << 20);
};

}  // namespace

Result<ExistingPackage> parse_existing_package(std::string_view text) {
  ExistingPackage package;
  const auto equals = text.find('=');
  package.path = text.substr(equals == text.npos ? 0 : equals + 1);
  if (equals != text.npos) {
    package.variant = text.substr(0, equals);
  } else {
    auto name = std::string(base_name(text));
    for (const char* end : {".gz", ".xz", ".zst", ".tgz", ".zip", ".tar"})
      if (name.ends_with(end)) name.resize(name.size() - std::string_view(end).size());
    package.variant = name.substr(name.find_last_of("-_") + 1);
  }
  if (const auto wrong = wrong_with_name(package.variant))
    return fail(ErrorKind::bad_input,
                fmt::format("{}: no variant is named: {} (write VARIANT=FILE)", text, *wrong));
  return package;
}

Result<std::vector<ExistingPackage>> parse_existing_packages(const std::vector<std::string>& texts,
                                                             const Recipe& recipe,
                                                             const std::string& recipe_name) {
  std::vector<ExistingPackage> packages;
  const auto has = [&](const std::string& variant) {
    return std::ranges::find(packages, variant, &ExistingPackage::variant) != packages.end();
  };
  for (const auto& text : texts) {
    auto package = TRY(parse_existing_package(text));
    if (has(package.variant))
      return fail(
          ErrorKind::bad_input,
          fmt::format("two archives are the variant {}: write VARIANT=FILE", package.variant));
    packages.push_back(std::move(package));
  }
  for (const auto& variant : recipe.variants)
    if (!has(variant.name))
      return fail(ErrorKind::bad_input, fmt::format("{}: the archive of variant {} is missing",
                                                    recipe_name, variant.name));
  return packages;
}

Result<Recipe> adopted_recipe(const std::optional<Recipe>& recipe, const AdoptedRelease& named) {
  if (!recipe && (!named.name || !named.version))
    return fail(ErrorKind::bad_input, "name a --recipe, or --name and --version");
  auto adopted = recipe.value_or(Recipe());
  adopted.name = named.name.value_or(adopted.name);
  adopted.version = named.version.value_or(adopted.version);
  adopted.system_libraries.insert(adopted.system_libraries.end(), named.system_libraries.begin(),
                                  named.system_libraries.end());
  for (const auto& text : named.waivers) adopted.waivers.push_back(TRY(parse_waiver(text)));
  if (const auto wrong = wrong_with_name(adopted.name))
    return fail(ErrorKind::bad_input, fmt::format("--name {}: {}", adopted.name, *wrong));
  if (!parse_version(adopted.version))
    return fail(ErrorKind::bad_input,
                fmt::format("--version {}: a version is digits and dots", adopted.version));
  return adopted;
}

Result<void> unpack_archive(Host& host, const std::string& path, const std::string& folder,
                            Storage& storage) {
  if (TRY(host.status(path)).kind != FileKind::regular)
    return fail(ErrorKind::bad_input, path + ": not a file");
  const auto file = TRY(MappedFile::open(path));
  MemorySource source(file.bytes(), true);
  const auto kind = archive_kind(source.peek(kArchiveHead));
  if (!kind) return fail(ErrorKind::bad_input, path + ": not an archive");
  TRY(make_folders(folder, storage));
  Unpacker unpacker(file, folder, storage);
  std::optional<std::string> fault;
  const ArchiveReading reading{
      .name = path,
      .on_member = [&](const Member& member,
                       const StreamSource::Read& read) { return unpacker.take(member, read); },
      .on_fault =
          [&](const std::string& member, const std::string& text) {
            if (!fault) fault = member.empty() ? text : member + ": " + text;
          }};
  const auto done = read_archive(source, *kind, reading);
  if (!done || fault)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {}", path, printable(fault ? *fault : done.error().message)));
  return {};
}

namespace {

std::string folder_of(const ExistingPackage& package, const AdoptOptions& options) {
  return options.work_folder + "/" + package.variant;
}

// Unpacks an archive, unless an earlier call has done that with the same bytes.
Result<void> unpack_once(Host& host, const ExistingPackage& package, const AdoptOptions& options) {
  Storage& storage = *options.build.storage;
  const auto folder = folder_of(package, options), mark = folder + "/archive";
  if (TRY(host.status(package.path)).kind != FileKind::regular)
    return fail(ErrorKind::bad_input, package.path + ": not a file");
  const auto hash = to_hex(sha256(TRY(MappedFile::open(package.path)).bytes()));
  if (host.read_own_file(mark).value_or("") == hash) return {};
  TRY(remove_tree(host, storage, folder));
  if (options.build.progress) options.build.progress(package.variant, "unpacking");
  const auto unpacked = unpack_archive(host, package.path, folder + "/files", storage);
  if (unpacked) return write_file_atomically(mark, hash, {}, storage);
  TRY(remove_tree(host, storage, folder));
  return unpacked;
}

VariantRecipe& variant_of(Recipe& recipe, const ExistingPackage& package,
                          const AdoptOptions& options) {
  auto known = std::ranges::find(recipe.variants, package.variant, &VariantRecipe::name);
  if (known == recipe.variants.end()) {
    known = recipe.variants.emplace(known);
    known->name = package.variant;
    known->architectures_from_code = true;
  }
  // The archive's own name is in no manifest.
  if (const auto cudnn = cudnn_of_path(base_name(package.path)); cudnn && !known->floors.cudnn)
    known->floors.cudnn = version_text(*cudnn);
  known->folder = folder_of(package, options) + "/files";
  known->exclude.insert(known->exclude.end(), options.exclude.begin(), options.exclude.end());
  return *known;
}

}  // namespace

Result<void> adopt(Host& host, Recipe& recipe, const std::vector<ExistingPackage>& packages,
                   const AdoptOptions& options,
                   const std::function<Result<void>(const std::string& built_folder)>& publish) {
  Storage& storage = *options.build.storage;
  auto build = options.build;
  build.out_folder = options.work_folder + "/built";
  build.run_commands = false;
  TRY(remove_tree(host, storage, build.out_folder));
  TRY(make_folders(build.out_folder, storage));
  // What would keep any from being published is found before one is compressed.
  std::vector<std::string> problems;
  build.only_check = true;
  for (const auto& package : packages) {
    TRY(unpack_once(host, package, options));
    const auto checked =
        TRY(build_variant(host, recipe, variant_of(recipe, package, options), build));
    for (const auto& problem : problems_of(checked))
      problems.push_back(fmt::format("variant {}: {}", package.variant, problem));
  }
  if (!problems.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("nothing was published:\n  {}\nWhat was unpacked stays in {} for the "
                            "next try.",
                            join(problems, "\n  "), options.work_folder));
  build.only_check = false;
  std::vector<Variant> made;
  for (const auto& package : packages) {
    auto& variant = *std::ranges::find(recipe.variants, package.variant, &VariantRecipe::name);
    made.push_back(TRY(build_variant(host, recipe, variant, build)).variant);
    const auto same = std::ranges::find(made, made.back().files, &Variant::files);
    if (std::next(same) != made.end())
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: it holds the same files as variant {}: name each variant's own "
                              "archive, or leave one out",
                              package.path, same->name));
    variant.architectures = made.back().architectures;
  }
  TRY(publish(build.out_folder));
  return remove_tree(host, storage, options.work_folder);
}

}  // namespace gpuready::pack
