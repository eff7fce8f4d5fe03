// The only contact with the outside world. Three kinds: live (this machine), recorded (a recording
// made by `gpuready record`), scripted (a machine written down as JSON, for tests). A RecordingHost
// wraps the live one and notes every question and answer, so that what is recorded is what is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/probe_document.h"
#include "jobs/job.h"

namespace gpuready {

enum class FileKind { regular, directory, link, character_device, block_device, other };

struct FileStatus {
  FileKind kind = FileKind::regular;
  std::uint32_t mode = 0;  // permission bits, 07777
  std::uint32_t uid = 0, gid = 0;
  std::uint32_t device_major = 0, device_minor = 0;  // of a device node
  std::uint64_t size_bytes = 0;
};

struct FileSystemSpace {
  std::uint64_t total_bytes = 0, available_bytes = 0;
};

// Facts of the process and kernel that come from system calls.
struct SystemIdentity {
  std::string kernel_name, kernel_release, machine, host_name;  // uname
  std::uint32_t effective_uid = 0;
  std::vector<std::uint32_t> groups;  // all, primary first
  std::int64_t unix_seconds = 0;      // wall clock when asked (when recorded, in a replay)
};

// What a probe is asked. `skip` lists PCI addresses that must not be touched (suspended GPUs); the
// probe then asks by address only for `only`, and never for all by index.
struct ProbeRequest {
  std::string probe;              // "nvml", "cuda", "vulkan", ...
  std::vector<std::string> args;  // passed to the helper after the probe's name
  std::chrono::milliseconds timeout{30'000};
  bool again = false;  // it is asked more than once: one child answers each time, from a new look
};

enum class HostKind { live, recorded, scripted };

class Host {
 public:
  virtual ~Host() = default;
  virtual HostKind kind() const = 0;

  // Whole file, at most `limit_bytes` (then too_large). Reads of sysfs may fail midway with EIO or
  // ENODEV when the device goes away; that is an Error like any other.
  virtual Result<std::string> read_file(const std::string& path,
                                        std::size_t limit_bytes = 1u << 20) = 0;
  // What an earlier run wrote and this one believes. On a live host `no_permission` unless root or
  // the effective user owns the file and its folder, and no one else may write to either
  // (jobs/trusted_path.h). Other hosts believe what they hold.
  virtual Result<std::string> read_own_file(const std::string& path,
                                            std::size_t limit_bytes = 1u << 20) {
    return read_file(path, limit_bytes);
  }
  // The same for a folder, or a file that is read otherwise. "FOLDER/" follows a link at its end.
  virtual Result<void> check_own(const std::string&) { return {}; }
  virtual Result<std::string> read_link(const std::string& path) = 0;  // the link's own text
  virtual Result<std::string> real_path(const std::string& path) = 0;  // every link resolved
  virtual Result<std::vector<std::string>> list_directory(const std::string& path) = 0;  // sorted
  virtual Result<FileStatus> status(const std::string& path) = 0;  // of the link's target
  // Whether this process may open(2) a device node for reading and writing: permission bits, ACLs,
  // security modules, device control group, mount options. The driver behind it is not called, so
  // nothing is woken and nothing can hang.
  virtual Result<void> may_open(const std::string& path) = 0;
  // Call this before read_file() of what a driver answers, and may never answer. A live host then
  // reads all of them in a child with a deadline, so that a driver that hangs costs us an error
  // (hung, timed_out) and not the whole process. Other hosts know the answers already.
  virtual void ask_driver(const std::vector<std::string>&) {}
  virtual Result<FileSystemSpace> space(const std::string& path) = 0;
  virtual std::optional<std::string> environment(const std::string& name) = 0;
  virtual Result<SystemIdentity> identity() = 0;
  virtual Result<std::string> kernel_log() = 0;  // lines "<seconds> text", oldest first
  virtual Result<JobOutcome> run(const Job& command) = 0;
  // What probe() will be asked for soon. A live host starts it now, so that it runs beside what is
  // read meanwhile; probe() then takes it up. One that is asked again waits for each question.
  virtual void expect_probe(const ProbeRequest&) {}
  // All at once, each in a child of its own; one document per request, in the same order.
  virtual std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) = 0;

  // Conveniences over the above.
  // For what an ordinary user may take from others on purpose: root alone wants it to be its own.
  Result<std::string> read_believed(const std::string& path, std::size_t limit_bytes = 1u << 20);
  Result<void> check_believed(const std::string& path);
  bool exists(const std::string& path) { return status(path).has_value(); }
  std::optional<std::string> read_text(const std::string& path);   // trimmed; nothing on error
  std::optional<std::int64_t> read_int(const std::string& path);   // decimal
  std::optional<std::uint64_t> read_hex(const std::string& path);  // with or without 0x
  // The last part of the link's text, as sysfs names a driver; nothing on error.
  std::optional<std::string> link_name(const std::string& path);
};

std::unique_ptr<Host> make_live_host();

}  // namespace gpuready
