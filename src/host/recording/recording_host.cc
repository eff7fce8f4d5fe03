#include "host/recording/replay.h"
#include "host/redaction/secret_names.h"

namespace gpuready {
namespace {

// The first answer is the one kept: what was decided from it must be decided again in a replay.
class RecordingHost final : public Host {
 public:
  RecordingHost(Host& inner, Recording& into) : inner_(inner), into_(into) {}

  HostKind kind() const override { return inner_.kind(); }

  Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) override {
    auto result = inner_.read_file(path, limit_bytes);
    // A later reader with a larger limit may get what an earlier one could not.
    const auto found = into_.files.find(path);
    const bool better = result && found != into_.files.end() &&
                        std::holds_alternative<RecordedFailure>(found->second) &&
                        std::get<RecordedFailure>(found->second).kind == ErrorKind::too_large;
    if (better) into_.files.erase(found);
    return note(into_.files, path, std::move(result));
  }
  Result<std::string> read_link(const std::string& path) override {
    return note(into_.links, path, inner_.read_link(path));
  }
  Result<std::string> real_path(const std::string& path) override {
    return note(into_.real_paths, path, inner_.real_path(path));
  }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    return note(into_.directories, path, inner_.list_directory(path));
  }
  Result<FileStatus> status(const std::string& path) override {
    return note(into_.statuses, path, inner_.status(path));
  }
  Result<FileSystemSpace> space(const std::string& path) override {
    return note(into_.spaces, path, inner_.space(path));
  }
  Result<void> may_open(const std::string& path) override {
    auto result = inner_.may_open(path);
    std::optional<RecordedFailure> failure;
    if (!result) failure = recorded(result.error());
    into_.opens.try_emplace(path, std::move(failure));
    return result;
  }
  void ask_driver(const std::vector<std::string>& files) override { inner_.ask_driver(files); }
  std::optional<std::string> environment(const std::string& name) override {
    auto value = inner_.environment(name);
    if (!names_a_credential(name)) into_.environment.try_emplace(name, value);
    return value;
  }
  Result<SystemIdentity> identity() override {
    auto result = inner_.identity();
    if (!into_.identity) into_.identity = as_recorded(result);
    return result;
  }
  Result<std::string> kernel_log() override {
    auto result = inner_.kernel_log();
    if (!into_.kernel_log) into_.kernel_log = as_recorded(result);
    return result;
  }
  Result<JobOutcome> run(const Job& command) override {
    auto result = inner_.run(command);
    into_.tools.try_emplace(tool_key(command), as_recorded(result));
    return result;
  }
  void expect_probe(const ProbeRequest& request) override { inner_.expect_probe(request); }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    auto documents = inner_.probe(requests);
    for (std::size_t i = 0; i < requests.size() && i < documents.size(); ++i)
      into_.probes.try_emplace(probe_key(requests[i]), documents[i]);
    return documents;
  }

 private:
  template <class T>
  static Recorded<T> as_recorded(const Result<T>& result) {
    if (result) return *result;
    return recorded(result.error());
  }
  template <class T>
  static Result<T> note(RecordedByPath<T>& section, const std::string& path, Result<T> result) {
    section.try_emplace(path, as_recorded(result));
    return result;
  }

  Host& inner_;
  Recording& into_;
};

}  // namespace

std::unique_ptr<Host> make_recording_host(Host& inner, Recording& into) {
  return std::make_unique<RecordingHost>(inner, into);
}

}  // namespace gpuready
