#include "vm/drivers/find_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "vm/drivers/driver_files.h"
#include "vm/drivers/module_info.h"
#include "vm/drivers/supported_gpus.h"

namespace gpuready::vm {
namespace {

constexpr int kMaxDepth = 12;
constexpr std::size_t kMaxNames = 500'000, kListMaxBytes = 16u << 20;

// Where distributions, NVIDIA's installer and container hosts put drivers. Not below: 32-bit
// libraries, and what images hold.
constexpr const char* kSystemFolders[] = {
    "/usr/local/nvidia",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/nvidia",
    "/usr/lib/firmware/nvidia",
    "/lib/firmware/nvidia",
    "/usr/bin",
    "/usr/sbin",
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/implicit_layer.d",
    "/usr/share/glvnd",
    "/usr/share/egl",
    "/usr/share/nvidia",
    "/etc/OpenCL/vendors",
    "/opt/nvidia",
};

class Finder {
 public:
  Finder(Host& host, std::string root) : host_(host), root_(std::move(root)) {
    if (const auto real = host_.real_path(root_.empty() ? "/" : root_)) real_root_ = *real;
    if (real_root_ == "/") real_root_.clear();
  }

  Result<void> walk(const std::string& folder, int depth = 0) {
    const auto names = host_.list_directory(folder);
    if (!names) {
      if (depth > 0 || names.error().kind == ErrorKind::not_found) return {};
      return std::unexpected(names.error());
    }
    for (const auto& name : *names) {
      if (++seen_ > kMaxNames)
        return fail(
            ErrorKind::too_large,
            fmt::format("{}: more than {} files; name the driver's folder", root_, kMaxNames));
      const auto path = folder + "/" + name;
      const bool known =
          known_file(name, "").has_value() || name == ".manifest" || name == kSupportedGpusFile;
      const bool link = host_.read_link(path).has_value();
      if (link && !known) continue;
      const auto status = host_.status(path);
      if (!status) continue;
      if (status->kind == FileKind::directory && !link && depth < kMaxDepth)
        TRY(walk(path, depth + 1));
      if (status->kind == FileKind::regular && known) add(path, link);
    }
    return {};
  }

  std::vector<FoundFile> take() { return std::move(found_); }

 private:
  void add(const std::string& path, bool link) {
    const auto real = host_.real_path(path);
    if (!real || !real->starts_with(real_root_ + "/") || !files_.insert(*real).second) return;
    // libcuda.so.1 leads to libcuda.so.580.65.06: the file's own name counts.
    if (link && !known_file(base_name(*real), "")) return;
    found_.push_back({*real, *real});
  }

  Host& host_;
  std::string root_, real_root_;
  std::set<std::string> files_;
  std::vector<FoundFile> found_;
  std::size_t seen_ = 0;
};

}  // namespace

Result<std::vector<FoundFile>> find_driver_files(Host& host, const std::string& root,
                                                 bool whole_system,
                                                 const std::string& kernel_release) {
  std::string base = root;
  while (base.ends_with('/')) base.pop_back();
  Finder finder(host, base);
  if (!whole_system) {
    TRY(finder.walk(base));
    return finder.take();
  }
  for (const char* folder : kSystemFolders) TRY(finder.walk(base + folder));
  for (const char* folder : {"/lib/modules/", "/usr/lib/modules/"})
    TRY(finder.walk(base + folder + kernel_release));
  return finder.take();
}

std::string_view release_of_path(std::string_view path) {
  constexpr std::string_view kFolder = "lib/modules/";
  const auto at = path.find(kFolder);
  if (at == path.npos) return {};
  const auto rest = path.substr(at + kFolder.size());
  return rest.substr(0, std::min(rest.find('/'), rest.size()));
}

void KernelModules::add_root(Host& host, const std::string& root) {
  for (const char* folder : {"/lib/modules/", "/usr/lib/modules/"}) {
    const auto base = (root == "/" ? "" : root) + folder + release_;
    const auto list = base + "/";
    if (const auto text = host.read_file(list + std::string(kBuiltInList), kListMaxBytes))
      add_built_in(*text);
    const auto text = host.read_file(list + "modules.dep", kListMaxBytes);
    if (!text) {
      walk(host, base, 0);
      continue;
    }
    for (const auto line : lines(*text)) {
      const auto path = line.substr(0, line.find(':'));
      if (const auto stem = module_file_stem(base_name(path)))
        files_.emplace(module_name(*stem), Place{"", list + std::string(path)});
    }
  }
}

void KernelModules::walk(Host& host, const std::string& folder, int depth) {
  for (const auto& name : host.list_directory(folder).value_or(std::vector<std::string>())) {
    const auto path = folder + "/" + name;
    if (const auto stem = module_file_stem(name))
      files_.emplace(module_name(*stem), Place{"", path});
    else if (depth < kMaxDepth && !host.read_link(path))
      walk(host, path, depth + 1);
  }
}

void KernelModules::add_member(const std::string& archive, std::string_view path) {
  const auto stem = module_file_stem(base_name(path));
  if (stem && release_of_path(path) == release_)
    files_.emplace(module_name(*stem), Place{archive, std::string(path)});
}

void KernelModules::add_built_in(std::string_view list) {
  for (const auto path : lines(list))
    if (const auto stem = module_file_stem(base_name(path))) built_in_.insert(module_name(*stem));
}

const KernelModules::Place* KernelModules::find(std::string_view name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

bool KernelModules::built_in(std::string_view name) const { return built_in_.contains(name); }

}  // namespace gpuready::vm
