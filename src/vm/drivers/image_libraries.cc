#include "vm/drivers/image_libraries.h"

#include "base/text.h"
#include "vm/drivers/driver_files.h"

namespace gpuready::vm {
namespace {

constexpr const char* kFolders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/nvidia",
    "/usr/local/lib",
};

class Search {
 public:
  Search(Host& host, const std::string& root) : host_(host), root_(root == "/" ? "" : root) {
    while (root_.ends_with('/')) root_.pop_back();
  }

  void folder(const std::string& path) {
    const auto names = host_.list_directory(root_ + path);
    if (!names) return;
    for (const auto& name : *names) {
      const auto known = known_file(name, "");
      const auto version = library_version(name);
      if (!known || known->kind != DriverFileKind::library || !is_driver_version(version)) continue;
      // Links have the same name elsewhere; a folder that is a link leads to one that is listed.
      if (host_.read_link(root_ + path + "/" + name)) continue;
      const auto real = host_.real_path(root_ + path + "/" + name);
      const auto inside = real ? real->substr(std::min(root_.size(), real->size())) : path;
      for (const auto& other : found_)
        if (other.path == inside) return;
      found_.push_back({inside, std::string(version), contains(path, "/compat")});
    }
  }

  std::vector<ImageLibrary> run() {
    for (const char* path : kFolders) folder(path);
    const auto names = host_.list_directory(root_ + "/usr/local");
    for (const auto& name : names.value_or(std::vector<std::string>()))
      if (name.starts_with("cuda")) folder("/usr/local/" + name + "/compat");
    return std::move(found_);
  }

 private:
  Host& host_;
  std::string root_;
  std::vector<ImageLibrary> found_;
};

}  // namespace

Result<std::vector<ImageLibrary>> find_image_libraries(Host& host, const std::string& root) {
  const auto real = host.real_path(root);
  if (!real) return std::unexpected(real.error());
  const auto status = host.status(*real);
  if (!status || status->kind != FileKind::directory)
    return fail(ErrorKind::bad_input, root + " is not a folder");
  return Search(host, *real).run();
}

}  // namespace gpuready::vm
