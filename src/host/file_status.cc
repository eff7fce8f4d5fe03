#include "host/file_status.h"

#include <sys/sysmacros.h>

namespace gpuready {
namespace {

FileKind kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileKind::regular;
    case S_IFDIR:
      return FileKind::directory;
    case S_IFLNK:
      return FileKind::link;
    case S_IFCHR:
      return FileKind::character_device;
    case S_IFBLK:
      return FileKind::block_device;
    default:
      return FileKind::other;
  }
}

}  // namespace

FileStatus to_file_status(const struct stat& facts) {
  FileStatus out;
  out.kind = kind_of(facts.st_mode);
  out.mode = facts.st_mode & 07777;
  out.uid = facts.st_uid;
  out.gid = facts.st_gid;
  out.device_major = major(facts.st_rdev);
  out.device_minor = minor(facts.st_rdev);
  out.size_bytes = static_cast<std::uint64_t>(facts.st_size);
  return out;
}

}  // namespace gpuready
