#include "jobs/trusted_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <fstream>
#include <optional>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own limit
constexpr uid_t kOverflowUser = 65534;

// In a user namespace that knows only some users, all others are shown as this one: the host's
// root, too, whom nobody in there can be.
bool shows_others_as_overflow_user() {
  static const bool answer = [] {
    std::ifstream map("/proc/self/uid_map");
    uid_t first = 0, outside = 0, count = 0;
    bool mapped = !map;
    while (map >> first >> outside >> count)
      mapped |= kOverflowUser >= first && kOverflowUser - first < count;
    return !mapped;
  }();
  return answer;
}

bool is_ours(uid_t owner) {
  return owner == 0 || owner == geteuid() ||
         (owner == kOverflowUser && shows_others_as_overflow_user());
}

// Who else may write to it; nothing: nobody.
std::optional<std::string> other_writer(const struct stat& facts) {
  if (!is_ours(facts.st_uid)) return fmt::format("belongs to user {}", facts.st_uid);
  if (S_ISLNK(facts.st_mode)) return std::nullopt;
  if (S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0) return std::nullopt;
  if ((facts.st_mode & S_IWOTH) != 0) return "may be written by all users";
  const bool own_group = facts.st_gid == 0 || (geteuid() != 0 && facts.st_gid == getegid());
  if ((facts.st_mode & S_IWGRP) != 0 && !own_group)
    return fmt::format("may be written by group {}", facts.st_gid);
  return std::nullopt;
}

Result<std::string> text_of_link(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), text, sizeof text);
  if (size < 0) return fail_errno(path, errno);
  return std::string(text, static_cast<std::size_t>(size));
}

Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == nullptr) return fail_errno("the current folder", errno);
  return std::string(folder) + "/" + path;
}

}  // namespace

Result<void> check_only_ours(const std::string& path) {
  std::deque<std::string> ahead;  // names that are still to be followed
  const auto put_ahead = [&](std::string_view text) {
    const auto names = split(text, "/");
    for (auto name = names.rbegin(); name != names.rend(); ++name) ahead.emplace_front(*name);
  };
  put_ahead(TRY(absolute(path)));
  std::string here = "/";
  int links = 0;
  while (true) {
    struct stat facts{};
    if (lstat(here.c_str(), &facts) != 0) return fail_errno(here, errno);
    if (const auto why = other_writer(facts))
      return fail(ErrorKind::no_permission, fmt::format("{} {}", printable(here), *why));
    if (S_ISLNK(facts.st_mode)) {
      if (++links > kMostLinks) return fail_errno(path, ELOOP);
      const std::string target = TRY(text_of_link(here));
      here = target.starts_with('/') ? "/" : folder_of(here);
      put_ahead(target);
      continue;
    }
    while (!ahead.empty() && (ahead.front().empty() || ahead.front() == ".")) ahead.pop_front();
    if (ahead.empty()) return {};
    const std::string name = std::move(ahead.front());
    ahead.pop_front();
    if (name == "..")
      here = folder_of(here);
    else
      here += (here == "/" ? "" : "/") + name;
  }
}

}  // namespace gpuready
