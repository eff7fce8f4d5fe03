#include "vm/guest/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/elf.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "machine/system/loader_cache.h"
#include "vm/drivers/open_bundle.h"
#include "vm/drivers/select.h"
#include "vm/guest/loader_cache_add.h"

namespace gpuready::vm {
namespace {

constexpr const char* kCache = "/etc/ld.so.cache";
constexpr std::size_t kCacheMaxBytes = 16 * MiB;

struct Copy {
  std::string from, to;
  std::uint64_t size_bytes;
  std::uint32_t mode;
};
struct Link {
  std::string path, target;
};

class Injector {
 public:
  Injector(const DriverBundle& bundle, const std::string& folder, const RootFolder& root,
           const InjectOptions& options)
      : bundle_(bundle), folder_(folder), root_(root), options_(options) {}

  Result<InjectReport> run() {
    report_.loader_folder = TRY(find_loader_folder(root_, bundle_.machine)).folder;
    TRY(check_bundle());
    plan();
    TRY(look());
    if (options_.method == InjectMethod::bind) TRY(bind());
    for (const auto& copy : copies_) {
      TRY(root_.copy(copy.from, copy.to, copy.mode, options_.method == InjectMethod::hard_link));
      ++report_.files;
      report_.bytes += copy.size_bytes;
    }
    for (const auto& link : links_) {
      TRY(root_.make_link(link.path, link.target));
      ++report_.links;
    }
    TRY(add_to_cache());
    return std::move(report_);
  }

 private:
  // The root's owner is given the bundle's files and no other of this machine.
  Result<void> check_bundle() const {
    const auto host = make_live_host();
    for (const auto* file : select_files(bundle_, options_.capabilities))
      if (leads_out_of_bundle(*host, folder_, file->path))
        return fail(
            ErrorKind::bad_input,
            fmt::format(
                "{}/{} leads out of the bundle: nothing was changed; collect the bundle again",
                folder_, file->path));
    return {};
  }

  void plan() {
    std::set<std::string> provided;
    const auto files = select_files(bundle_, options_.capabilities);
    for (const auto* file : files) plan_file(*file, provided);
    // Driver libraries load each other by the loader's folder; others must be the image's.
    std::set<std::string> missing;
    for (const auto* file : files)
      if (file->kind == DriverFileKind::library)
        for (const auto& needed : file->needed)
          if (!provided.contains(needed) &&
              root_.kind(report_.loader_folder + "/" + needed, true) == EntryKind::none)
            missing.insert(fmt::format("{} needs {}, which the image does not have in {}",
                                       base_name(file->path), needed, report_.loader_folder));
    report_.warnings.assign(missing.begin(), missing.end());
  }

  void plan_file(const DriverFile& file, std::set<std::string>& provided) {
    const auto inside = std::string(kInjectedFolder) + "/" + file.path;
    const auto from = folder_ + "/" + file.path;
    const auto copy = [&](const std::string& to, std::uint32_t mode) {
      copies_.push_back({from, to, file.size_bytes, mode});
    };
    const bool bound = options_.method == InjectMethod::bind;
    switch (file.kind) {
      case DriverFileKind::library: {
        if (!bound) copy(inside, 0644);
        std::set<std::string> names(file.links.begin(), file.links.end());
        names.emplace(base_name(file.path));
        if (!file.soname.empty()) names.insert(file.soname);
        for (const auto& name : names) {
          provided.insert(name);
          const auto path = report_.loader_folder + "/" + name;
          links_.push_back({path, inside});
          if (name != base_name(file.path) || name == file.soname) cached_.push_back({name, path});
        }
        break;
      }
      case DriverFileKind::program:
        if (!bound) copy(inside, 0755);
        links_.push_back({fmt::format("/usr/bin/{}", base_name(file.path)), inside});
        break;
      case DriverFileKind::data:
        copy(file.install_path, 0644);
        break;
      case DriverFileKind::module:
      case DriverFileKind::firmware:
        break;  // the kernel's, which is not the container's
    }
  }

