#include "host/folders.h"

#include <cerrno>

namespace gpuready {

Result<void> make_folders(const std::string& path, Storage& storage, std::uint32_t mode) {
  if (path.empty() || path == "/" || path == ".") return {};
  const auto there = storage.status(path);
  if (there) return {};
  if (there.error().kind != ErrorKind::not_found) return std::unexpected(there.error());
  const auto slash = path.rfind('/');
  const auto above = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  TRY(make_folders(above, storage, mode));
  const auto made = storage.make_folder(path, mode);
  if (!made && made.error().code != EEXIST) return made;
  return storage.sync_folder(above);
}

Result<void> remove_tree(Host& host, Storage& storage, const std::string& path) {
  if (host.read_link(path)) return storage.unlink(path);
  const auto status = host.status(path);
  if (!status)
    return status.error().kind == ErrorKind::not_found ? Result<void>()
                                                       : std::unexpected(status.error());
  if (status->kind != FileKind::directory) return storage.unlink(path);
  for (const auto& name : TRY(host.list_directory(path)))
    TRY(remove_tree(host, storage, path + "/" + name));
  return storage.remove_folder(path);
}

}  // namespace gpuready
