#include "machine/kernel_log.h"

#include <algorithm>

#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
// Substrings of lines that some finding quotes or that tell a GPU's story.
constexpr std::string_view kTopics[] = {
    "NVRM",
    "nvidia",
    "Xid",
    "nouveau",
    "amdgpu",
    "[drm",
    "kfd",
    "i915",
    "xe 0",
    "vfio",
    "AER:",
    "PCIe Bus Error",
    "pcieport",
    "[Hardware Error]: event severity: ",
    "section_type: PCIe error",
    "[Hardware Error]:   device_id: ",
    "PM: suspend",
    "PM: hibernation",
    "PM: Waking up",
    "Key was rejected by service",
    "Loading of module with unsupported crypto",
    "PKCS#7",
    "module verification failed",
    "Lockdown",
    "Loading of unsigned module",
    "Loading of module with unavailable key",
    "Secure boot",
    "no space for",
    "failed to assign",
    "can't assign",
    "DMAR: [",
    "AMD-Vi: Event",
    "IO_PAGE_FAULT",
    "event: F_",  // the SMMUv3's
    "event: C_BAD_",
    "change power state",
    "; giving up",
    "blocked for more than",
    "systemd[1]: Reload",
    "dxgk",
    "IOCTLs and executions are blocked",  // a line of its own in xe's message
    "GPU HANG",
    "nvgpu",
    "Exec format error",
};
// "no space for" and the like of devices that are no GPU are kept too: a line is short.

struct Parsed {
  std::string_view text;
  std::optional<double> seconds;
};

Parsed split_time(std::string_view line) {
  const auto space = line.find(' ');
  if (space == line.npos) return {line, std::nullopt};
  auto stamp = line.substr(0, space);
  if (const auto seconds = parse_double(stamp)) return {trim(line.substr(space + 1)), seconds};
  return {line, std::nullopt};
}

constexpr std::size_t kLineMax = 2000;  // of a line; the kernel's own records have at most 1024
constexpr std::size_t kKindMax = 200;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::size_t hex_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_hex(text[length])) ++length;
  return length;
}

// "0000:17:00", with or without ".0", at the front of the text.
std::size_t address_length(std::string_view text) {
  const auto domain = hex_length(text);
  if (domain < 4 || domain > 8 || text.size() < domain + 6 || text[domain] != ':' ||
      text[domain + 3] != ':' || hex_length(text.substr(domain + 1)) != 2 ||
      hex_length(text.substr(domain + 4)) != 2)
    return 0;
  const bool function =
      text.size() > domain + 7 && text[domain + 6] == '.' && is_hex(text[domain + 7]);
  return domain + (function ? 8 : 6);
}

// A number at the front: "0x1f", "42", and hexadecimal words of eight digits and more.
std::size_t number_length(std::string_view text) {
  if (text.starts_with("0x")) return 2 + hex_length(text.substr(2));
  const auto hex = hex_length(text);
  if (hex >= 8) return hex;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  return digits;
}
}  // namespace

bool is_about_gpus(std::string_view line) {
  return std::any_of(std::begin(kTopics), std::end(kTopics),
                     [&](std::string_view topic) { return contains(line, topic); });
}

std::optional<XidEvent> parse_xid(std::string_view line) {
  const auto start = line.find("Xid (");
  // "SXid" events are an NVSwitch's and have a catalogue of their own.
  if (start == line.npos || (start > 0 && line[start - 1] == 'S')) return std::nullopt;
  auto rest = line.substr(start + 5);
  const auto close = rest.find(')');
  if (close == rest.npos || close > 64) return std::nullopt;
  // In MIG mode the instance stands behind: "PCI:0000:17:00 GPU-I:01 GPU-CI:00".
  auto place = rest.substr(0, std::min(close, rest.find(' ')));
  if (const auto bare = after_prefix(place, "PCI:")) place = *bare;
  XidEvent event;
  event.pci = parse_pci_address(place);
  if (!event.pci) event.pci = parse_pci_address(std::string(place) + ".0");

  rest = rest.substr(close + 1);
  if (!rest.starts_with(':')) return std::nullopt;
  rest = trim(rest.substr(1));
  const auto code = parse_uint(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!code || *code > 100'000) return std::nullopt;
  event.code = static_cast<int>(*code);
  event.line = printable(line);
  event.source = "kernel log";
  return event;
}

std::string kind_of_line(std::string_view text) {
  std::string kind;
  // "Xid (PCI:0000:17:00): 79, ..." and "SXid (...): 24007, ...": another code is another kind.
  if (const auto xid = text.find("Xid ("); xid != text.npos) {
    const auto close = text.find("): ", xid);
    const auto end =
        close == text.npos ? text.npos : text.find_first_not_of("0123456789", close + 3);
    if (end != text.npos) {
      kind = text.substr(0, end);
      text.remove_prefix(end);
    }
  }
  while (!text.empty() && kind.size() < kKindMax) {
    const auto length = number_length(text);
    if (const auto address = address_length(text); address > 0) {
      kind += text.substr(0, address);
      text.remove_prefix(address);
    } else if (length > 0) {
      kind += '#';
      text.remove_prefix(length);
    } else {
      kind += text.front();
      text.remove_prefix(1);
    }
  }
  return kind;
}

KernelLogReader::KernelLogReader() : lines_(kKernelLogKeep), xids_(kKernelLogKeep) {}

void KernelLogReader::line(std::string_view line) {
  if (!is_about_gpus(line)) return;
  const auto parsed = split_time(line.substr(0, kLineMax));
  LogLine kept{printable(parsed.text), parsed.seconds};
  if (auto xid = parse_xid(kept.text)) {
    xid->seconds = parsed.seconds;
    // NVLink 5's events say in their text how grave they are.
    const auto kind = std::to_string(xid->code) + (xid->pci ? xid->pci->text() : "") +
                      (contains(kept.text, "Nonfatal") ? "n" : "");
    xids_.add(kind, std::move(*xid));
  }
  const auto kind = kind_of_line(kept.text);
  lines_.add(kind, std::move(kept));
}

KernelLog KernelLogReader::take() {
  KernelLog log;
  log.readable = true;
  log.lines = lines_.take();
  log.xids = xids_.take();
  return log;
}

KernelLog parse_kernel_log(std::string_view text) {
  KernelLogReader reader;
  while (!text.empty()) {
    const auto end = text.find('\n');
    reader.line(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return reader.take();
}

void read_kernel_log(Host& host, Machine& machine) {
  const auto text = host.kernel_log();
  if (text) {
    machine.kernel_log = parse_kernel_log(*text);
    return;
  }
  machine.kernel_log.error = text.error().message;
  note_unseen(machine, "kernel log", text.error());
}

}  // namespace gpuready
