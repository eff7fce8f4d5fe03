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

// The kernel modules of `root` by name ("nvidia_uvm"), from modules.dep of that release.
class KernelModules {
 public:
  KernelModules(Host& host, const std::string& root, const std::string& kernel_release);
  // The module's file; nothing when it has none.
  std::optional<std::string> find(std::string_view name) const;
  bool built_in(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> files_;
  std::set<std::string, std::less<>> built_in_;
};

}  // namespace gpuready::vm
