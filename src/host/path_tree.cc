#include "host/path_tree.h"

#include <algorithm>
#include <cerrno>

namespace gpuready {
namespace {
constexpr int kMaxLinks = 40;                // as Linux
constexpr std::size_t kMaxPathBytes = 4096;  // PATH_MAX
constexpr std::size_t kMaxComponents = 128;  // bounds the recursion; no real path comes near

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return "/";
  return path.substr(0, slash);
}
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string joined(std::string_view folder, std::string_view name) {
  std::string out;
  out.reserve(folder.size() + 1 + name.size());
  out += folder;
  if (!out.ends_with('/')) out += '/';
  out += name;
  return out;
}
}  // namespace

Result<std::string> PathTree::resolve(const std::string& path) const {
  int links_left = kMaxLinks;
  return resolve_within(path, true, links_left);
}

Result<std::string> PathTree::resolve_folder(const std::string& path) const {
  int links_left = kMaxLinks;
  return resolve_within(path, false, links_left);
}

// Resolves the folder first, from the memory of earlier questions where it can: a detection asks
// for many files in few folders.
Result<std::string> PathTree::resolve_within(std::string_view path, bool follow_last,
                                             int& links_left) const {
  if (path.empty() || path.front() != '/') return fail_errno(path, ENOENT);
  if (path.size() > kMaxPathBytes ||
      (path.size() > kMaxComponents &&
       std::count(path.begin(), path.end(), '/') > static_cast<std::ptrdiff_t>(kMaxComponents)))
    return fail_errno(path.substr(0, 80), ENAMETOOLONG);
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == "/") return std::string(path);

  const auto folder = parent_of(path);
  std::string at;
  if (const auto known = resolved_folders_.find(folder); known != resolved_folders_.end()) {
    at = known->second;
  } else {
    auto resolved = resolve_within(folder, true, links_left);
    if (!resolved) return resolved;
    at = std::move(*resolved);
    resolved_folders_.emplace(folder, at);
    resolved_folders_.emplace(at, at);
  }
  const auto name = name_of(path);
  if (name.empty() || name == ".") return at;
  if (name == "..") return std::string(parent_of(at));
  std::string here = joined(at, name);
  const auto found = follow_last ? links_.find(here) : links_.end();
  if (found == links_.end()) return here;
  if (links_left-- == 0) return fail_errno(path, ELOOP);
  const std::string& target = found->second;
  return resolve_within(target.starts_with('/') ? target : joined(at, target), true, links_left);
}

void PathTree::add_link(const std::string& path, const std::string& target) {
  const auto resolved = resolve_folder(path);
  if (!resolved) return;
  add_node(*resolved);
  const bool is_new = links_.insert_or_assign(*resolved, target).second;
  // No remembered path leads through a new link whose own path is not remembered.
  if (!is_new || resolved_folders_.contains(*resolved)) resolved_folders_.clear();
}

std::string PathTree::add(const std::string& path) {
  auto resolved = resolve(path);
  if (!resolved) return {};
  add_node(*resolved);
  return std::move(*resolved);
}

std::vector<std::string>& PathTree::add_node(std::string_view path) {
  if (const auto known = nodes_.find(path); known != nodes_.end()) return known->second;
  if (path != "/") add_node(parent_of(path)).emplace_back(name_of(path));
  return nodes_[std::string(path)];
}

const std::string* PathTree::link(std::string_view resolved) const {
  const auto found = links_.find(resolved);
  return found == links_.end() ? nullptr : &found->second;
}

std::vector<std::string> PathTree::children(std::string_view resolved) const {
  const auto found = nodes_.find(resolved);
  if (found == nodes_.end()) return {};
  auto names = found->second;
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gpuready
