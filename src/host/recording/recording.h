// A recording: every answer that a host gave. As a file it is FILE.tar.zst with the files read,
// verbatim, under files/, the probes' documents under probes/, and recording.json for the rest; or,
// for machines written by hand, one JSON file (docs/recordings.md) that may extend another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready {

struct RecordedFailure {
  ErrorKind kind = ErrorKind::not_found;
  std::string message;
  int code = 0;
};
template <class T>
using Recorded = std::variant<T, RecordedFailure>;
template <class T>
using RecordedByPath = std::map<std::string, Recorded<T>, std::less<>>;

struct Recording {
  static constexpr int kSchemaVersion = 1;
  std::string tool_version;
  std::string created_utc;
  std::string description;
  bool redacted = false;
  // True for machines written by hand: what is not listed does not exist. False for recordings made
  // by the recorder: what is not listed was never asked, and reading it gives not_recorded.
  bool closed_world = false;

  RecordedByPath<std::string> files, links, real_paths;
  RecordedByPath<std::vector<std::string>> directories;
  RecordedByPath<FileStatus> statuses;
  std::map<std::string, std::optional<RecordedFailure>, std::less<>> opens;
  RecordedByPath<FileSystemSpace> spaces;
  std::map<std::string, std::optional<std::string>, std::less<>> environment;
  std::optional<Recorded<SystemIdentity>> identity;
  std::optional<Recorded<std::string>> kernel_log;
  std::map<std::string, Recorded<JobOutcome>, std::less<>> tools;  // by command line
  std::map<std::string, ProbeDocument, std::less<>> probes;        // by probe name and arguments
};

// Limits that protect a reader from hostile recordings.
inline constexpr std::size_t kRecordingMaxBytes = 256u << 20;  // unpacked
inline constexpr std::size_t kRecordingMaxEntries = 200'000;

std::string tool_key(const Job& command);
std::string probe_key(const ProbeRequest& request);

// Reads FILE.tar.zst or a scripted JSON file, told apart by content.
Result<Recording> load_recording(const std::string& path);
Result<Recording> recording_from_archive(std::string_view bytes, std::string_view name);
// `folder` is where "extends" is looked up.
Result<Recording> recording_from_script(std::string_view text, std::string_view name,
                                        const std::string& folder);
// `path` is whole or untouched (atomic_file.h), and only this user can read it: even a redacted
// recording tells much about a machine.
Result<void> save_recording(const Recording& recording, const std::string& path,
                            Storage& storage = live_storage());
class Redactor;
// What of a recording some rule reads: a redacted one keeps nothing else. The areas that read know
// it (machine/redaction.h). Without them no word is known and every file is removed.
struct RedactionRules {
  // Words of patterns, paths and messages, the same on every machine; words and numbers of
  // products' names, and whole names.
  std::function<bool(std::string_view word)> is_fixed_word, is_model_word, is_model_name;
  // What stays of a file's content; nothing: the file is removed.
  std::function<std::optional<std::string>(const std::string& path, const std::string& content,
                                           Redactor&)>
      file;
  std::function<bool(std::string_view folder, std::string_view name)> listed;
  // Whether a line of the kernel log is read, and whether a record that begins with it is believed:
  // without its first line, the rest of another record would look like one.
  std::function<bool(std::string_view text)> kernel_log_line, begins_record;
  // Whether some rule reads the number that begins here; other numbers of a text go.
  std::function<bool(std::string_view line, std::size_t at)> reads_number;
  // Parts of a cgroup's path that tell the container's runtime; with "/" before, where a part
  // begins.
  std::vector<std::string_view> group_markers;
};
// Keeps what the rules say that somebody reads, and of that what names no one (redactor.h). The
// same name becomes the same substitute everywhere, so what could be joined still can.
Recording redact(Recording recording, const RedactionRules& rules);

std::unique_ptr<Host> make_recorded_host(Recording recording);
// Answers from `inner` and notes everything into `into`, which must outlive it.
std::unique_ptr<Host> make_recording_host(Host& inner, Recording& into);

}  // namespace gpuready
