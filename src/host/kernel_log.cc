#include "host/kernel_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/klog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::size_t kLogMaxBytes = 32u << 20;
constexpr int kSyslogActionReadAll = 3;  // syslog(2)
constexpr int kSyslogActionSizeBuffer = 10;

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      if (const auto byte = parse_uint(text.substr(i + 2, 2), 16)) {
        out += static_cast<char>(*byte);
        i += 3;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

// Kernels with CONFIG_PRINTK_CALLER put the task or the processor behind the time: "[  T291] ".
std::size_t caller_length(std::string_view line) {
  if (!line.starts_with('[')) return 0;
  const auto close = line.find(']');
  if (close == line.npos) return 0;
  const auto inside = trim(line.substr(1, close - 1));
  const bool caller = inside.size() > 1 && (inside.front() == 'T' || inside.front() == 'C') &&
                      parse_uint(inside.substr(1));
  if (!caller) return 0;
  return close + 1 < line.size() && line[close + 1] == ' ' ? close + 2 : close + 1;
}

void append_lines(std::string_view time, std::string_view text, std::string& log) {
  if (text.empty()) return;
  for (const auto line : lines(text)) {
    log += time;
    log += ' ';
    log += line;
    log += '\n';
  }
}

// Error 0 when the log was read to its end.
int read_kmsg(std::string& log) {
  const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = 0;
  char record[8192];  // the kernel's own limit for one record
  while (log.size() < kLogMaxBytes) {
    const ssize_t size = read(fd, record, sizeof record);
    if (size > 0) {
      append_kmsg_record({record, static_cast<std::size_t>(size)}, log);
      continue;
    }
    if (size == 0 || errno == EAGAIN) break;
    // EPIPE: the record was overwritten while we read; the next read goes on after it.
    if (errno == EINTR || errno == EPIPE || errno == EINVAL) continue;
    error = errno;
    break;
  }
  close(fd);
  return error;
}

int read_syslog(std::string& log) {
  const int size = klogctl(kSyslogActionSizeBuffer, nullptr, 0);
  if (size < 0) return errno;
  std::string text(std::min(static_cast<std::size_t>(size), kLogMaxBytes), '\0');
  const int got = klogctl(kSyslogActionReadAll, text.data(), static_cast<int>(text.size()));
  if (got < 0) return errno;
  text.resize(static_cast<std::size_t>(got));
  log = kernel_log_from_syslog(text);
  return 0;
}

}  // namespace

void append_kmsg_record(std::string_view record, std::string& log) {
  const auto head_end = record.find(';');
  if (head_end == std::string_view::npos) return;
  const auto fields = split(record.substr(0, head_end), ",");
  if (fields.size() < 3) return;
  const auto us = parse_uint(fields[2]);
  if (!us) return;
  auto text = record.substr(head_end + 1);
  text = text.substr(0, text.find('\n'));
  append_lines(fmt::format("{}.{:06}", *us / 1'000'000, *us % 1'000'000), unescaped(text), log);
}

std::string kernel_log_from_syslog(std::string_view text) {
  std::string log;
  log.reserve(text.size());
  for (auto line : lines(text)) {
    if (line.starts_with('<')) line.remove_prefix(std::min(line.find('>') + 1, line.size()));
    std::string_view time = "0.000000";
    if (const auto close = line.find(']'); line.starts_with('[') && close != line.npos) {
      const auto inside = trim(line.substr(1, close - 1));
      if (parse_double(inside)) {
        time = inside;
        line.remove_prefix(close + 1);
        if (line.starts_with(' ')) line.remove_prefix(1);
        line.remove_prefix(caller_length(line));
      }
    }
    append_lines(time, line, log);
  }
  return log;
}

Result<std::string> read_kernel_log() {
  std::string log;
  const int kmsg_error = read_kmsg(log);
  if (kmsg_error == 0) return log;
  log.clear();
  const int syslog_error = read_syslog(log);
  if (syslog_error == 0) return log;
  return fail(ErrorKind::no_permission,
              fmt::format("the kernel log cannot be read (/dev/kmsg: {}; syslog: {}): run as root "
                          "outside a container, or set the sysctl kernel.dmesg_restrict to 0",
                          std::strerror(kmsg_error), std::strerror(syslog_error)),
              syslog_error);
}

}  // namespace gpuready
