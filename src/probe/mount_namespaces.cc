#include "probe/mount_namespaces.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/kernel/mount_table.h"
#include "base/text.h"
#include "probe/proc_files.h"

namespace gpuready {

MountNamespaces::MountNamespaces()
    : own_(open_at(AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY)),
      root_(open_at(AT_FDCWD, "/", O_PATH)),
      proc_(open_at(AT_FDCWD, "/proc", O_PATH)) {
  struct stat status = {};
  if (::fstat(own_.get(), &status) == 0) {
    major_ = ::major(status.st_dev);
    minor_ = ::minor(status.st_dev);
  }
  const auto own = table().value_or("");
  for (const auto& mount : parse_mounts(own)) filesystems_.insert(mount.device);
}

Result<std::string> MountNamespaces::table() const {
  const std::string path = "thread-self/mountinfo";
  TextReader reader;
  const auto text = reader.read(proc_.get(), path);
  if (!text) return fail_errno("/proc/" + path, text.error());
  return std::string(*text);
}

Result<void> MountNamespaces::leave() const {
  if (::setns(own_.get(), CLONE_NEWNS) == 0 && ::fchdir(root_.get()) == 0 && ::chroot(".") == 0)
    return {};
  return fail_errno("/proc/self/ns/mnt", errno);
}

// Another namespace's root and working folder are this thread's then, until leave().
Result<void> MountNamespaces::read(const Space& space, std::vector<Space>& kept) {
  ::unshare(CLONE_FS);  // setns(2) refuses threads that share them
  if (::setns(space.file.get(), CLONE_NEWNS) != 0) return fail_errno(space.path, errno);
  const auto text = TRY(table());
  for (const auto line : lines(text)) {
    const auto mounts = parse_mounts(line);
    if (mounts.empty()) continue;
    const auto& mount = mounts.front();
    if (filesystems_.insert(mount.device).second) foreign_.emplace_back(line);
    if (const auto inode = inode_of_mount_namespace(mount.root); inode && !read_.contains(*inode))
      kept.push_back({*inode, mount.point, open_at(AT_FDCWD, mount.point, O_RDONLY)});
  }
  return {};
}

Result<void> MountNamespaces::add(const std::string& link, std::uint64_t inode) {
  const std::lock_guard guard(mutex_);
  if (read_.contains(inode)) return {};
  std::vector<Space> waiting;
  waiting.push_back({inode, link, open_at(AT_FDCWD, link, O_RDONLY)});
  if (!waiting.front().file) return fail_errno(link, errno);
  if (::ioctl(waiting.front().file.get(), NS_GET_NSTYPE) != CLONE_NEWNS) return {};
  while (!waiting.empty()) {
    const Space space = std::move(waiting.back());
    waiting.pop_back();
    if (read_.contains(space.inode)) continue;
    struct stat status = {};
    if (!space.file || ::fstat(space.file.get(), &status) != 0 || status.st_ino != space.inode)
      return fail(ErrorKind::io, space.path + ": leads to another file than a mount namespace");
    const auto done = read(space, waiting);
    const auto left = leave();
    TRY(done);
    TRY(left);
    read_.insert(space.inode);
  }
  return {};
}

bool MountNamespaces::has_device(unsigned major, unsigned minor) const {
  return major == major_ && minor == minor_;
}

std::optional<std::uint64_t> inode_of_mount_namespace(std::string_view link) {
  const auto rest = after_prefix(link, "mnt:[");
  return rest && rest->ends_with(']') ? parse_uint(rest->substr(0, rest->size() - 1))
                                      : std::nullopt;
}

}  // namespace gpuready
