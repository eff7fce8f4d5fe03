#include "doubles/memory_storage.h"

#include "base/paths.h"

#include <algorithm>
#include <cerrno>

namespace gpuready {
class MemoryStorage::MemoryFile final : public Storage::File {
 public:
  MemoryFile(MemoryStorage& storage, std::shared_ptr<Node> node, std::string folder)
      : storage_(storage), node_(std::move(node)), folder_(std::move(folder)) {}

  Result<void> write(std::string_view bytes) override {
    const auto left = storage_.capacity_ - std::min(storage_.capacity_, storage_.used_bytes());
    node_->content += bytes.substr(0, std::min<std::uint64_t>(bytes.size(), left));
    if (bytes.size() > left) return fail_errno("write", ENOSPC);
    return {};
  }
  Result<void> set_mode(std::uint32_t mode) override {
    node_->mode = mode;
    return {};
  }
  Result<void> set_modified(std::chrono::sys_seconds) override { return {}; }
  Result<void> take_owner_of(const std::string&) override { return {}; }
  Result<void> sync() override {
    node_->synced = node_->content;
    return {};
  }
  Result<void> link(const std::string& name) override {
    const std::string path = (folder_ == "/" ? "" : folder_) + "/" + name;
    TRY(storage_.free_name(path));
    storage_.nodes_[path] = node_;
    return {};
  }

 private:
  MemoryStorage& storage_;
  std::shared_ptr<Node> node_;
  std::string folder_;
};

class MemoryStorage::MemoryLock final : public Storage::Lock {
 public:
  MemoryLock(MemoryStorage& storage, std::string path)
      : storage_(storage), path_(std::move(path)) {}
  ~MemoryLock() override { storage_.locks_.erase(path_); }

 private:
  MemoryStorage& storage_;
  std::string path_;
};

void MemoryStorage::add(const std::string& path, FileKind kind) {
  nodes_[path] = synced_[path] = std::make_shared<Node>(Node{kind, 0644, {}, {}});
}

std::optional<std::string> MemoryStorage::content(const std::string& path) const {
  const auto node = existing(path);
  return node ? std::optional((*node)->content) : std::nullopt;
}

std::vector<std::string> MemoryStorage::names(const std::string& folder) const {
  std::vector<std::string> found;
  for (const auto& [path, node] : nodes_)
    if (path != "/" && folder_of(path) == folder) found.push_back(path);
  return found;
}

void MemoryStorage::lose_power(Names names) {
  if (names == Names::synced) nodes_ = synced_;
  // Other nodes than before: copies of this storage, and files still open, keep theirs.
  std::map<const Node*, std::shared_ptr<Node>> kept;
  for (auto& [path, node] : nodes_) {
    auto& now = kept[node.get()];
    if (!now) now = std::make_shared<Node>(*node);
    if (now->kind == FileKind::regular) now->content = now->synced;
    node = now;
  }
  synced_ = nodes_;
}

Result<void> MemoryStorage::free_name(const std::string& path) const {
  if (nodes_.contains(path)) return fail_errno(path, EEXIST);
  const auto folder = TRY(existing(folder_of(path)));
  if (folder->kind != FileKind::directory) return fail_errno(path, ENOTDIR);
  return {};
}

Result<std::shared_ptr<MemoryStorage::Node>> MemoryStorage::existing(
    const std::string& path) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return fail_errno(path, ENOENT);
  return found->second;
}

std::uint64_t MemoryStorage::used_bytes() const {
  std::set<const Node*> counted;
  std::uint64_t bytes = 0;
  for (const auto& [path, node] : nodes_)
    if (node->kind == FileKind::regular && counted.insert(node.get()).second)
      bytes += node->content.size();
  return bytes;
}

Result<std::unique_ptr<Storage::File>> MemoryStorage::create(const std::string& path,
                                                             std::uint32_t mode) {
  TRY(free_name(path));
  nodes_[path] = std::make_shared<Node>(Node{FileKind::regular, mode, {}, {}});
  return std::make_unique<MemoryFile>(*this, nodes_[path], folder_of(path));
}

