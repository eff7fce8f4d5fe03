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

// A record's line break is a new line only where the writer names itself again, as drivers do in
// messages of several lines. Elsewhere it may stand in a name that a user chose.
void append_record(std::string_view time, std::string_view text, std::string& log) {
  const auto head = writer_of_message(text);
  const auto begin_line = [&] {
    log += time;
    log += ' ';
  };
  begin_line();
  bool first = true;
  for (const auto line : lines(text)) {
    const bool named = !head.empty() && trim(line).starts_with(head);
    if (!first && !named) log += ' ';
    if (!first && named) {
      log += '\n';
      begin_line();
    }
    log += line;
    first = false;
  }
  log += '\n';
}

struct SyslogLine {
  std::uint64_t priority = 0;
  std::string_view head, time, text;  // head: all before the text
};

// "<6>[   12.345678][  T291] text"
std::optional<SyslogLine> parse_syslog_line(std::string_view line) {
  SyslogLine out;
  auto rest = line;
  if (rest.starts_with('<')) {
    const auto close = std::min(rest.find('>'), rest.size() - 1);
    out.priority = parse_uint(rest.substr(1, close - 1)).value_or(0);
    rest.remove_prefix(close + 1);
  }
  const auto close = rest.find(']');
  if (!rest.starts_with('[') || close == rest.npos) return std::nullopt;
  out.time = trim(rest.substr(1, close - 1));
  if (!parse_double(out.time)) return std::nullopt;
  rest.remove_prefix(close + 1);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  rest.remove_prefix(caller_length(rest));
  out.text = rest;
  out.head = line.substr(0, line.size() - rest.size());
  return out;
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
std::string unused_time(std::string_view time, std::string_view log) {
  constexpr std::size_t kDigits = 3;
  const auto last = last_time(log);
  const bool used =
      last == time || (last.starts_with(time) && last.size() == time.size() + kDigits);
  if (!used) return std::string(time);
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
  std::string text;
  const auto read_last = [](std::size_t room, std::string& into) {
    into.resize(std::min(room, kLogMaxBytes));
    const int got = klogctl(kSyslogActionReadAll, into.data(), static_cast<int>(into.size()));
    into.resize(static_cast<std::size_t>(std::max(got, 0)));
    return got;
  };
  const int got = read_last(static_cast<std::size_t>(size), text);
  if (got < 0) return errno;
  bool known = true;
  log = kernel_log_from_syslog(text, [&](std::size_t offset) {
    const auto next = known ? next_record(text, offset, read_last) : std::nullopt;
    known = next.has_value();
    return next.value_or(text.size());
  });
  if (!known) return EBUSY;
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
  const auto own_time = fmt::format("{}.{:06}", *us / 1'000'000, *us % 1'000'000);
  const std::string time(continues ? last_time(log) : unused_time(own_time, log));
  append_record(time, unescaped(text), log);
}

std::string_view writer_of_message(std::string_view text) {
  const auto colon = text.find(": ");
  return colon == text.npos ? std::string_view{} : text.substr(0, colon + 2);
}

std::string kernel_log_from_syslog(std::string_view text,
                                   const std::function<std::size_t(std::size_t)>& next_record) {
  std::string log;
  std::optional<std::string> record;
  std::string_view head, time;  // of the record that is being read
  const auto end_record = [&] {
    if (record && !record->empty()) append_record(unused_time(time, log), *record, log);
    record.reset();
  };
  std::size_t next = 0;
  for (const auto line : lines(text)) {
    const auto parsed = parse_syslog_line(line);
    if (!parsed) continue;
    const auto offset = static_cast<std::size_t>(line.data() - text.data());
    bool begins = parsed->head != head || parse_double(parsed->time).value_or(0) == 0;
    if (!begins) {
      if (offset > next) next = next_record(offset);
      begins = offset == next;
    }
    if (!begins) {
      if (record) record->append(1, '\n').append(parsed->text);
      continue;
    }
    end_record();
    head = parsed->head;
    time = parsed->time;
    if (is_kernels(parsed->priority)) record = parsed->text;
  }
  end_record();
  return log;
}

std::optional<std::size_t> next_record(std::string_view text, std::size_t offset,
                                       const ReadLastRecords& read_last) {
  constexpr int kMostReads = 20;
  const auto last_line = text.substr(text.rfind('\n', text.size() - 2) + 1);  // npos + 1 is 0
  std::string got;
  // How much of `got` the kernel wrote after the text.
  const auto since = [&]() -> std::optional<std::size_t> {
    const auto last = got.rfind(last_line);
    if (last == got.npos) return std::nullopt;
    return got.size() - last - last_line.size();
  };
  std::size_t added = 0;
  for (int reads = 0; reads < kMostReads; ++reads) {
    if (read_last(text.size() - offset + added, got) < 0) return std::nullopt;
    auto now = since();
    const auto of_text = now ? got.size() - *now : 0;
    if (!now) {  // the text's last record has no room, or new ones took it
      if (read_last(2 * text.size() + added, got) < 0) return std::nullopt;
      now = since();
    }
    if (!now) return std::nullopt;
    if (*now == added) return text.size() - of_text;
    added = *now;
  }
  return std::nullopt;
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
