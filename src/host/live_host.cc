// This machine, by plain system calls: a detection reads some thousand small files, so nothing here
// allocates or asks twice without need.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/descriptor.h"
#include "host/driver_answers.h"
#include "host/file_status.h"
#include "host/files_read.h"
#include "host/host.h"
#include "host/kernel_log.h"
#include "host/probe_children.h"
#include "jobs/trusted_path.h"

namespace gpuready {
namespace {

// No terminal is taken over, no FIFO waited for, nothing leaks into a child.
constexpr int kOpenFlags = O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

int open_retrying(const std::string& path, int flags) {
  int fd = -1;
  do fd = open(path.c_str(), flags | kOpenFlags);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// An embedded NUL would make open() see another name than the one reported.
bool usable(const std::string& path) { return path.find('\0') == std::string::npos; }

std::unexpected<Error> too_large(const std::string& path, std::size_t limit_bytes) {
  return fail(ErrorKind::too_large,
              path + ": larger than the limit of " + std::to_string(limit_bytes) + " bytes");
}

Result<std::string> limited(const Result<std::string>& answer, const std::string& path,
                            std::size_t limit_bytes) {
  if (answer && answer->size() > limit_bytes) return too_large(path, limit_bytes);
  return answer;
}

class LiveHost final : public Host {
 public:
  HostKind kind() const override { return HostKind::live; }

  Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    if (const auto* answer = driver_.find(path)) return limited(*answer, path, limit_bytes);
    const Descriptor file(open_retrying(path, O_RDONLY));
    struct stat facts{};
    if (file && fstat(file.get(), &facts) == 0) FilesRead::of_process().add(path, facts);
    return read_open_file(file, path, limit_bytes);
  }

  Result<std::string> read_own_file(const std::string& path, std::size_t limit_bytes) override {
    return read_open_file(TRY(open_own_file(path)), path, limit_bytes);
  }

  Result<void> check_own(const std::string& path) override { return check_own_file(path); }

  static Result<std::string> read_open_file(const Descriptor& file, const std::string& path,
                                            std::size_t limit_bytes) {
    if (file.get() < 0) return fail_errno(path, errno);
    struct stat facts{};
    if (fstat(file.get(), &facts) != 0) return fail_errno(path, errno);
    if (!S_ISREG(facts.st_mode))
      return fail(ErrorKind::unsupported, path + ": not a regular file, so it is not read");
    // The size that sysfs and procfs tell is not the size that they give: read until the end.
    std::string text;
    char buffer[16 << 10];
    if (const auto told = static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0));
        told > sizeof buffer)
      text.reserve(std::min(told, limit_bytes));
    while (true) {
      const ssize_t size = read(file.get(), buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return fail_errno(path, errno);
      if (size == 0) return text;
      text.append(buffer, static_cast<std::size_t>(size));
      if (text.size() > limit_bytes) return too_large(path, limit_bytes);
    }
  }

  Result<std::string> read_link(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    char text[4096];  // PATH_MAX: the kernel makes no longer links
    const ssize_t size = readlink(path.c_str(), text, sizeof text);
    if (size < 0) return fail_errno(path, errno);
    return std::string(text, static_cast<std::size_t>(size));
  }

  Result<std::string> real_path(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    char resolved[4097];
    if (realpath(path.c_str(), resolved) == nullptr) return fail_errno(path, errno);
    return std::string(resolved);
  }

  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr) return fail_errno(path, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(folder)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    closedir(folder);
    if (error != 0) return fail_errno(path, error);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<FileStatus> status(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    struct stat facts{};
    if (stat(path.c_str(), &facts) != 0) return fail_errno(path, errno);
    return to_file_status(facts);
  }

  Result<void> may_open(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    // The kernel asks the device control group for access(2) as it does for open(2).
    if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0)
      return fail_errno(path, errno);
    struct statvfs mount{};
    if (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NODEV) != 0)
      return fail_errno(path, EACCES);
    return {};
  }

  void ask_driver(const std::vector<std::string>& files) override { driver_.ask(files); }

  Result<FileSystemSpace> space(const std::string& path) override {
    if (!usable(path)) return fail_errno(path, ENOENT);
    struct statvfs facts{};
    if (statvfs(path.c_str(), &facts) != 0) return fail_errno(path, errno);
    return FileSystemSpace{std::uint64_t{facts.f_blocks} * facts.f_frsize,
                           std::uint64_t{facts.f_bavail} * facts.f_frsize};
  }

  std::optional<std::string> environment(const std::string& name) override {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  }

  Result<SystemIdentity> identity() override {
    utsname names{};
    if (uname(&names) != 0) return fail_errno("uname", errno);
    SystemIdentity out;
    out.kernel_name = names.sysname;
    out.kernel_release = names.release;
    out.machine = names.machine;
    out.host_name = names.nodename;
    out.effective_uid = geteuid();
    out.groups = {getegid()};
    const int count = getgroups(0, nullptr);
    if (count > 0) {
      std::vector<gid_t> more(static_cast<std::size_t>(count));
      const int got = getgroups(count, more.data());
      for (int i = 0; i < got; ++i)
        if (more[static_cast<std::size_t>(i)] != out.groups[0])
          out.groups.push_back(more[static_cast<std::size_t>(i)]);
    }
    out.unix_seconds = std::time(nullptr);
    return out;
  }

  Result<std::string> kernel_log() override { return read_kernel_log(); }

  Result<JobOutcome> run(const Job& command) override { return run_job(command); }

  void expect_probe(const ProbeRequest& request) override { probes_.start(request); }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    return probes_.ask(requests);
  }

 private:
  DriverAnswers driver_;
  ProbeChildren probes_;
};

}  // namespace

std::unique_ptr<Host> make_live_host() { return std::make_unique<LiveHost>(); }

}  // namespace gpuready
