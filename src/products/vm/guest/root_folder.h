// A container's root as its own programs will see it: every link in a path is resolved within the
// root (openat2, RESOLVE_IN_ROOT), so a root that was made by somebody else leads nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "vm/guest/nodes.h"

namespace gpuready::vm {

enum class EntryKind { none, file, folder, link, other };

enum class CopyMethod { reflink, hard_link, copy };
std::string_view to_string(CopyMethod method);

class RootFolder {
 public:
  static Result<RootFolder> open(const std::string& path);

  // Paths are those within the root, with or without '/' before them.
  EntryKind kind(const std::string& path, bool follow) const;
  std::optional<std::string> link_text(const std::string& path) const;
  Result<std::string> read(const std::string& path, std::size_t limit_bytes) const;
  Result<std::vector<std::string>> list(const std::string& path) const;
  // The path without links, within the root and with '/' before it.
  std::optional<std::string> resolve(const std::string& path) const;
  std::optional<std::uint64_t> size_bytes(const std::string& path) const;

  Result<void> make_folders(const std::string& path) const;  // with those above it
  Result<void> make_link(const std::string& path, const std::string& target) const;
  // Moves what stands there out of the way, to a name that ends in .gpuready-saved.
  Result<void> save(const std::string& path) const;
  // A whole file of these bytes under this name, which it replaces.
  Result<void> write(const std::string& path, std::string_view bytes, std::uint32_t mode) const;
  // A file of `from`'s bytes under a name that is free; the cheapest way that `from`'s filesystem
  // offers. A hard link shares the bytes with who may write here, so it is made only when asked.
  Result<CopyMethod> copy(const std::string& from, const std::string& path, std::uint32_t mode,
                          bool hard_link) const;
  // Mounts the folder `from` here, read-only; nodes and programs in it count.
  Result<void> bind(const std::string& from, const std::string& path, bool read_only) const;
  Result<void> make_node(const NodePlan& node) const;  // replaces one of other numbers

 private:
  explicit RootFolder(Descriptor root, std::string path)
      : root_(std::move(root)), path_(std::move(path)) {}
  std::string whole(const std::string& path) const;  // as errors name it
  Result<Descriptor> open_at(const std::string& path, int flags) const;
  struct Place {
    Descriptor folder;
    std::string name;
  };
  Result<Place> place(const std::string& path, bool make) const;

  Descriptor root_;
  std::string path_;
};

}  // namespace gpuready::vm
