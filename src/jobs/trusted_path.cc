#include "jobs/trusted_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr int kMostLinks = 40;  // as the kernel follows
constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;

bool is_trusted(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  if (owner != kOverflowUser) return false;
  std::ifstream map("/proc/self/uid_map");
  return map && !can_be_overflow_user(std::string(std::istreambuf_iterator<char>(map), {}));
}

// Write permission of the group counts, unless an ordinary user's own primary group has it: with
// private groups and umask 002 all of a user's folders are like that.
bool others_may_write(const struct stat& facts) {
  const bool own_group = ::geteuid() != 0 && facts.st_gid == ::getegid();
  return !is_trusted(facts.st_uid) || (facts.st_mode & S_IWOTH) != 0 ||
         ((facts.st_mode & S_IWGRP) != 0 && !own_group);
}

std::string who_may_change(const struct stat& facts) {
  if (!is_trusted(facts.st_uid)) return "belongs to user " + std::to_string(facts.st_uid);
  if ((facts.st_mode & S_IWOTH) != 0) return "may be written by all users";
  return "may be written by group " + std::to_string(facts.st_gid);
}

std::string owner_and_mode(const struct stat& facts) {
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(facts.st_mode & 07777));
  return "user " + std::to_string(facts.st_uid) + ", group " + std::to_string(facts.st_gid) +
         ", mode " + mode;
}

// Whether only trusted users can give the name of `file` to something else. In a sticky folder a
// name belongs to its file's owner.
bool is_fixed(const HeldFolder& folder, const struct stat& file) {
  return folder.fixed && is_trusted(folder.facts.st_uid) && is_trusted(file.st_uid) &&
         (!folder.others_may_write() || (folder.facts.st_mode & S_ISVTX) != 0);
}

// For an ordinary user it is the kernel's rule for sticky folders: own links, and root's. root is
// worth more trouble: others could rename a link of root's, or the folders above it.
bool may_follow(const HeldFolder& folder, const struct stat& link) {
  return is_trusted(link.st_uid) &&
         (::geteuid() != 0 || (folder.fixed && !folder.others_may_write()));
}

Result<HeldFolder> look_at_folder(int above, const char* name, std::string path) {
  auto fd = std::make_shared<const Descriptor>(::openat(above, name, kLook | O_DIRECTORY));
  HeldFolder folder{.descriptor = fd, .path = std::move(path)};
  if (fd->get() < 0 || ::fstat(fd->get(), &folder.facts) != 0)
    return fail_errno(folder.path.empty() ? "/" : folder.path, errno);
  folder.fixed = is_trusted(folder.facts.st_uid);
  return folder;
}

std::unexpected<Error> untrusted_link(const std::string& link, const HeldFolder& folder,
                                      const struct stat& facts) {
  std::string why = "belongs to user " + std::to_string(facts.st_uid);
  if (is_trusted(facts.st_uid))
    why = "is in a folder that other users may change (" + owner_and_mode(folder.facts) + ")";
  return fail(ErrorKind::no_permission, printable(link) + ": this symbolic link " + why +
                                            ", so it is not followed. Name the place that it "
                                            "leads to, or one in a folder of your own");
}

class Walk {
 public:
  explicit Walk(const std::string& path) : shown_(path) {}

  Result<PathEnd> to_end(LastLink last) {
    if (shown_.empty() || shown_.find('\0') != shown_.npos) return fail_errno(shown_, ENOENT);
    TRY(begin_at(shown_));
    while (!left_.empty()) {
      const std::string name = std::exchange(left_.back(), {});
      left_.pop_back();
      if (name == "..") TRY(go_up());
      if (name == "." || name == "..") continue;
      auto end = TRY(step(name, last));
      if (end) return std::move(*end);
    }
    return PathEnd{above_.back(), ".", above_.back().facts, above_.back().fixed, exposed_};
  }

 private:
  // The components of `path` come next; an absolute one begins at the root.
  Result<void> begin_at(std::string_view path) {
    const bool absolute = path.starts_with('/');
    if (absolute || above_.empty()) {
      above_.clear();
      above_.push_back(TRY(look_at_folder(AT_FDCWD, absolute ? "/" : ".", absolute ? "" : ".")));
    }
    const auto names = split(path, "/");
    for (auto name = names.rbegin(); name != names.rend(); ++name)
      if (!name->empty()) left_.emplace_back(*name);
    return {};
  }

  Result<void> go_up() {
    if (above_.size() > 1) {
      above_.pop_back();
      return {};
    }
    auto up = TRY(look_at_folder(above_.back().fd(), "..", above_.back().path + "/.."));
    up.fixed = up.fixed && above_.back().fixed;
    above_.back() = std::move(up);
    return {};
  }

