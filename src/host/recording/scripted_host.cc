#include <algorithm>
#include <cerrno>
#include <tuple>

#include "host/path_tree.h"
#include "host/recording/replay.h"

namespace gpuready {
namespace {

constexpr FileStatus kFolder{FileKind::directory, 0755, 0, 0, 0, 0, 0};
constexpr FileStatus kDevice{FileKind::character_device, 0666, 0, 0, 0, 0, 0};

class ScriptedHost final : public Host {
 public:
  explicit ScriptedHost(Recording recording) : data_(std::move(recording)) {
    add_links();
    index(data_.files, files_);
    index(data_.directories, folders_);
    index(data_.statuses, statuses_);
    index(data_.spaces, spaces_);
    for (const auto& [path, failure] : data_.opens)
      if (!failure || failure->code != ENOENT)
        opens_[tree_.add(path)] = &failure;
      else
        opens_[path] = &failure;
  }

  HostKind kind() const override { return HostKind::scripted; }

  Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) override {
    const auto at = TRY(existing(path));
    if (const auto* content = find(files_, at)) return limited(*content, path, limit_bytes);
    const auto facts = TRY(status_of(at, path));
    if (facts.kind != FileKind::regular)
      return fail(ErrorKind::unsupported, path + ": not a regular file, so it is not read");
    return std::string();  // only its status is listed
  }

  Result<std::string> read_link(const std::string& path) override {
    if (const auto listed = data_.links.find(path); listed != data_.links.end())
      return answer(listed->second);
    const auto at = TRY(tree_.resolve_folder(path));
    if (const auto* target = tree_.link(at)) return *target;
    return fail_errno(path, tree_.exists(at) ? EINVAL : ENOENT);
  }

  Result<std::string> real_path(const std::string& path) override {
    if (const auto listed = data_.real_paths.find(path); listed != data_.real_paths.end())
      return answer(listed->second);
    return existing(path);
  }

  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    const auto at = TRY(existing(path));
    if (const auto* listed = find(folders_, at)) {
      auto names = answer(*listed);
      if (names) std::sort(names->begin(), names->end());
      return names;
    }
    const auto facts = TRY(status_of(at, path));
    if (facts.kind != FileKind::directory) return fail_errno(path, ENOTDIR);
    return tree_.children(at);
  }

  Result<FileStatus> status(const std::string& path) override {
    const auto at = TRY(existing(path));
    return status_of(at, path);
  }

  Result<void> may_open(const std::string& path) override {
    auto resolved = TRY(tree_.resolve(path));
    if (const auto found = opens_.find(resolved); found != opens_.end()) {
      if (*found->second) return failed(**found->second);
      return {};
    }
    if (!tree_.exists(resolved)) return fail_errno(path, ENOENT);
    const auto facts = TRY(status_of(resolved, path));
    if (facts.kind == FileKind::directory) return fail_errno(path, EISDIR);
    if (!permitted(facts)) return fail_errno(path, EACCES);
    return {};
  }

  Result<FileSystemSpace> space(const std::string& path) override {
    const auto at = TRY(tree_.resolve(path));
    if (const auto* found = find(spaces_, at)) return answer(*found);
    return fail_errno(path, ENOENT);
  }

  std::optional<std::string> environment(const std::string& name) override {
    const auto found = data_.environment.find(name);
    return found == data_.environment.end() ? std::nullopt : found->second;
  }

  Result<SystemIdentity> identity() override {
    if (data_.identity) return answer(*data_.identity);
    SystemIdentity root;
    root.kernel_name = "Linux";
    root.machine = "x86_64";
    root.host_name = "scripted";
    root.groups = {0};
    return root;
  }

  Result<std::string> kernel_log() override {
    if (data_.kernel_log) return answer(*data_.kernel_log);
    return std::string();
  }

  Result<JobOutcome> run(const Job& command) override {
    if (const auto found = data_.tools.find(tool_key(command)); found != data_.tools.end())
      return answer(found->second);
    return fail_errno("cannot start " + command.program, ENOENT);
  }

  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    std::vector<ProbeDocument> out;
    for (const auto& request : requests) {
      if (const auto found = data_.probes.find(probe_key(request)); found != data_.probes.end()) {
        out.push_back(found->second);
        continue;
      }
      ProbeDocument document;
      document.probe = request.probe;
      document.outcome = ProbeOutcome::no_library;
      document.library_error = "no library for this probe is listed";
      out.push_back(std::move(document));
    }
    return out;
  }

 private:
  template <class T>
  using Index = std::unordered_map<std::string, const Recorded<T>*>;

  template <class T>
  static const Recorded<T>* find(const Index<T>& from, const std::string& resolved) {
    const auto found = from.find(resolved);
    return found == from.end() ? nullptr : found->second;
  }

  // Links nearest the root first, since the others may lie behind them.
  void add_links() {
    std::vector<std::pair<std::ptrdiff_t, const std::string*>> order;
    for (const auto& [path, target] : data_.links)
      if (std::holds_alternative<std::string>(target))
        order.emplace_back(std::count(path.begin(), path.end(), '/'), &path);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
    });
    for (const auto& [depth, path] : order)
      tree_.add_link(*path, std::get<std::string>(data_.links.find(*path)->second));
    // The kernel leaves no link in sysfs that leads to nothing.
    for (const auto& [depth, path] : order)
      if (path->starts_with("/sys/")) tree_.add(*path);
  }

  template <class T>
  void index(const RecordedByPath<T>& section, Index<T>& into) {
    into.reserve(section.size());
    for (const auto& [path, value] : section) {
      const auto* failure = std::get_if<RecordedFailure>(&value);
      if (failure != nullptr && failure->code == ENOENT) continue;  // the same as not listed
      into[tree_.add(path)] = &value;
    }
  }

  Result<std::string> existing(const std::string& path) const {
    auto at = tree_.resolve(path);
    if (at && !tree_.exists(*at)) return fail_errno(path, ENOENT);
    if (!at) return fail_errno(path, at.error().code);
    return at;
  }

  Result<FileStatus> status_of(const std::string& resolved, const std::string& path) const {
    if (const auto* listed = find(statuses_, resolved)) return answer(*listed);
    if (const auto* content = find(files_, resolved)) {
      FileStatus status;
      status.mode = 0644;
      if (const auto* text = std::get_if<std::string>(content)) status.size_bytes = text->size();
      return status;
    }
    if (opens_.contains(resolved)) return kDevice;
    if (!tree_.exists(resolved)) return fail_errno(path, ENOENT);
    return kFolder;
  }

  // As the kernel decides for read and write, without device cgroups: those are listed in "opens".
  bool permitted(const FileStatus& facts) const {
    SystemIdentity who;
    if (data_.identity)
      if (const auto* known = std::get_if<SystemIdentity>(&*data_.identity)) who = *known;
    if (who.effective_uid == 0) return true;
    const bool in_group =
        std::find(who.groups.begin(), who.groups.end(), facts.gid) != who.groups.end();
    const int shift = who.effective_uid == facts.uid ? 6 : in_group ? 3 : 0;
    return (facts.mode >> shift & 6) == 6;
  }

  Recording data_;
  PathTree tree_;
  Index<std::string> files_;
  Index<std::vector<std::string>> folders_;
  Index<FileStatus> statuses_;
  Index<FileSystemSpace> spaces_;
  std::unordered_map<std::string, const std::optional<RecordedFailure>*> opens_;
};

}  // namespace

std::unique_ptr<Host> make_closed_world_host(Recording recording) {
  return std::make_unique<ScriptedHost>(std::move(recording));
}

}  // namespace gpuready
