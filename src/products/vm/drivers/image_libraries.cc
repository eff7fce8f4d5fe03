#include "vm/drivers/image_libraries.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "machine/system/loader_cache.h"
#include "vm/drivers/driver_files.h"
#include "vm/guest/root_folder.h"

namespace gpuready::vm {
namespace {

constexpr const char* kFolders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",  // Debian's
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/nvidia",
    "/usr/lib/nvidia/current",
    "/usr/local/lib",
    "/usr/local/lib64",
};
constexpr const char* kConfiguration = "/etc/ld.so.conf";
constexpr const char* kConfigurationFolder = "/etc/ld.so.conf.d/*.conf";
constexpr const char* kCache = "/etc/ld.so.cache";
constexpr std::size_t kConfigurationMaxBytes = 64 * KiB, kCacheMaxBytes = 16 * MiB;
constexpr std::size_t kMostConfigurations = 256, kMostFolders = 1024;
// A loader of 64 bits passes over it (ELF, EI_CLASS).
constexpr std::string_view kNarrowElf{
    "\x7f"
    "ELF\x01",
    5};

class Search {
 public:
  explicit Search(const RootFolder& root) : root_(root) {}

  std::vector<ImageLibrary> run() {
    for (const char* path : kFolders) add(path);
    configuration(kConfiguration);
    configurations(kConfigurationFolder);
    cache();
    for (const auto& name : names_in("/usr/local"))
      if (name.starts_with("cuda")) add("/usr/local/" + name + "/compat");
    for (std::size_t i = 0; i < folders_.size(); ++i) look(folders_[i]);
    return std::move(found_);
  }

 private:
  std::vector<std::string> names_in(const std::string& path) const {
    return root_.list(path).value_or(std::vector<std::string>());
  }

  void add(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    if (folders_.size() < kMostFolders && std::ranges::find(folders_, path) == folders_.end())
      folders_.emplace_back(path);
  }

  // ldconfig(8): folders, one a line, and "include PATTERN"; a '#' begins a comment.
  void configuration(const std::string& path) {
    if (read_.size() >= kMostConfigurations || !read_.insert(path).second) return;
    const auto text = root_.read(path, kConfigurationMaxBytes);
    if (!text) return;
    for (auto line : lines(*text)) {
      line = trim(line.substr(0, line.find('#')));
      if (const auto rest = after_prefix(line, "include"); rest && rest->find_first_of(" \t") == 0)
        for (const auto pattern : split(*rest, " \t"))
          configurations(pattern.starts_with('/')
                             ? std::string(pattern)
                             : gpuready::folder_of(path) + "/" + std::string(pattern));
      else
        for (const auto folder : split(line, " \t:,"))
          if (folder.starts_with('/')) add(folder.substr(0, folder.find('=')));
    }
  }

  void configurations(const std::string& pattern) {
    const auto folder = gpuready::folder_of(pattern);
    const std::string name(base_name(pattern));
    for (const auto& each : names_in(folder))
      if (::fnmatch(name.c_str(), each.c_str(), FNM_PERIOD) == 0)
        configuration(folder + "/" + each);
  }

  void cache() {
    const auto bytes = root_.read(kCache, kCacheMaxBytes);
    if (!bytes) return;
    const auto entries = parse_loader_cache(*bytes);
    if (!entries) return;
    for (const auto& entry : *entries)
      if (entry.path.starts_with('/') && is_of_driver(entry.name))
        add(gpuready::folder_of(entry.path));
  }

  static bool is_of_driver(std::string_view name) {
    if (names_driver_library(name)) return true;
    const auto known = known_file(name, "");
    return known && known->kind == DriverFileKind::library &&
           is_driver_version(library_version(name));
  }

  void look(const std::string& folder) {
    for (const auto& name : names_in(folder)) {
      if (!is_of_driver(name)) continue;
      const auto path = (folder == "/" ? "" : folder) + "/" + name;
      if (root_.kind(path, true) != EntryKind::file) continue;
      const auto real = root_.resolve(path).value_or(path);
      if (std::ranges::find(found_, real, &ImageLibrary::path) != found_.end()) continue;
      const auto start = root_.read(real, kNarrowElf.size());
      if (start && *start == kNarrowElf) continue;
      std::string version;
      for (const std::string_view text : {library_version(real), library_version(name)})
        if (version.empty() && is_driver_version(text)) version = text;
      found_.push_back({real, version, contains(folder, "/compat") || contains(real, "/compat")});
    }
  }

  const RootFolder& root_;
  std::vector<std::string> folders_;
  std::set<std::string> read_;  // configurations
  std::vector<ImageLibrary> found_;
};

}  // namespace

Result<std::vector<ImageLibrary>> find_image_libraries(const std::string& root) {
  const auto folder = RootFolder::open(root);
  if (!folder && folder.error().code == ENOTDIR)
    return fail(ErrorKind::bad_input, root + " is not a folder");
  if (!folder) return std::unexpected(folder.error());
  return Search(*folder).run();
}

}  // namespace gpuready::vm
