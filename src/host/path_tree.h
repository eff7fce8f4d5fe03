// The files and folders of a machine written by hand, as the kernel would show them: a path may go
// through any symbolic link, and every folder exists that something is listed in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace gpuready {

class PathTree {
 public:
  // Links first: the other paths may lead through them.
  void add_link(const std::string& path, const std::string& target);
  std::string add(const std::string& path);  // its path without links; empty when it has none

  // The path without any link in it; also for what does not exist. ELOOP after 40 links.
  Result<std::string> resolve(const std::string& path) const;
  // The same, but a link at the very end stays.
  Result<std::string> resolve_folder(const std::string& path) const;

  bool exists(std::string_view resolved) const { return nodes_.contains(resolved); }
  const std::string* link(std::string_view resolved) const;            // its target's text
  std::vector<std::string> children(std::string_view resolved) const;  // sorted names

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <class T>
  using ByPath = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  Result<std::string> resolve_within(std::string_view path, bool follow_last,
                                     int& links_left) const;
  std::vector<std::string>& add_node(std::string_view path);  // the names in it

  ByPath<std::vector<std::string>> nodes_;  // names in it
  ByPath<std::string> links_;
  mutable ByPath<std::string> resolved_folders_;  // as asked for, and each as it is resolved
};

}  // namespace gpuready
