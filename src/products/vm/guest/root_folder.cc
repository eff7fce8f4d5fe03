#include "vm/guest/root_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/descriptor.h"
#include "base/units.h"

namespace gpuready::vm {
namespace {

// FICLONE of linux/fs.h, which glibc before 2.36 does not bear beside its sys/mount.h.
constexpr unsigned long kCloneFile = _IOW(0x94, 9, int);

std::unexpected<Error> failed(const std::string& path) { return fail_errno(path, errno); }

std::string relative(const std::string& path) {
  const auto at = path.find_first_not_of('/');
  return at == path.npos ? "." : path.substr(at);
}

std::string temporary_name() {
  static unsigned count = 0;
  return fmt::format(".gpuready-{}-{}.tmp", ::getpid(), ++count);
}

// A copy within the kernel, else through memory.
Result<void> copy_bytes(int from, int to, std::uint64_t size, const std::string& path) {
  std::uint64_t left = size;
  while (left > 0) {
    const auto copied =
        ::copy_file_range(from, nullptr, to, nullptr, std::min<std::uint64_t>(left, GiB), 0);
    if (copied <= 0) break;
    left -= static_cast<std::uint64_t>(copied);
  }
  std::vector<char> buffer(left > 0 ? MiB : 0);
  while (left > 0) {
    const auto got = ::read(from, buffer.data(), buffer.size());
    if (got < 0) return failed(path);
    if (got == 0) return fail(ErrorKind::truncated, path + " became shorter");
    TRY(write_all(to, {buffer.data(), static_cast<std::size_t>(got)}, path));
    left -= std::min(left, static_cast<std::uint64_t>(got));
  }
  return {};
}

}  // namespace

std::string_view to_string(CopyMethod method) {
  return method == CopyMethod::reflink ? "reflink"
         : method == CopyMethod::copy  ? "copy"
                                       : "hard link";
}

Result<RootFolder> RootFolder::open(const std::string& path) {
  Descriptor root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed(path);
  RootFolder folder(std::move(root), path == "/" ? "" : path);
  // Without the system call nothing keeps a link within the root.
  if (const auto self = folder.open_at(".", O_PATH | O_DIRECTORY); !self) {
    if (self.error().code == ENOSYS)
      return fail(ErrorKind::unsupported, "this kernel has no openat2(2); 5.6 or newer is needed");
    return std::unexpected(self.error());
  }
  return folder;
}

std::string RootFolder::whole(const std::string& path) const {
  return path_ + "/" + relative(path);
}

Result<Descriptor> RootFolder::open_at(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const auto fd = ::syscall(SYS_openat2, root_.get(), relative(path).c_str(), &how, sizeof how);
  if (fd < 0) return failed(whole(path));
  return Descriptor(static_cast<int>(fd));
}

Result<RootFolder::Place> RootFolder::place(const std::string& path, bool make) const {
  const auto inside = relative(path);
  const auto slash = inside.rfind('/');
  const auto parent = slash == inside.npos ? std::string(".") : inside.substr(0, slash);
  if (make) TRY(make_folders(parent));
  return Place{TRY(open_at(parent, O_PATH | O_DIRECTORY)),
               slash == inside.npos ? inside : inside.substr(slash + 1)};
}

EntryKind RootFolder::kind(const std::string& path, bool follow) const {
  const auto opened = open_at(path, O_PATH | (follow ? 0 : O_NOFOLLOW));
  struct stat status{};
  if (!opened || ::fstat(opened->get(), &status) != 0) return EntryKind::none;
  return S_ISREG(status.st_mode)   ? EntryKind::file
         : S_ISDIR(status.st_mode) ? EntryKind::folder
         : S_ISLNK(status.st_mode) ? EntryKind::link
                                   : EntryKind::other;
}

std::optional<std::string> RootFolder::link_text(const std::string& path) const {
  const auto at = place(path, false);
  if (!at) return std::nullopt;
  char text[PATH_MAX];
  const auto size = ::readlinkat(at->folder.get(), at->name.c_str(), text, sizeof text);
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

std::optional<std::string> RootFolder::resolve(const std::string& path) const {
  const auto name_of = [](const Descriptor& descriptor) -> std::optional<std::string> {
    char text[PATH_MAX];
    const auto link = fmt::format("/proc/self/fd/{}", descriptor.get());
    const auto size = ::readlink(link.c_str(), text, sizeof text);
    if (size <= 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(size));
  };
  const auto opened = open_at(path, O_PATH);
  auto root = name_of(root_);
  const auto real = opened ? name_of(*opened) : std::nullopt;
  if (!root || !real) return std::nullopt;
  if (*root == "/") root->clear();
  if (*real != *root && !real->starts_with(*root + "/")) return std::nullopt;
  return real->size() == root->size() ? "/" : real->substr(root->size());
}

std::optional<std::uint64_t> RootFolder::size_bytes(const std::string& path) const {
  const auto opened = open_at(path, O_PATH);
  struct stat status{};
  if (!opened || ::fstat(opened->get(), &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> RootFolder::read(const std::string& path, std::size_t limit_bytes) const {
  if (kind(path, true) != EntryKind::file)  // a pipe would block
    return fail(ErrorKind::not_found, whole(path) + " is not a file", ENOENT);
  const auto file = TRY(open_at(path, O_RDONLY));
  std::string out;
  char buffer[64 * KiB];
  while (out.size() < limit_bytes) {
    const auto size = ::read(file.get(), buffer, std::min(sizeof buffer, limit_bytes - out.size()));
    if (size < 0) return failed(whole(path));
    if (size == 0) break;
    out.append(buffer, static_cast<std::size_t>(size));
  }
  return out;
}

Result<std::vector<std::string>> RootFolder::list(const std::string& path) const {
  auto folder = TRY(open_at(path, O_RDONLY | O_DIRECTORY));
  DIR* entries = ::fdopendir(::dup(folder.get()));
  if (entries == nullptr) return failed(whole(path));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries)) names.emplace_back(entry->d_name);
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> RootFolder::make_folders(const std::string& path) const {
  const auto inside = relative(path);
  if (inside == "." || kind(inside, true) == EntryKind::folder) return {};
  const auto slash = inside.rfind('/');
  if (slash != inside.npos) TRY(make_folders(inside.substr(0, slash)));
  const auto at = TRY(place(inside, false));
  if (::mkdirat(at.folder.get(), at.name.c_str(), 0755) != 0 && errno != EEXIST)
    return failed(whole(inside));
  return {};
}

Result<void> RootFolder::make_link(const std::string& path, const std::string& target) const {
  const auto at = TRY(place(path, true));
  if (::symlinkat(target.c_str(), at.folder.get(), at.name.c_str()) != 0)
    return failed(whole(path));
  return {};
}

Result<void> RootFolder::save(const std::string& path) const {
  const auto at = TRY(place(path, false));
  const auto saved = at.name + ".gpuready-saved";
  if (::renameat(at.folder.get(), at.name.c_str(), at.folder.get(), saved.c_str()) != 0)
    return failed(whole(path));
  return {};
}

Result<void> RootFolder::write(const std::string& path, std::string_view bytes,
                               std::uint32_t mode) const {
  const auto at = TRY(place(path, true));
  const auto name = temporary_name();
  const Descriptor file(
      ::openat(at.folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return failed(whole(path));
  auto result = [&]() -> Result<void> {
    TRY(write_all(file.get(), bytes, whole(path)));
    if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 ||
        ::renameat(at.folder.get(), name.c_str(), at.folder.get(), at.name.c_str()) != 0)
      return failed(whole(path));
    return {};
  }();
  if (!result) (void)::unlinkat(at.folder.get(), name.c_str(), 0);
  return result;
}

Result<CopyMethod> RootFolder::copy(const std::string& from, const std::string& path,
                                    std::uint32_t mode, bool hard_link) const {
  const auto at = TRY(place(path, true));
  if (hard_link &&
      ::linkat(AT_FDCWD, from.c_str(), at.folder.get(), at.name.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return CopyMethod::hard_link;
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!source || ::fstat(source.get(), &status) != 0) return failed(from);
  const auto name = temporary_name();
  const Descriptor file(
      ::openat(at.folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return failed(whole(path));
  const bool shared = ::ioctl(file.get(), kCloneFile, source.get()) == 0;
  auto result = [&]() -> Result<void> {
    if (!shared)
      TRY(copy_bytes(source.get(), file.get(), static_cast<std::uint64_t>(status.st_size),
                     whole(path)));
    if (::fchmod(file.get(), mode) != 0) return failed(whole(path));
    // Never over what stands there; a filesystem that cannot tell has been looked at before.
    if (::renameat2(at.folder.get(), name.c_str(), at.folder.get(), at.name.c_str(),
                    RENAME_NOREPLACE) == 0)
      return {};
    if (errno == EINVAL &&
        ::renameat(at.folder.get(), name.c_str(), at.folder.get(), at.name.c_str()) == 0)
      return {};
    return failed(whole(path));
  }();
  if (!result) {
    (void)::unlinkat(at.folder.get(), name.c_str(), 0);
    return std::unexpected(result.error());
  }
  return shared ? CopyMethod::reflink : CopyMethod::copy;
}

Result<void> RootFolder::bind(const std::string& from, const std::string& path,
                              bool read_only) const {
  TRY(make_folders(path));
  const auto at = TRY(open_at(path, O_PATH | O_DIRECTORY));
  const auto target = fmt::format("/proc/self/fd/{}", at.get());
  if (::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return failed("cannot mount " + from + " at " + whole(path));
  if (!read_only) return {};
  // The descriptor is of what lies below the mount, so the place is opened again.
  const auto mounted = TRY(open_at(path, O_PATH | O_DIRECTORY));
  const auto again = fmt::format("/proc/self/fd/{}", mounted.get());
  if (::mount(nullptr, again.c_str(), nullptr,
              MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NODEV | MS_NOSUID, nullptr) != 0)
    return failed("cannot make " + whole(path) + " read-only");
  return {};
}

Result<void> RootFolder::make_node(const NodePlan& node) const {
  const auto at = TRY(place(node.path, true));
  const auto device = makedev(node.device_major, node.device_minor);
  struct stat status{};
  if (::fstatat(at.folder.get(), at.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISCHR(status.st_mode) && status.st_rdev == device) return {};
    if (::unlinkat(at.folder.get(), at.name.c_str(), 0) != 0) return failed(whole(node.path));
  }
  if (::mknodat(at.folder.get(), at.name.c_str(), S_IFCHR | node.mode, device) != 0 ||
      ::fchmodat(at.folder.get(), at.name.c_str(), node.mode, 0) != 0 ||
      ::fchownat(at.folder.get(), at.name.c_str(), node.uid, node.gid, AT_SYMLINK_NOFOLLOW) != 0)
    return failed(whole(node.path));
  return {};
}

}  // namespace gpuready::vm
