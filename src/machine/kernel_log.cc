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
    "blocked for more than",
    "systemd[1]: Reload",
    "dxgk",
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
  auto place = rest.substr(0, close);
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

KernelLog parse_kernel_log(std::string_view text) {
  constexpr std::size_t kFirst = kKernelLogMaxLines / 4;
  KernelLog log;
  log.readable = true;
  for (const auto line : lines(text)) {
    if (!is_about_gpus(line)) continue;
    const auto parsed = split_time(line);
    log.lines.push_back({printable(parsed.text), parsed.seconds});
    if (auto xid = parse_xid(parsed.text)) {
      xid->seconds = parsed.seconds;
      log.xids.push_back(std::move(*xid));
    }
  }
  const auto shorten = [](auto& items, std::size_t first, std::size_t most) {
    if (items.size() <= most) return;
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    items.erase(begin, begin + static_cast<std::ptrdiff_t>(items.size() - most));
  };
  shorten(log.lines, kFirst, kKernelLogMaxLines);
  shorten(log.xids, kKernelLogMaxXids / 4, kKernelLogMaxXids);
  return log;
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
