#include "vm/drivers/find_files.h"

#include <fmt/format.h>

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

KernelModules::KernelModules(Host& host, const std::string& root,
                             const std::string& kernel_release) {
  for (const char* folder : {"/lib/modules/", "/usr/lib/modules/"}) {
    const auto base = (root == "/" ? "" : root) + folder + kernel_release + "/";
    const auto each = [&](const char* list, const auto& take) {
      const auto text = host.read_file(base + list, kListMaxBytes);
      if (!text) return;
      for (const auto line : lines(*text)) {
        const auto path = line.substr(0, line.find(':'));
        if (const auto stem = module_file_stem(base_name(path)))
          take(module_name(*stem), base + std::string(path));
      }
    };
    each("modules.dep", [&](std::string name, std::string path) { files_.emplace(name, path); });
    each("modules.builtin", [&](std::string name, const std::string&) { built_in_.insert(name); });
  }
}

std::optional<std::string> KernelModules::find(std::string_view name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? std::nullopt : std::optional(found->second);
}

bool KernelModules::built_in(std::string_view name) const { return built_in_.contains(name); }

}  // namespace gpuready::vm
