#include "vm/drivers/collect.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/elf.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "host/mapped_file.h"
#include "vm/drivers/build_modules.h"
#include "vm/drivers/driver_archive.h"
#include "vm/drivers/driver_files.h"
#include "vm/drivers/find_files.h"
#include "vm/drivers/manifest.h"
#include "vm/drivers/module_info.h"
#include "vm/drivers/module_source.h"
#include "vm/drivers/staging_folder.h"
#include "vm/drivers/supported_gpus.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kUnpacked = "unpacked";
constexpr std::string_view kBuild = "build";
constexpr std::uint64_t kModuleMaxBytes = 1 * GiB;

std::string_view view(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string machine_name(std::uint16_t machine) {
  return machine == kElfMachineX86_64    ? "x86_64"
         : machine == kElfMachineAarch64 ? "aarch64"
                                         : fmt::format("ELF machine {}", machine);
}

std::string folder_of(DriverFileKind kind) {
  switch (kind) {
    case DriverFileKind::library:
      return "lib/";
    case DriverFileKind::program:
      return "bin/";
    case DriverFileKind::firmware:
      return "firmware/nvidia/";
    case DriverFileKind::module:
      return "modules/";
    case DriverFileKind::data:
      break;
  }
  return "data/";
}

struct Candidate {
  FoundFile file;
  std::string staged;  // of unpacked files: relative to the staging folder
};

class Collector {
 public:
  Collector(const CollectOptions& options, Host& host, StagingFolder& staging)
      : options_(options), host_(host), staging_(staging) {}

  Result<DriverBundle> run() {
    for (const auto& from : options_.from) TRY(find(from));
    TRY(decide_version());
    TRY(build());
    for (auto& candidate : candidates_) TRY(place(candidate));
    TRY(add_needed_modules());
    finish();
    if (!options_.kernel_release.empty() && bundle_.kernel_releases.empty())
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: no module for kernel {} is there; leave out --kernel for a "
                              "bundle without modules",
                              bundle_.source, printable(options_.kernel_release)));
    TRY(staging_.remove_empty_folders(std::string(kUnpacked)));
    const auto text = dump(to_json(bundle_));
    TRY(staging_.write_file(std::string(kBundleFile), text, 0644));
    return std::move(bundle_);
  }

 private:
  // ---- what there is
  Result<void> find(const std::string& from) {
    const auto status = host_.status(from);
    if (!status) return fail(status.error().kind, "cannot read " + status.error().message);
    if (status->kind == FileKind::directory) {
      const bool system = host_.real_path(from).value_or(from) == "/";
      if (system) {
        wanted_kernel_ = options_.kernel_release;
        if (wanted_kernel_.empty()) wanted_kernel_ = TRY(host_.identity()).kernel_release;
        note_nodes();
      }
      for (auto& file : TRY(find_driver_files(host_, from, system, wanted_kernel_)))
        TRY(add({std::move(file), ""}));
      roots_.push_back(from);
      return {};
    }
    if (status->kind != FileKind::regular)
      return fail(ErrorKind::bad_input, from + ": neither a folder nor a file");
    const auto mapped = TRY(MappedFile::open(from));
    const bool known =
        known_file(base_name(from), "").has_value() || base_name(from) == kSupportedGpusFile;
    if (!known && is_driver_archive(mapped.bytes())) return unpack_driver(from, mapped);
    if (!known)
      return fail(ErrorKind::bad_input,
                  from + ": neither an archive with a driver nor a part of one by its name");
    return add({{from, from}, ""});
  }

  using Wants = std::function<bool(std::string_view)>;
  using Take = std::function<Result<void>(Candidate)>;
  // Unpacks the members that are wanted.
  Result<void> unpack(const std::string& from, const MappedFile& mapped, const Wants& wants,
                      const Take& take) {
    const auto prefix = fmt::format("{}/{}/", kUnpacked, unpacked_++);
    std::unique_ptr<Storage::File> file;
    std::string staged;
    const ArchiveSink sink{.wants = wants,
                           .begin = [&](std::string_view path) -> Result<void> {
                             staged = prefix + std::string(path);
                             file = TRY(staging_.create_file(staged, 0755));
                             return {};
                           },
                           .piece = [&](std::string_view bytes) { return file->write(bytes); },
                           .end = [&]() -> Result<void> {
                             TRY(file->sync());
                             file.reset();
                             const auto inside = staged.substr(prefix.size());
                             return take({{staging_.path_of(staged), from + ":" + inside}, staged});
                           }};
    return read_driver_archive(mapped.bytes(), from, sink);
  }

  // The driver's files; of a kernel's, which may be thousands, only the names.
  Result<void> unpack_driver(const std::string& from, const MappedFile& mapped) {
    const auto wants = [&](std::string_view path) {
      if (!release_of_path(path).empty()) members_.emplace_back(from, path);
      const auto name = base_name(path);
      return name == ".manifest" || name == kSupportedGpusFile || name == kBuiltInList ||
             known_file(name, "").has_value();
    };
    return unpack(from, mapped, wants,
                  [&](Candidate candidate) { return add(std::move(candidate)); });
  }

  Result<void> add(Candidate candidate) {
    const auto name = base_name(candidate.file.path);
    if (has_control_characters(name))
      return fail(ErrorKind::bad_input,
                  fmt::format("refused: the name of \"{}\" has control characters",
                              printable(candidate.file.source)));
    if (name == kSupportedGpusFile) {
      const auto text = TRY(host_.read_file(candidate.file.path, 8 * MiB));
      for (const auto id : TRY(parse_supported_gpus(text, candidate.file.source)))
        supported_gpus_.insert(id);
      return drop(candidate);
    }
    if (name == kBuiltInList) {
      built_in_[std::string(release_of_path(candidate.staged))] +=
          TRY(host_.read_file(candidate.file.path, 8 * MiB));
      return drop(candidate);
    }
    if (name != ".manifest") {
      candidates_.push_back(std::move(candidate));
      return {};
    }
    const auto text = TRY(host_.read_file(candidate.file.path, 8 * MiB));
    const auto manifest = TRY(parse_installer_manifest(text, candidate.file.source));
    manifest_ = manifest;
    return drop(candidate);
  }

  void note_nodes() {
    for (const char* folder : {"/dev", "/dev/nvidia-caps"})
      for (const auto& name : host_.list_directory(folder).value_or(std::vector<std::string>())) {
        const auto path = std::string(folder) + "/" + name;
        const auto status =
            name.starts_with("nvidia") ? host_.status(path) : fail(ErrorKind::not_found, "");
        if (status && status->kind == FileKind::character_device)
          bundle_.nodes.push_back({path, status->device_major, status->device_minor, status->mode});
      }
  }

  // ---- which driver
  Result<void> decide_version() {
    std::set<std::string> versions;
    for (const std::string_view library : {"libcuda.so.", "libnvidia-ml.so."}) {
      for (const auto& candidate : candidates_) {
        const auto name = base_name(candidate.file.path);
        if (const auto version = after_prefix(name, library);
            version && is_driver_version(*version))
          versions.emplace(*version);
      }
      if (!versions.empty()) break;
    }
    auto& version = bundle_.driver_version;
    version = options_.driver_version;
    if (version.empty() && manifest_) version = manifest_->version;
    if (version.empty() && versions.size() > 1)
      return fail(ErrorKind::bad_input,
                  fmt::format("several drivers are there: {}; choose one with --driver-version",
                              fmt::join(versions, ", ")));
    if (version.empty() && !versions.empty()) version = *versions.begin();
    if (version.empty() || !versions.contains(version))
      return fail(
          ErrorKind::not_found,
          version.empty()
              ? fmt::format("no NVIDIA driver in {}: neither libcuda.so.VERSION nor "
                            "libnvidia-ml.so.VERSION is there as a file; links in archives are not "
                            "followed",
                            fmt::join(options_.from, ", "))
              : fmt::format(
                    "no libcuda.so.{} in {}{}{}", version, fmt::join(options_.from, ", "),
                    versions.empty() ? "" : "; the drivers there: ", fmt::join(versions, ", ")));
    return {};
  }

  // ---- modules from their source
  Result<void> build() {
    if (options_.headers.empty()) return {};
    if (options_.sign_key.empty() != options_.sign_certificate.empty())
      return fail(ErrorKind::bad_input,
                  "to sign modules, give --sign-key and --sign-certificate together");
    const auto headers = TRY(find_kernel_headers(host_, options_.headers));
    const auto source = TRY(bring_module_source(host_, staging_, options_.from,
                                                bundle_.driver_version, std::string(kBuild)));
    const auto made = build_in(source, headers);
    for (const auto& path : made.value_or(std::vector<std::string>())) {
      const auto staged = fmt::format("{}/{}", kUnpacked, base_name(path));
      TRY(staging_.move_file(path.substr(staging_.path_of("").size()), staged));
      candidates_.push_back(
          {{staging_.path_of(staged),
            fmt::format("{}, built for {}", source.source, headers.kernel_release)},
           staged});
    }
    TRY(staging_.remove_tree(std::string(kBuild), host_));
    if (!made) return std::unexpected(made.error());
    // What was built is what is wanted, not the modules of another kernel beside it.
    build_release_ = headers.kernel_release;
    if (headers.signed_modules_only && options_.sign_key.empty())
      bundle_.warnings.push_back(
          fmt::format("{} loads only signed modules (CONFIG_MODULE_SIG_FORCE), and these are not "
                      "signed: build them with --sign-key and --sign-certificate",
                      headers.kernel_release));
    return {};
  }

  Result<std::vector<std::string>> build_in(const ModuleSource& source,
                                            const KernelHeaders& headers) {
    BuildRequest request{.folder = TRY(host_.real_path(staging_.path_of(source.staged))),
                         .source = source.source,
                         .driver_version = bundle_.driver_version,
                         .headers = headers,
                         .jobs = options_.jobs != 0
                                     ? options_.jobs
                                     : std::max(1u, std::thread::hardware_concurrency()),
                         .signing = std::nullopt,
                         .cancel = options_.cancel};
    if (!options_.sign_key.empty())
      request.signing = SigningKey{TRY(host_.real_path(options_.sign_key)),
                                   TRY(host_.real_path(options_.sign_certificate))};
    auto made = TRY(build_modules(host_, request));
    // Named as the staging folder names its files.
    for (auto& path : made)
      path = staging_.path_of(source.staged) + path.substr(request.folder.size());
    return made;
  }

  // ---- into the bundle
  Result<void> place(Candidate& candidate) {
    const auto name = std::string(base_name(candidate.file.path));
    auto known = known_file(name, bundle_.driver_version);
    if (!known) return drop(candidate);  // a library of another driver
    DriverFile file{.kind = known->kind,
                    .source = candidate.file.source,
                    .capabilities = std::move(known->capabilities),
                    .install_path = std::move(known->install_path)};
    if (file.kind == DriverFileKind::module) return place_module(candidate, std::move(file));
    const auto mapped = TRY(MappedFile::open(candidate.file.path));
    if (file.kind == DriverFileKind::library || file.kind == DriverFileKind::program) {
      if (!TRY(read_elf(mapped, file))) return drop(candidate);
    }
    file.path = folder_of(file.kind);
    if (file.kind == DriverFileKind::firmware) {
      const auto version = firmware_version(candidate.file.path);
      if (!version.empty() && version != bundle_.driver_version) return drop(candidate);
      file.path += bundle_.driver_version + "/";
    }
    file.path += name;
    return put(candidate, mapped, std::move(file));
  }

  // What was unpacked and is not taken.
  Result<void> drop(const Candidate& candidate) {
    return candidate.staged.empty() ? Result<void>() : staging_.remove_file(candidate.staged);
  }

  // False: of 32 bits, which is passed over.
  Result<bool> read_elf(const MappedFile& mapped, DriverFile& file) {
    const auto bytes = mapped.bytes();
    constexpr std::size_t kClassAt = 4;
    if (is_elf(bytes) && bytes.size() > kClassAt && bytes[kClassAt] == 1) return false;
    const auto elf = parse_elf(bytes, file.source);
    if (!elf) {
      // nvidia-smi and its like may be a script that starts the real one.
      if (file.kind == DriverFileKind::program && !is_elf(bytes)) return false;
      return std::unexpected(elf.error());
    }
    if (!elf->soname.empty() && !is_plain_name(elf->soname))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: its SONAME \"{}\" is not the name of a library",
                              printable(file.source), printable(elf->soname)));
    file.machine = machine_name(elf->machine);
    file.soname = printable(elf->soname);
    for (const auto needed : elf->needed) file.needed.push_back(printable(needed));
    if (file.kind == DriverFileKind::library) file.links = further_names(file.soname);
    return true;
  }

  Result<void> place_module(Candidate& candidate, DriverFile file) {
    const auto mapped = TRY(MappedFile::open(candidate.file.path));
    std::string unpacked;
    auto bytes = mapped.bytes();
    if (!is_elf(bytes)) {
      unpacked = TRY(unpack_single(bytes, candidate.file.source, kModuleMaxBytes));
      bytes = {reinterpret_cast<const std::uint8_t*>(unpacked.data()), unpacked.size()};
    }
    auto info = TRY(read_module(bytes, candidate.file.source));
    if (info.name.empty())
      info.name = module_name(*module_file_stem(base_name(candidate.file.path)));
    if (info.kernel_release.empty() || !is_safe_relative(info.kernel_release + "/" + info.name))
      return fail(ErrorKind::bad_input,
                  candidate.file.source + ": does not say for which kernel it was built");
    const auto& only = build_release_.empty() ? options_.kernel_release : build_release_;
    if (!only.empty() && info.kernel_release != only) return drop(candidate);
    auto file_name = info.name;
    std::replace(file_name.begin(), file_name.end(), '_', '-');
    file.path = fmt::format("modules/{}/{}.ko", info.kernel_release, file_name);
    file.capabilities = {};
    file.module = std::move(info);
    if (unpacked.empty()) return put(candidate, mapped, std::move(file));
    file.size_bytes = unpacked.size();
    file.sha256 = to_hex(sha256(bytes));
    TRY(drop(candidate));
    if (!claim(file)) return {};
    TRY(staging_.write_file(file.path, unpacked, 0644));
    bundle_.files.push_back(std::move(file));
    return {};
  }

  // Whether this file is the first of its path. Another one with other bytes is reported.
  bool claim(const DriverFile& file) {
    const auto [first, added] = claimed_.try_emplace(file.path, file.sha256, file.source);
    if (!added && first->second.first != file.sha256)
      bundle_.warnings.push_back(
          fmt::format("{} differs from {}, which was taken", file.source, first->second.second));
    return added;
  }

  Result<void> put(const Candidate& candidate, const MappedFile& mapped, DriverFile file) {
    file.size_bytes = mapped.bytes().size();
    file.sha256 = to_hex(sha256(mapped.bytes()));
    if (!claim(file)) return drop(candidate);
    if (!candidate.staged.empty()) {
      TRY(staging_.move_file(candidate.staged, file.path));
    } else if (!TRY(staging_.link_file(candidate.file.path, file.path))) {
      const bool runs = file.kind == DriverFileKind::program;
      TRY(staging_.write_file(file.path, view(mapped.bytes()), runs ? 0755 : 0644));
    }
    bundle_.files.push_back(std::move(file));
    return {};
  }

  // ---- modules that the driver's modules, and those asked for, need
  Result<void> add_needed_modules() {
    std::set<std::string> releases;
    for (const auto& file : bundle_.files)
      if (file.module) releases.insert(file.module->kernel_release);
    const auto& asked =
        wanted_kernel_.empty() ? options_.kernel_release : wanted_kernel_;  // of "/", or --kernel
    if (releases.empty() && !options_.modules.empty()) {
      if (asked.empty())
        return fail(ErrorKind::bad_input,
                    "--module: no driver's module says for which kernel; add --kernel RELEASE");
      releases.insert(asked);
    }
    for (const auto& release : releases) TRY(add_modules_of(release));
    return {};
  }

  struct Wanted {
    std::string name, by;  // the module, and the one that needs it; empty: --module
  };

  // By levels: what is wanted first, then what that needs. An archive is read once for each.
  Result<void> add_modules_of(const std::string& release) {
    KernelModules known(release);
    for (const auto& root : roots_) known.add_root(host_, root);
    for (const auto& [archive, path] : members_) known.add_member(archive, path);
    known.add_built_in(built_in_[release]);
    std::vector<Wanted> wanted;
    for (const auto& name : options_.modules) wanted.push_back({module_name(name), ""});
    std::set<std::string> done;
    for (const auto& file : bundle_.files) {
      if (!file.module || file.module->kernel_release != release) continue;
      done.insert(file.module->name);
      for (const auto& name : file.module->depends) wanted.push_back({name, file.module->name});
    }
    while (!wanted.empty()) {
      const auto before = bundle_.files.size();
      TRY(place_modules(release, known, wanted, done));
      wanted.clear();
      for (auto at = before; at < bundle_.files.size(); ++at)
        for (const auto& name : bundle_.files[at].module->depends)
          wanted.push_back({name, bundle_.files[at].module->name});
    }
    return {};
  }

  Result<void> place_modules(const std::string& release, const KernelModules& known,
                             const std::vector<Wanted>& wanted, std::set<std::string>& done) {
    std::map<std::string, std::set<std::string, std::less<>>> in_archives;
    const auto take = [&](Candidate candidate) {
      const auto source = candidate.file.source;
      return place_module(candidate, {.kind = DriverFileKind::module, .source = source});
    };
    for (const auto& [name, by] : wanted) {
      if (!done.insert(name).second || known.built_in(name)) continue;
      const auto* place = known.find(name);
      if (!place && by.empty())
        return fail(ErrorKind::not_found,
                    fmt::format("--module {}: kernel {} has no such module in {}", printable(name),
                                release, fmt::join(options_.from, ", ")));
      if (!place)
        bundle_.warnings.push_back(
            fmt::format("the module {} needs the module {}, which was not found: the guest's "
                        "kernel must have it built in",
                        by, name));
      else if (place->archive.empty())
        TRY(take({{place->path, place->path}, ""}));
      else
        in_archives[place->archive].insert(place->path);
    }
    for (const auto& [archive, paths] : in_archives) {
      const auto mapped = TRY(MappedFile::open(archive));
      TRY(unpack(
          archive, mapped, [&](std::string_view path) { return paths.contains(path); }, take));
    }
    return {};
  }

  // ---- what the whole says
  void finish() {
    auto& files = bundle_.files;
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    bundle_.source = join(options_.from, ", ");
    bundle_.created_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    std::set<std::string> releases, names;
    for (const auto& file : files) {
      if (file.module) releases.insert(file.module->kernel_release);
      if (file.module && file.module->name == "nvidia")
        bundle_.open_modules = contains(file.module->license, "GPL");
      if (!file.soname.empty()) names.insert(file.soname);
      if (base_name(file.path).starts_with("libcuda.so.") || bundle_.machine.empty())
        bundle_.machine = file.machine.empty() ? bundle_.machine : file.machine;
    }
    bundle_.supported_gpus.assign(supported_gpus_.begin(), supported_gpus_.end());
    bundle_.kernel_releases.assign(releases.begin(), releases.end());
    warn_of_missing(names);
  }

  void warn_of_missing(const std::set<std::string>& sonames) {
    auto& warnings = bundle_.warnings;
    const auto has = [&](auto&& fits) {
      return std::any_of(bundle_.files.begin(), bundle_.files.end(), fits);
    };
    if (bundle_.kernel_releases.empty())
      warnings.push_back("no kernel modules: the guest's own must be of this version");
    if (!has([](const DriverFile& f) { return f.kind == DriverFileKind::firmware; }))
      warnings.push_back("no GSP firmware: the open modules do not start a GPU without it");
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1"})
      if (!sonames.contains(name))
        warnings.push_back(fmt::format("{} was not found, which compute or utility needs", name));
    if (!has([](const DriverFile& f) { return f.path == "bin/nvidia-smi"; }))
      warnings.push_back("nvidia-smi was not found");
    for (const auto& file : bundle_.files)
      for (const auto& needed : file.needed)
        if (needed.starts_with("libnvidia") && !sonames.contains(needed) &&
            !has([&](const DriverFile& f) { return base_name(f.path) == needed; }))
          warnings.push_back(fmt::format("{} needs {}, which was not found", file.path, needed));
    for (const auto& name : manifest_ ? manifest_->files : std::vector<std::string>())
      if (known_file(base_name(name), bundle_.driver_version) &&
          !has([&](const DriverFile& f) { return base_name(f.path) == base_name(name); }))
        warnings.push_back(fmt::format("{} is in the installer's list and was not found", name));
  }

  const CollectOptions& options_;
  Host& host_;
  StagingFolder& staging_;
  DriverBundle bundle_;
  std::vector<Candidate> candidates_;
  std::vector<std::string> roots_;
  std::optional<InstallerManifest> manifest_;
  std::vector<std::pair<std::string, std::string>> members_;  // of kernels: the archive, the path
  std::map<std::string, std::string> built_in_;               // lists by kernel
  std::string wanted_kernel_;
  std::string build_release_;  // for which modules were built; empty: none were
  std::map<std::string, std::pair<std::string, std::string>> claimed_;  // path -> hash, source
  std::set<std::uint16_t> supported_gpus_;
  int unpacked_ = 0;
};

}  // namespace

Result<DriverBundle> collect_bundle(const CollectOptions& options, const std::string& folder,
                                    Host& host, Storage& storage) {
  TRY(refuse_existing(folder, storage));
  auto staging = TRY(StagingFolder::create(gpuready::folder_of(folder), storage));
  auto bundle = Collector(options, host, staging).run();
  if (!bundle) return std::unexpected(staging.as_of(folder, bundle.error()));
  TRY(staging.commit(folder));
  return bundle;
}

Result<BundleEntry> add_bundle(const CollectOptions& options, const std::string& bundles,
                               const std::string& name, Host& host, Storage& storage) {
  auto staging = TRY(StagingFolder::create(bundles, storage));
  auto bundle = Collector(options, host, staging).run();
  if (!bundle) return std::unexpected(staging.as_of(bundles, bundle.error()));
  BundleEntry entry{"", std::move(*bundle)};
  entry.folder = bundles + "/" + (name.empty() ? entry.bundle.driver_version : name);
  TRY(staging.commit(entry.folder));
  return entry;
}

}  // namespace gpuready::vm
