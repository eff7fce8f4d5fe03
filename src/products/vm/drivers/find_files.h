// Where the files of a driver are: on this system, in a folder, in archives that were unpacked.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

struct FoundFile {
  std::string path;    // where its bytes are
  std::string source;  // what messages call that
};

// Regular files of a driver by name below `root`. `whole_system`: in the folders where systems have
// drivers; else in all folders below. Links are followed to files that lie below the root, too.
Result<std::vector<FoundFile>> find_driver_files(Host& host, const std::string& root,
                                                 bool whole_system,
                                                 const std::string& kernel_release);

// The modules of one kernel by name ("nvidia_uvm"), below folders and in archives.
class KernelModules {
 public:
  explicit KernelModules(std::string kernel_release) : release_(std::move(kernel_release)) {}

  // Those below `root`: by modules.dep, or without it by the files that are there.
  void add_root(Host& host, const std::string& root);
  // A member of an archive, or its modules.builtin.
  void add_member(const std::string& archive, std::string_view path);
  void add_built_in(std::string_view list);

  struct Place {
    std::string archive;  // empty: a file
    std::string path;
  };
  const Place* find(std::string_view name) const;  // nullptr: it has no file
  bool built_in(std::string_view name) const;

 private:
  void walk(Host& host, const std::string& folder, int depth);

  std::string release_;
  std::map<std::string, Place, std::less<>> files_;
  std::set<std::string, std::less<>> built_in_;
};

// "6.1.0-56-amd64" of "usr/lib/modules/6.1.0-56-amd64/kernel/..."; empty: not a kernel's file.
std::string_view release_of_path(std::string_view path);
inline constexpr std::string_view kBuiltInList = "modules.builtin";

}  // namespace gpuready::vm
