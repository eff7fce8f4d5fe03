#include <cerrno>

#include "base/text.h"
#include "host/recording/replay.h"

namespace gpuready {
namespace {

template <class T>
bool said_absent(const RecordedByPath<T>& section, std::string_view path) {
  const auto found = section.find(path);
  if (found == section.end()) return false;
  const auto* failure = std::get_if<RecordedFailure>(&found->second);
  return failure != nullptr && failure->code == ENOENT;
}

class RecordedHost final : public Host {
 public:
  explicit RecordedHost(Recording recording) : data_(std::move(recording)) {}

  HostKind kind() const override { return HostKind::recorded; }

  Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) override {
    const auto found = data_.files.find(path);
    if (found == data_.files.end()) return unknown(path);
    return limited(found->second, path, limit_bytes);
  }
  Result<std::string> read_link(const std::string& path) override {
    return by_path(data_.links, path);
  }
  Result<std::string> real_path(const std::string& path) override {
    return by_path(data_.real_paths, path);
  }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    return by_path(data_.directories, path);
  }
  Result<FileStatus> status(const std::string& path) override {
    return by_path(data_.statuses, path);
  }
  Result<void> may_open(const std::string& path) override {
    const auto found = data_.opens.find(path);
    if (found == data_.opens.end()) return unknown(path);
    if (found->second) return failed(*found->second);
    return {};
  }
  Result<FileSystemSpace> space(const std::string& path) override {
    return by_path(data_.spaces, path);
  }
  std::optional<std::string> environment(const std::string& name) override {
    const auto found = data_.environment.find(name);
    return found == data_.environment.end() ? std::nullopt : found->second;
  }
  Result<SystemIdentity> identity() override {
    if (!data_.identity) return not_recorded("the system's identity");
    return answer(*data_.identity);
  }
  Result<std::string> kernel_log() override {
    if (!data_.kernel_log) return not_recorded("the kernel log");
    return answer(*data_.kernel_log);
  }
  Result<JobOutcome> run(const Job& command) override {
    const auto key = tool_key(command);
    const auto found = data_.tools.find(key);
    if (found == data_.tools.end()) return not_recorded("the output of `" + printable(key) + "`");
    return answer(found->second);
  }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    std::vector<ProbeDocument> out;
    for (const auto& request : requests) {
      const auto key = probe_key(request);
      if (const auto found = data_.probes.find(key); found != data_.probes.end()) {
        out.push_back(found->second);
        continue;
      }
      ProbeDocument document;
      document.probe = request.probe;
      document.outcome = ProbeOutcome::not_asked;
      document.library_error = "the probe \"" + printable(key) + "\" is not in the recording";
      out.push_back(std::move(document));
    }
    return out;
  }

 private:
  static std::unexpected<Error> not_recorded(std::string_view what) {
    return fail(ErrorKind::not_recorded, std::string(what) + " is not in the recording");
  }

  // A path that was not asked in this way: absent when another answer says so, else not recorded.
  std::unexpected<Error> unknown(const std::string& path) const {
    if (known_absent(path)) return fail_errno(path, ENOENT);
    return not_recorded(printable(path));
  }

  // It, or a folder above it, was seen to be absent, or a folder's listing lacks it.
  bool known_absent(std::string_view path) const {
    while (path.size() > 1) {
      if (said_absent(data_.files, path) || said_absent(data_.statuses, path) ||
          said_absent(data_.directories, path) || said_absent(data_.links, path))
        return true;
      const auto slash = path.rfind('/');
      if (slash == std::string_view::npos) return false;
      const auto folder = slash == 0 ? std::string_view("/") : path.substr(0, slash);
      const auto name = path.substr(slash + 1);
      if (const auto found = data_.directories.find(folder); found != data_.directories.end())
        if (const auto* names = std::get_if<std::vector<std::string>>(&found->second))
          if (name != "." && name != ".." && !name.empty() && !listed(*names, name)) return true;
      path = slash == 0 ? std::string_view() : folder;
    }
    return false;
  }
  static bool listed(const std::vector<std::string>& names, std::string_view name) {
    for (const auto& known : names)
      if (known == name) return true;
    return false;
  }

  template <class T>
  Result<T> by_path(const RecordedByPath<T>& section, const std::string& path) const {
    const auto found = section.find(path);
    if (found == section.end()) return unknown(path);
    return answer(found->second);
  }

  Recording data_;
};

// As a shell would need it written, so that a key is unambiguous and can be pasted.
void append_word(std::string& line, const std::string& word) {
  if (!line.empty()) line += ' ';
  const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?;&|<>()") == word.npos;
  if (plain) {
    line += word;
    return;
  }
  line += '\'';
  for (const char c : word) c == '\'' ? line += "'\\''" : line += c;
  line += '\'';
}

}  // namespace

std::string tool_key(const Job& command) {
  std::string key;
  append_word(key, command.program);
  for (const auto& arg : command.args) append_word(key, arg);
  return key;
}

std::string probe_key(const ProbeRequest& request) {
  std::string key;
  append_word(key, request.probe);
  for (const auto& arg : request.args) append_word(key, arg);
  return key;
}

std::unexpected<Error> failed(const RecordedFailure& failure) {
  return fail(failure.kind, failure.message, failure.code);
}

RecordedFailure recorded(const Error& error) { return {error.kind, error.message, error.code}; }

Result<std::string> limited(const Recorded<std::string>& found, const std::string& path,
                            std::size_t limit_bytes) {
  if (const auto* text = std::get_if<std::string>(&found); text && text->size() > limit_bytes)
    return fail(ErrorKind::too_large,
                path + ": larger than the limit of " + std::to_string(limit_bytes) + " bytes");
  return answer(found);
}

std::unique_ptr<Host> make_open_world_host(Recording recording) {
  return std::make_unique<RecordedHost>(std::move(recording));
}

std::unique_ptr<Host> make_recorded_host(Recording recording) {
  return recording.closed_world ? make_closed_world_host(std::move(recording))
                                : make_open_world_host(std::move(recording));
}

}  // namespace gpuready
