// Paths on hosts that many users share. Trusted are root and the effective user: a symbolic link is
// followed only when a trusted user owns it; by root only where no one else can write to its folder
// or exchange a folder above it, too. Files are believed under the stricter rule, by every user.
//
// Each component is opened by itself, without following links, from the descriptor of the folder
// before it. So what is checked is what is used, however quickly others exchange names. openat2(2)
// cannot tell one owner's links from another's, so this walk serves all kernels.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace gpuready {

// In a user namespace that knows only some users, all others are shown as this one: the host's
// root, too, and no process in the namespace can be any of them.
constexpr uid_t kOverflowUser = 65534;
// Whether a process of the namespace with this /proc/self/uid_map can be that user.
bool can_be_overflow_user(std::string_view uid_map);

// A folder that is held open (O_PATH).
struct HeldFolder {
  std::shared_ptr<const Descriptor> descriptor;
  std::string path;     // for messages
  struct stat facts{};  // of the folder
  bool fixed = false;   // no one else can put another folder in its place

  int fd() const { return descriptor->get(); }
  bool others_may_write() const;  // other users than trusted ones
};

struct PathEnd {
  HeldFolder folder;
  std::string name;                 // in it; "." for the folder itself
  std::optional<struct stat> file;  // what has that name, if anything; a link if it was kept
  bool fixed = false;               // no one else can put another file in its place
  std::string exposed;  // why not: the first folder, link or file that others can change

  std::string path() const { return folder.path + "/" + name; }
};

// Whether a link at the path's end is followed. One in the middle always is, if it is trusted.
enum class LastLink { follow, keep };

// A link that is not trusted is `no_permission`, and the message says whose it is.
Result<PathEnd> walk_to(const std::string& path, LastLink last);
Result<HeldFolder> hold_folder(const std::string& path);

// An error unless a trusted user owns the file or folder and no one else may write to it, or to the
// folder that it is in. A link at the end is an error as well, but with a slash behind it:
// "FOLDER/" stands for what the link leads to.
Result<void> check_own_file(const std::string& path);
// The same for a file, which is opened for reading.
Result<Descriptor> open_own_file(const std::string& path);

// An error (no_permission) unless no one but trusted users can change what `path` leads to: the
// file, its folders, and the links on the way. It names the first of these that others can change.
Result<void> check_only_ours(const std::string& path);

// An error where others own what `end` names or may put something else there, so that a file
// would be replaced that is not ours.
Result<void> refuse_foreign(const PathEnd& end, const std::string& path);

}  // namespace gpuready
