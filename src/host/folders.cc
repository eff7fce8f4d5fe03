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

}  // namespace gpuready
