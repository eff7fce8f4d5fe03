// The filesystems of all mount namespaces, whatever keeps these: a process, a descriptor, or a bind
// mount in another one. Each is entered, since a process whose root is another folder sees a part.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace gpuready {

class MountNamespaces {
 public:
  // What this process itself sees is not foreign.
  MountNamespaces();

  // Reads the table of the namespace that a link of /proc leads to ("/proc/7/ns/mnt",
  // "/proc/7/fd/5"), and those of namespaces that bind mounts in it keep. Namespaces of other kinds
  // are passed over. Each is read once; one that could not be read is an error each time. May be
  // called by several threads; each that reads gets a root and a working folder of its own.
  Result<void> add(const std::string& link, std::uint64_t inode);
  // Whether a file on this device is a namespace, of whatever kind.
  bool has_device(unsigned major, unsigned minor) const;

  // One line of mountinfo for each filesystem that this process does not see.
  const std::vector<std::string>& foreign() const { return foreign_; }

 private:
  struct Space {
    std::uint64_t inode = 0;
    std::string path;
    Descriptor file;
  };
  Result<void> read(const Space& space, std::vector<Space>& kept);
  Result<std::string> table() const;
  Result<void> leave() const;

  std::mutex mutex_;
  Descriptor own_, root_, proc_;
  unsigned major_ = 0, minor_ = 0;  // of the filesystem of namespaces
  std::set<std::uint64_t> read_;
  std::set<std::string> filesystems_;
  std::vector<std::string> foreign_;
};

// 4026532195 of "mnt:[4026532195]"; nothing for another text.
std::optional<std::uint64_t> inode_of_mount_namespace(std::string_view link);

}  // namespace gpuready