Result<std::unique_ptr<Storage::File>> MemoryStorage::create_unnamed(const std::string& folder,
                                                                     std::uint32_t mode) {
  TRY(existing(folder));
  return std::make_unique<MemoryFile>(
      *this, std::make_shared<Node>(Node{FileKind::regular, mode, {}, {}}), folder);
}

Result<void> MemoryStorage::link(const std::string& from, const std::string& to) {
  const auto node = TRY(existing(from));
  TRY(free_name(to));
  nodes_[to] = node;
  return {};
}

Result<void> MemoryStorage::rename(const std::string& from, const std::string& to,
                                   OnExisting on_existing) {
  const auto node = TRY(existing(from));
  const auto there = existing(to);
  if (!there) TRY(free_name(to));
  if (there && on_existing == OnExisting::fail) return fail_errno(to, EEXIST);
  if (there && (*there)->kind == FileKind::directory) return fail_errno(to, EISDIR);
  if (there && *there == node) return {};
  nodes_.erase(from);
  nodes_[to] = node;
  return {};
}

Result<void> MemoryStorage::unlink(const std::string& path) {
  if (TRY(existing(path))->kind == FileKind::directory) return fail_errno(path, EISDIR);
  nodes_.erase(path);
  return {};
}

Result<void> MemoryStorage::symlink(const std::string& target, const std::string& path) {
  TRY(free_name(path));
  nodes_[path] = std::make_shared<Node>(Node{FileKind::link, 0777, target, target});
  return {};
}

Result<void> MemoryStorage::remove_folder(const std::string& path) {
  if (TRY(existing(path))->kind != FileKind::directory) return fail_errno(path, ENOTDIR);
  if (!names(path).empty()) return fail_errno(path, ENOTEMPTY);
  nodes_.erase(path);
  return {};
}

Result<void> MemoryStorage::sync_folder(const std::string& path) {
  TRY(existing(path));
  const auto is_in = [&](const auto& entry) { return folder_of(entry.first) == path; };
  std::erase_if(synced_, is_in);
  for (const auto& entry : nodes_)
    if (is_in(entry)) synced_.insert(entry);
  return {};
}

Result<void> MemoryStorage::make_folder(const std::string& path, std::uint32_t mode) {
  TRY(free_name(path));
  nodes_[path] = std::make_shared<Node>(Node{FileKind::directory, mode, {}, {}});
  return {};
}

Result<std::unique_ptr<Storage::Lock>> MemoryStorage::lock(const std::string& path) {
  if (!nodes_.contains(path)) TRY(create(path, 0600));
  if (!locks_.insert(path).second)
    return fail(ErrorKind::busy, path + ": another process holds this lock", EWOULDBLOCK);
  return std::make_unique<MemoryLock>(*this, path);
}

Result<void> MemoryStorage::write_attribute(const std::string& path, std::string_view bytes) {
  const auto node = TRY(existing(path));
  if (node->kind == FileKind::directory) return fail_errno(path, EISDIR);
  const std::size_t overwritten =
      node->kind == FileKind::regular ? std::min(bytes.size(), node->content.size()) : SIZE_MAX;
  node->content.replace(0, overwritten, bytes);
  return {};
}

Result<void> MemoryStorage::append(const std::string& path, std::string_view bytes,
                                   std::chrono::milliseconds) {
  TRY(existing(path))->content += bytes;
  return {};
}

Result<FileStatus> MemoryStorage::status(const std::string& path) {
  const auto node = TRY(existing(path));
  FileStatus status;
  status.kind = node->kind;
  status.mode = node->mode;
  status.size_bytes = node->content.size();
  return status;
}

Result<std::string> MemoryStorage::real_path(const std::string& path) {
  TRY(existing(path));
  return path;
}

Result<FileSystemSpace> MemoryStorage::space(const std::string& folder) {
  TRY(existing(folder));
  return FileSystemSpace{capacity_, capacity_ - std::min(capacity_, used_bytes())};
}

}  // namespace gpuready