  // What is there already is left out of the plan, and what is in the way is named.
  Result<void> look() {
    std::vector<std::string> in_the_way;
    const auto taken = [&](const std::string& path) {
      if (!options_.replace)
        in_the_way.push_back(path);
      else
        report_.saved.push_back(path);
      return false;
    };
    std::erase_if(copies_, [&](const Copy& copy) {
      const auto kind = root_.kind(copy.to, false);
      if (kind == EntryKind::none) return false;
      // Files of this size in our own folder were put there by us; of an image's own data the
      // first counts.
      const bool ours = copy.to.starts_with(kInjectedFolder) && kind == EntryKind::file &&
                        root_.size_bytes(copy.to) == copy.size_bytes;
      if (ours || !copy.to.starts_with(kInjectedFolder)) {
        ++report_.kept;
        return true;
      }
      return taken(copy.to);
    });
    std::erase_if(links_, [&](const Link& link) {
      if (root_.kind(link.path, false) == EntryKind::none) return false;
      if (root_.link_text(link.path) == link.target) {
        ++report_.kept;
        return true;
      }
      return taken(link.path);
    });
    if (!in_the_way.empty())
      return fail(ErrorKind::busy,
                  fmt::format("the image has its own {}: nothing was changed; take the driver out "
                              "of the image, or replace it with --replace",
                              fmt::join(in_the_way, ", ")));
    for (const auto& path : report_.saved) TRY(root_.save(path));
    return {};
  }

  Result<void> bind() {
    // A second mount over the first would hide it to no end.
    if (root_.kind(std::string(kInjectedFolder) + "/" + std::string(kBundleFile), true) !=
        EntryKind::none)
      return {};
    return root_.bind(folder_, kInjectedFolder, true);
  }

  Result<void> add_to_cache() {
    const auto cache = root_.read(kCache, kCacheMaxBytes);
    if (!cache) {
      report_.warnings.push_back("the image has no /etc/ld.so.cache; its loader looks in " +
                                 report_.loader_folder);
      return {};
    }
    auto merged = add_to_loader_cache(*cache, cached_, bundle_.machine);
    if (!merged) {
      report_.warnings.push_back(merged.error().message + "; the image's loader looks in " +
                                 report_.loader_folder);
      return {};
    }
    if (has_all(*cache)) return {};
    return root_.write(kCache, *merged, 0644);
  }

  // Whether an earlier injection came this far.
  bool has_all(std::string_view cache) const {
    const auto entries = parse_loader_cache(cache);
    return entries && std::all_of(cached_.begin(), cached_.end(), [&](const auto& library) {
             return std::any_of(entries->begin(), entries->end(), [&](const auto& entry) {
               return entry.name == library.name && entry.path == library.path;
             });
           });
  }

  const DriverBundle& bundle_;
  const std::string& folder_;
  const RootFolder& root_;
  const InjectOptions& options_;
  InjectReport report_;
  std::vector<Copy> copies_;
  std::vector<Link> links_;
  std::vector<CachedLibrary> cached_;
};

std::uint16_t elf_machine(const std::string& machine) {
  return machine == "aarch64" ? kElfMachineAarch64 : kElfMachineX86_64;
}

}  // namespace

Result<LoaderPlace> find_loader_folder(const RootFolder& root, const std::string& machine) {
  // Debian's and its children's, RHEL's and SUSE's, Arch's.
  const std::string folders[] = {"/usr/lib/" + machine + "-linux-gnu",
                                 "/lib/" + machine + "-linux-gnu",
                                 "/usr/lib64",
                                 "/lib64",
                                 "/usr/lib",
                                 "/lib"};
  std::string other;
  for (const auto& folder : folders) {
    const auto library = root.read(folder + "/libc.so.6", 64);
    if (!library) continue;
    constexpr std::size_t kMachineAt = 18;
    if (library->size() < kMachineAt + 2) continue;
    const auto found =
        static_cast<std::uint16_t>(static_cast<unsigned char>((*library)[kMachineAt]) |
                                   static_cast<unsigned char>((*library)[kMachineAt + 1]) << 8);
    if (found == elf_machine(machine)) return LoaderPlace{folder};
    other = folder;
  }
  if (!other.empty())
    return fail(ErrorKind::unsupported,
                fmt::format("the image's C library in {} is for another processor than the "
                            "driver, which is for {}",
                            other, machine));
  for (const auto& name : root.list("/lib").value_or(std::vector<std::string>()))
    if (name.starts_with("ld-musl-"))
      return fail(ErrorKind::unsupported,
                  "the image's C library is musl, for which NVIDIA makes no driver libraries; use "
                  "an image with glibc");
  return fail(ErrorKind::unsupported,
              "the image has no glibc (libc.so.6), so nothing in it can load a driver library");
}

Result<InjectReport> inject(const DriverBundle& bundle, const std::string& bundle_folder,
                            const RootFolder& root, const InjectOptions& options) {
  return Injector(bundle, bundle_folder, root, options).run();
}

}  // namespace gpuready::vm