  // The end of the path, where `name` is that; else one folder further.
  Result<std::optional<PathEnd>> step(const std::string& name, LastLink last) {
    HeldFolder& folder = above_.back();
    const bool is_last = left_.empty();
    const std::string path = folder.path + "/" + name;
    // A folder is asked for as such first: that alone mounts what an automounter holds ready.
    int opened = is_last ? -1 : ::openat(folder.fd(), name.c_str(), kLook | O_DIRECTORY);
    if (is_last || (opened < 0 && errno == ENOTDIR))
      opened = ::openat(folder.fd(), name.c_str(), kLook);
    auto fd = std::make_shared<const Descriptor>(opened);
    struct stat facts{};
    if (fd->get() < 0 && errno == ENOENT && is_last)
      return PathEnd{folder, name, {}, false, exposed_};
    if (fd->get() < 0 || ::fstat(fd->get(), &facts) != 0) return fail_errno(shown_, errno);
    const bool fixed = is_fixed(folder, facts);
    if (!fixed && exposed_.empty())
      exposed_ = is_trusted(facts.st_uid) ? folder.path + " " + who_may_change(folder.facts)
                                          : path + " " + who_may_change(facts);
    if (S_ISLNK(facts.st_mode) && !(is_last && last == LastLink::keep)) {
      if (!may_follow(folder, facts)) return untrusted_link(path, folder, facts);
      if (++links_ > kMostLinks) return fail_errno(shown_, ELOOP);
      TRY(begin_at(TRY(text_of(fd->get()))));
      return std::nullopt;
    }
    if (is_last) return PathEnd{folder, name, facts, fixed, exposed_};
    if (!S_ISDIR(facts.st_mode)) return fail_errno(shown_, ENOTDIR);
    above_.push_back({std::move(fd), path, facts, fixed});
    return std::nullopt;
  }

  Result<std::string> text_of(int link) const {
    char text[PATH_MAX];
    const ssize_t size = ::readlinkat(link, "", text, sizeof text);
    if (size < 0) return fail_errno(shown_, errno);
    return std::string(text, static_cast<std::size_t>(size));
  }

  const std::string& shown_;
  std::vector<HeldFolder> above_;  // the folders down to where the walk is
  std::vector<std::string> left_;  // components to come, the next one last
  std::string exposed_;            // as PathEnd has it
  int links_ = 0;
};

Result<void> check_own(const struct stat& facts, const std::string& path) {
  const std::string shown = printable(path);
  if (S_ISLNK(facts.st_mode))
    return fail(ErrorKind::no_permission, shown +
                                              ": a symbolic link has replaced gpuready's own file "
                                              "or folder, and is not followed. Remove it");
  if (!others_may_write(facts)) return {};
  const std::string us = std::to_string(::geteuid());
  if (!is_trusted(facts.st_uid))
    return fail(ErrorKind::no_permission,
                shown + " belongs to another user (" + owner_and_mode(facts) + "), so user " + us +
                    " does not trust it. Name another folder; or, if you trust everything in "
                    "it: chown -R " +
                    us + " " + shown);
  std::string why = shown + ": other users may write there (" + owner_and_mode(facts) +
                    "), so it is not trusted. Name another folder";
  // A folder that all share, such as /tmp, stays as it is.
  if (!(facts.st_mode & S_ISVTX) && (S_ISDIR(facts.st_mode) || S_ISREG(facts.st_mode)))
    why += "; or, if you trust everything in it: chmod -R go-w " + shown;
  return fail(ErrorKind::no_permission, why);
}

Result<PathEnd> own_file(const std::string& path) {
  auto end = TRY(walk_to(path, path.ends_with('/') ? LastLink::follow : LastLink::keep));
  if (!end.file) return fail_errno(path, ENOENT);
  // A folder answers for itself: its name may be in a folder of somebody else's.
  if (!S_ISDIR(end.file->st_mode)) TRY(check_own(end.folder.facts, end.folder.path));
  TRY(check_own(*end.file, path));
  return end;
}

}  // namespace

bool can_be_overflow_user(std::string_view uid_map) {
  for (const auto line : lines(uid_map)) {
    const auto parts = split(line, " ");
    const auto first = parse_uint(parts.empty() ? "" : parts.front());
    const auto count = parse_uint(parts.empty() ? "" : parts.back());
    // A first one above it wraps around, to more than any count.
    if (first && count && kOverflowUser - *first < *count) return true;
  }
  return false;
}

bool HeldFolder::others_may_write() const { return gpuready::others_may_write(facts); }

Result<PathEnd> walk_to(const std::string& path, LastLink last) { return Walk(path).to_end(last); }

Result<HeldFolder> hold_folder(const std::string& path) {
  // The dot makes the folder a component before the last, whatever it is.
  return TRY(walk_to(path + "/.", LastLink::follow)).folder;
}

Result<void> check_own_file(const std::string& path) {
  TRY(own_file(path));
  return {};
}

Result<Descriptor> open_own_file(const std::string& path) {
  const auto end = TRY(own_file(path));
  Descriptor fd(::openat(end.folder.fd(), end.name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) return fail_errno(path, errno);
  return fd;
}

Result<void> check_only_ours(const std::string& path) {
  char here[PATH_MAX];  // whose folders count as well
  if (!path.starts_with('/') && ::getcwd(here, sizeof here) == nullptr)
    return fail_errno("the current folder", errno);
  const auto end =
      TRY(walk_to(path.starts_with('/') ? path : std::string(here) + "/" + path, LastLink::follow));
  if (!end.file) return fail_errno(path, ENOENT);
  if (!end.exposed.empty()) return fail(ErrorKind::no_permission, printable(end.exposed));
  if (!others_may_write(*end.file)) return {};
  return fail(ErrorKind::no_permission, printable(path) + " " + who_may_change(*end.file));
}

Result<void> refuse_foreign(const PathEnd& end, const std::string& path) {
  if (!end.file) return {};
  if (is_trusted(end.file->st_uid) || !end.folder.others_may_write()) return {};
  return fail(ErrorKind::no_permission,
              printable(path) + " belongs to another user (" + owner_and_mode(*end.file) +
                  ") and is in a folder that others may change, so it is not replaced. Remove "
                  "it, or name another file");
}

}  // namespace gpuready
