#include "vm/drivers/module_source.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "vm/drivers/driver_archive.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kKbuildMark = "nvidia/nvidia.Kbuild";
constexpr int kMaxSourceDepth = 24;
constexpr std::size_t kMaxSourceFiles = 50'000;

std::string joined(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

// Debian's nvidia-open-kernel.tar.xz and its like.
bool is_source_archive(std::string_view path) {
  const auto name = gpuready::base_name(path);
  return name.starts_with("nvidia") && contains(name, "kernel") && contains(name, ".tar.");
}

bool is_built(std::string_view name) {
  for (const std::string_view end : {".o", ".ko", ".cmd", ".mod", ".mod.c", ".symvers"})
    if (name.ends_with(end)) return true;
  return name == "conftest" || name == "_out";
}

class Bringer {
 public:
  Bringer(Host& host, StagingFolder& staging, const std::string& version, const std::string& into)
      : host_(host), staging_(staging), version_(version), into_(into) {}

  Result<bool> from(const std::string& path) {
    const auto status = host_.status(path);
    if (!status) return std::unexpected(status.error());
    if (status->kind == FileKind::directory) return from_folder(path);
    const auto mapped = TRY(MappedFile::open(path));
    if (!is_driver_archive(mapped.bytes())) return false;
    return from_archive(path, mapped);
  }

  ModuleSource take() { return std::move(found_); }

 private:
  // ---- folders
  Result<bool> from_folder(const std::string& path) {
    std::string base = path;
    while (base.ends_with('/')) base.pop_back();
    std::vector<std::string> folders = {base, base + "/kernel-open"}, archives;
    const auto below = base + "/usr/src";
    for (const auto& name : host_.list_directory(below).value_or(std::vector<std::string>())) {
      if (!name.starts_with("nvidia")) continue;
      folders.push_back(below + "/" + name);
      folders.push_back(below + "/" + name + "/kernel-open");
      if (is_source_archive(name)) archives.push_back(below + "/" + name);
    }
    std::optional<std::string> best;
    for (const auto& folder : folders) {
      if (!host_.exists(joined(folder, kKbuildMark)) || !host_.exists(folder + "/Makefile"))
        continue;
      const bool fits = version_of_source(host_, folder) == version_;
      if (!best || (fits && version_of_source(host_, *best) != version_)) best = folder;
    }
    if (best) {
      // NVIDIA's whole source is built from above.
      const auto above = gpuready::folder_of(*best);
      if (gpuready::base_name(*best) == "kernel-open" &&
          host_.exists(above + "/src/nvidia/Makefile"))
        best = above;
      found_ = {into_, *best};
      TRY(copy(*best, into_, 0));
      return true;
    }
    for (const auto& archive : archives)
      if (TRY(from_archive(archive, TRY(MappedFile::open(archive))))) return true;
    return false;
  }

  Result<void> copy(const std::string& folder, const std::string& to, int depth) {
    for (const auto& name : TRY(host_.list_directory(folder))) {
      const auto path = folder + "/" + name;
      if (is_built(name) || host_.read_link(path)) continue;
      const auto status = TRY(host_.status(path));
      if (++files_ > kMaxSourceFiles || depth > kMaxSourceDepth)
        return fail(ErrorKind::too_large,
                    fmt::format("{}: more files than the source of a driver", found_.source));
      if (status.kind == FileKind::directory) TRY(copy(path, joined(to, name), depth + 1));
      if (status.kind != FileKind::regular) continue;
      const auto mapped = TRY(MappedFile::open(path));
      const auto bytes = mapped.bytes();
      const auto file = TRY(staging_.create_file(joined(to, name), 0755));
      TRY(file->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    return {};
  }

  // ---- archives
  Result<bool> from_archive(const std::string& name, const MappedFile& mapped) {
    std::vector<std::string> paths;
    TRY(read_driver_archive(mapped.bytes(), name,
                            {.wants =
                                 [&](std::string_view path) {
                                   paths.emplace_back(path);
                                   return false;
                                 },
                             .begin = {},
                             .piece = {},
                             .end = {}}));
    const auto root = find_module_source(paths);
    std::string inner;
    if (!root)
      for (const auto& path : paths)
        if (is_source_archive(path)) inner = path;
    if (!root && (inner.empty() || is_inner_)) return false;
    const auto wanted = root ? *root : inner;
    const auto above = root ? (root->empty() ? "" : *root + "/") : inner;
    const auto prefix = root ? into_ : into_ + "-archive";
    std::unique_ptr<Storage::File> file;
    TRY(read_driver_archive(
        mapped.bytes(), name,
        {.wants =
             [&](std::string_view path) {
               if (!path.starts_with(above) || (!root && path != inner)) return false;
               for (const auto part : split(path.substr(root ? above.size() : 0), "/"))
                 if (root && is_built(part)) return false;
               return true;
             },
         .begin = [&](std::string_view path) -> Result<void> {
           const auto rest = root ? path.substr(above.size()) : gpuready::base_name(path);
           file = TRY(staging_.create_file(joined(prefix, rest), 0755));
           return {};
         },
         .piece = [&](std::string_view bytes) { return file->write(bytes); },
         .end = [&]() -> Result<void> {
           file.reset();
           return {};
         }}));
    found_ = {into_, wanted.empty() ? name : name + ":" + wanted};
    if (root) return true;
    is_inner_ = true;
    const auto staged = joined(prefix, gpuready::base_name(inner));
    const bool there =
        TRY(from_archive(name + ":" + inner, TRY(MappedFile::open(staging_.path_of(staged)))));
    is_inner_ = false;
    TRY(staging_.remove_file(staged));
    TRY(staging_.remove_empty_folders(prefix));
    return there;
  }

  Host& host_;
  StagingFolder& staging_;
  const std::string& version_;
  const std::string& into_;
  ModuleSource found_;
  std::size_t files_ = 0;
  bool is_inner_ = false;  // an archive in an archive; a third is not looked into
};

}  // namespace

std::optional<std::string> find_module_source(const std::vector<std::string>& paths) {
  const std::set<std::string_view> all(paths.begin(), paths.end());
  std::optional<std::string> found;
  for (const auto& path : paths) {
    if (path != kKbuildMark && !path.ends_with("/" + std::string(kKbuildMark))) continue;
    std::string root = path.substr(0, path.size() - kKbuildMark.size());
    if (root.ends_with('/')) root.pop_back();
    if (!all.contains(joined(root, "Makefile"))) continue;
    const bool open = gpuready::base_name(root) == "kernel-open";
    // Beside the open modules of an installer stand the others.
    if (!found || open) found = root;
    if (!open) continue;
    const auto slash = root.rfind('/');
    const auto above = slash == root.npos ? std::string() : root.substr(0, slash);
    if (all.contains(joined(above, "src/nvidia/Makefile")) &&
        all.contains(joined(above, "Makefile")))
      return above;
  }
  return found;
}

std::string version_of_source(Host& host, const std::string& folder) {
  for (const char* file : {"/kernel-open/Kbuild", "/Kbuild"}) {
    const auto text = host.read_file(folder + file);
    constexpr std::string_view kDefine = "NV_VERSION_STRING=\\\"";
    const auto at = text ? text->find(kDefine) : std::string::npos;
    if (at == std::string::npos) continue;
    const auto from = at + kDefine.size();
    return printable(text->substr(from, text->find('\\', from) - from));
  }
  return {};
}

Result<ModuleSource> bring_module_source(Host& host, StagingFolder& staging,
                                         const std::vector<std::string>& from,
                                         const std::string& driver_version,
                                         const std::string& into) {
  Bringer bringer(host, staging, driver_version, into);
  for (const auto& path : from)
    if (TRY(bringer.from(path))) return bringer.take();
  return fail(ErrorKind::not_found,
              fmt::format("no source of kernel modules in {}: neither nvidia/nvidia.Kbuild nor an "
                          "archive with it; it is in NVIDIA's installers (kernel-open/) and in "
                          "Debian's nvidia-open-kernel-source",
                          join(from, ", ")));
}

}  // namespace gpuready::vm
