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
  for (const auto line : lines(text)) {
    log += time;
    log += ' ';
    log += line;
    log += '\n';
  }
}

// The kernel's own messages have facility 0. What programs write to /dev/kmsg gets another one,
// whatever they ask for (devkmsg_write() of the kernel).
bool is_kernels(std::uint64_t priority) { return priority >> 3 == 0; }

std::string_view last_time(std::string_view log) {
  if (log.empty()) return {};
  const auto start = log.rfind('\n', log.size() - 2) + 1;  // npos + 1 is 0
  return log.substr(start, log.find(' ', start) - start);
}

// Lines with one time are one record, so records of one microsecond get further digits.
std::string time_of_record(std::uint64_t us, std::string_view log) {
  const auto time = fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
  const auto last = last_time(log);
  if (!last.starts_with(time)) return time;
  return fmt::format("{}{:03}", time, parse_uint(last.substr(time.size())).value_or(0) + 1);
}

// "0000:17:00.0" of "nvidia 0000:17:00.0: text", as dev_printk() begins what it writes.
std::string_view pci_name_in_head(std::string_view text) {
  const auto space = text.find(' ');
  if (space == text.npos) return {};
  const auto name = text.substr(space + 1, text.find(": ", space) - space - 1);
  const auto size = name.size();
  const bool is_address = size >= 12 && size <= 16 && name[size - 2] == '.' &&
                          name[size - 5] == ':' && name[size - 8] == ':' &&
                          name.find_first_not_of("0123456789abcdef:.") == name.npos;
  return is_address ? name : std::string_view{};
}

// A message that begins with a PCI device comes from the device's driver only if the record's own
// dictionary names the device as well: a program's name may look like one.
bool names_its_device(std::string_view text, std::string_view dictionary) {
  const auto name = pci_name_in_head(text);
  return name.empty() || contains(dictionary, fmt::format("DEVICE=+pci:{}\n", name));
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
  return log.empty() && got > 0 ? ENODATA : 0;  // printk.time is off
}

}  // namespace

void append_kmsg_record(std::string_view record, std::string& log) {
  const auto head_end = record.find(';');
  if (head_end == std::string_view::npos) return;
  const auto fields = split(record.substr(0, head_end), ",");
  if (fields.size() < 3) return;
  const auto priority = parse_uint(fields[0]), us = parse_uint(fields[2]);
  if (!priority || !us || !is_kernels(*priority)) return;
  const auto rest = record.substr(head_end + 1);
  const auto end = std::min(rest.find('\n'), rest.size());
  const auto text = rest.substr(0, end);
  if (text.empty() || !names_its_device(text, rest.substr(end))) return;
  // Kernels before 4.10 give what continues a message as records of their own.
  const bool continues = fields.size() > 3 && fields[3].starts_with('+') && !log.empty();
  const std::string time(continues ? last_time(log) : time_of_record(*us, log));
  append_lines(time, unescaped(text), log);
}

std::string kernel_log_from_syslog(std::string_view text) {
  std::string log;
  log.reserve(text.size());
  for (auto line : lines(text)) {
    if (line.starts_with('<')) {
      const auto close = std::min(line.find('>'), line.size() - 1);
      if (!is_kernels(parse_uint(line.substr(1, close - 1)).value_or(0))) continue;
      line.remove_prefix(close + 1);
    }
    const auto close = line.find(']');
    if (!line.starts_with('[') || close == line.npos) continue;
    const auto time = trim(line.substr(1, close - 1));
    if (!parse_double(time)) continue;
    line.remove_prefix(close + 1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    line.remove_prefix(caller_length(line));
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
