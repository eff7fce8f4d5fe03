#include "machine/system/kernel_log.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "base/characters.h"
#include "base/text.h"
#include "host/kernel_log.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
// Substrings of lines that some finding quotes or that tell a GPU's story.
constexpr std::string_view kTopics[] = {
    "NVRM",
    "nvidia",
    "nv_peer_mem: ",
    "Xid",
    "nouveau",
    "amdgpu",
    "[drm",
    "kfd",
    "i915",
    "xe 0",
    " [xe]",
    "vfio",
    "AER:",
    "PCIe Bus Error",
    "pcieport",
    "pciehp ",
    "[Hardware Error]: event severity: ",
    "section_type: PCIe error",
    "[Hardware Error]:   device_id: ",
    "PM: suspend",
    "PM: hibernation",
    "PM: Waking up",
    "Loading of module with unsupported crypto",
    "PKCS#7",
    "module verification failed",
    "Lockdown",
    "{ module_load }",
    "Loading of unsigned module",
    "Loading of module with unavailable key",
    "this_module section size must match",
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
    "BUG: kernel NULL pointer",
    "BUG: unable to handle",
    "BUG: Bad page ",
    "general protection fault, ",
    "Oops: ",
    "RIP: ",
    "WARNING: CPU: ",
    "dxgk",
    "GPU HANG",
    "nvgpu",
    "gk20a ",
    "radeon ",
    "gim ",
    "Missing ENDBR: ",
    "kernel BUG at ",
    "Internal error: Oops",
    "Unable to handle kernel ",
    "pc : ",
    "detected Invalidation ",
    "swiotlb",
    "mlx5_core ",
    "mlx4_core ",
    "mlx4_core: probe of ",
    "habanalabs ",
    "Unknown symbol ",
    "cma: ",
};
// "no space for" and the like of devices that are not GPUs are kept too: a line is short.

// What parse_double() reads; nearly all are plain, and few of their values are asked for.
bool is_number(std::string_view text) {
  constexpr std::size_t kPlainMax = 20;  // of any value, it is finite
  const auto whole = std::ranges::find_if_not(text, is_digit);
  const bool plain = text.size() <= kPlainMax && whole != text.begin() && whole != text.end() &&
                     *whole == '.' && std::all_of(whole + 1, text.end(), is_digit);
  return plain || parse_double(text);
}

struct Parsed {
  std::string_view text, time;

  std::optional<double> seconds() const { return parse_double(time); }
};

Parsed split_time(std::string_view line) {
  const auto space = std::min(line.find(' '), line.size());
  const auto time = line.substr(0, space);
  if (space == line.size() || !is_number(time)) return {line, {}};
  return {line.substr(space + 1), time};
}

// Those whose messages begin "NAME: ". Of devices any driver may write.
constexpr std::string_view kWriters[] = {
    "NVRM",       "nvidia",      "nvidia-nvlink", "nvidia-uvm", "nvidia_uvm", "nvidia-modeset",
    "nvidia_drm", "nouveau",     "amdgpu",        "amdkfd",     "kfd",        "radeon",
    "i915",       "xe",          "nvgpu",         "dxgk",       "hv_vmbus",   "DMAR",
    "AMD-Vi",     "PM",          "ACPI",          "Lockdown",   "PKCS#7",     "secureboot",
    "vfio_pci",   "vfio-pci",    "drm",           "cma",        "mlx5_core",  "nvidia-vgpu-vfio",
    "mlx4_core",  "nv_peer_mem", "habanalabs_ib", "mlx5_ib",    "irdma",      "bnxt_re"};
// Families: "nvidia-nvswitch3", "vfio_iommu_type1_attach_group".
constexpr std::string_view kWriterFamilies[] = {"nvidia-nvswitch", "vfio", "nvidia_"};
// The kernel's messages that name no writer.
constexpr std::string_view kNameless[] = {"INFO: task ",
                                          "Loading of ",
                                          "module nvidia",
                                          "Secure boot ",
                                          "audit: type=1400 audit(",
                                          "arm-smmu",
                                          "BUG: ",
                                          "Oops: ",
                                          "general protection fault, ",
                                          "RIP: ",
                                          "WARNING: CPU: ",
                                          "kernel BUG at ",
                                          "traps: Missing ENDBR: ",
                                          "Missing ENDBR: ",
                                          "Unable to handle kernel ",
                                          "Internal error: Oops",
                                          "pc : "};

constexpr std::size_t kLineMax = 2000;  // of a line; the kernel's own records have at most 1024
constexpr std::size_t kKindMax = 200;

std::size_t hex_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_hex(text[length])) ++length;
  return length;
}

// "0000:17:00", with or without ".0", at the front of the text; `domain` is its hex_length().
std::size_t address_length(std::string_view text, std::size_t domain) {
  if (domain < 4 || domain > 8 || text.size() < domain + 6 || text[domain] != ':' ||
      text[domain + 3] != ':' || hex_length(text.substr(domain + 1)) != 2 ||
      hex_length(text.substr(domain + 4)) != 2)
    return 0;
  const bool function =
      text.size() > domain + 7 && text[domain + 6] == '.' && is_hex(text[domain + 7]);
  return domain + (function ? 8 : 6);
}
std::size_t address_length(std::string_view text) { return address_length(text, hex_length(text)); }

// A number at the front: "0x1f", "42", and hexadecimal words of eight digits and more; `hex` is the
// text's hex_length().
std::size_t number_length(std::string_view text, std::size_t hex) {
  if (text.starts_with("0x")) return 2 + hex_length(text.substr(2));
  if (hex >= 8) return hex;
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  return digits;
}

// Most texts differ from a prefix in its first character.
inline bool begins_with(std::string_view text, std::string_view prefix) {
  return !text.empty() && text.front() == prefix.front() && text.starts_with(prefix);
}

inline bool take(std::string_view& text, std::string_view prefix) {
  if (!begins_with(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "GT0: " and the like.
bool take_numbered(std::string_view& text, std::string_view name, std::string_view end) {
  if (!begins_with(text, name)) return false;
  auto digits = name.size();
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == name.size() || digits == text.size() || !text.substr(digits).starts_with(end))
    return false;
  text.remove_prefix(digits + end.size());
  return true;
}

// "[drm] " or "[drm:function [module]] "; the module, or "drm".
std::optional<std::string_view> take_drm(std::string_view& text) {
  if (take(text, "[drm] ")) return "drm";
  if (!text.starts_with("[drm:")) return std::nullopt;
  const auto close = text.find("] ");
  if (close == text.npos) return std::nullopt;
  const auto open = text.substr(0, close).rfind(" [");
  std::string_view module = "drm";
  if (open != text.npos && open > 0 && text[close - 1] == ']')
    module = text.substr(open + 2, close - open - 3);
  text.remove_prefix(close + 2);
  return module;
}

// What drivers put between the device and the message.
void take_tags(std::string_view& text) {
  for (bool any = true; any;) {
    any = take(text, "amdgpu: ") || take(text, "kfd: ") || take_drm(text) ||
          take(text, "*ERROR* ") || take(text, "[Hardware Error]: ") ||
          take_numbered(text, "Tile", ": ") || take_numbered(text, "GT", ": ") ||
          take_numbered(text, "{", "}[Hardware Error]: ") || take_numbered(text, "{", "}");
  }
}

// Of a driver: no punctuation of a message whose text goes on with a device.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '-';
  });
}

// "nvidia 0000:17:00.0: text", as dev_printk() of the kernel writes it.
std::optional<LogMessage> of_device(std::string_view line) {
  const auto space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  auto rest = line.substr(space + 1);
  const auto length = address_length(rest);
  if (length == 0 || rest[length - 2] != '.')
    return std::nullopt;  // a device's name has a function
  if (!is_name(line.substr(0, space))) return std::nullopt;
  rest.remove_prefix(length);
  // Slots' services are devices of their own: "0000:00:1c.0:pcie004".
  if (rest.starts_with(":pcie")) rest.remove_prefix(std::min(rest.find(": "), rest.size()));
  if (!take(rest, ": ")) return std::nullopt;
  take_tags(rest);
  return LogMessage{line.substr(0, space), rest};
}

std::optional<LogMessage> of_writer(std::string_view line) {
  const auto colon = line.find(": ");
  const auto writer = line.substr(0, colon);
  if (colon == line.npos || contains(writer, " ")) return std::nullopt;
  const bool known =
      std::ranges::find(kWriters, writer) != std::end(kWriters) ||
      std::ranges::any_of(kWriterFamilies, [&](auto name) { return writer.starts_with(name); });
  if (!known) return std::nullopt;
  auto rest = line.substr(colon + 2);
  take_tags(rest);
  return LogMessage{writer, rest};
}

// "NVRM: GPU 0000:17:00.0: text", "NVRM: GPU0 text"; debug builds leave out the first colon.
std::optional<LogMessage> of_nvrm(std::string_view line) {
  if (!take(line, "NVRM: ")) {
    const bool debug = take(line, "NVRM ") && line.find(": ") < line.find(' ');
    if (!debug) return std::nullopt;
  }
  auto rest = line;
  if (!take_numbered(rest, "GPU", " ") && take(rest, "GPU ")) {
    const auto length = address_length(rest);
    rest.remove_prefix(length);
    if (length == 0 || !take(rest, ": ")) rest = line;
  }
  return LogMessage{"NVRM", rest};
}

// "gk20a 17000000.gpu: text": a Tegra's GPU is a device of the platform.
std::optional<LogMessage> of_tegra(std::string_view line) {
  for (const auto writer : {std::string_view("gk20a"), std::string_view("nvgpu")}) {
    auto rest = line;
    if (!take(rest, writer) || !take(rest, " ")) continue;
    rest.remove_prefix(hex_length(rest));
    const auto colon = rest.find(": ");
    if (rest.starts_with('.') && colon != rest.npos && is_name(rest.substr(1, colon - 1)))
      return LogMessage{writer, rest.substr(colon + 2)};
  }
  return std::nullopt;
}

// "gim warning:(function:12) text" and "gim error libgv: [0:a8:0:0][function:12] text": AMD's
// driver for hosts of virtual functions.
std::optional<LogMessage> of_gim(std::string_view line) {
  if (!take(line, "gim ")) return std::nullopt;
  const auto level = std::min(line.find_first_of(": "), line.size());
  line.remove_prefix(level);
  if (level == 0 || !(take(line, ":(") || take(line, " libgv: "))) return std::nullopt;
  return LogMessage{"gim", line};
}

constexpr std::size_t kMostOfName = 15;  // of a process: TASK_COMM_LEN without its end

// What netfilter logs begins as somebody chose, up to 127 characters, and goes on like this. A
// process's name, which drivers quote, is too short for it.
bool is_of_netfilter(std::string_view line) {
  const auto in = line.find("IN=");
  if (in == line.npos) return false;
  line.remove_prefix(in);
  const auto out = line.find(" OUT=");
  if (out == line.npos) return false;
  line.remove_prefix(out);
  constexpr std::string_view kNext[] = {" MACSRC=", " ARP HTYPE=", " INCOMPLETE ["};
  return (contains(line, " SRC=") && contains(line, " DST=")) ||
         std::ranges::any_of(kNext, [&](auto next) { return contains(line, next); });
}

bool is_numbered(std::string_view text, std::string_view name, std::string_view end) {
  return take_numbered(text, name, end);
}

// What the kernel says of a process, behind the process's name.
bool is_behind_name(std::string_view text) {
  switch (text.front()) {
    case '[':  // "NAME[PID]: segfault at 0 ip ... in FILE[...]"
      return is_numbered(text, "[", "]: ") || is_numbered(text, "[", "] ");
    case '/':
      return is_numbered(text, "/", ": potentially unexpected");
    case ' ':
      return is_numbered(text, " (", ") used greatest stack") ||
             text.starts_with(" invoked oom-killer");
    case ':':
      return text.starts_with(": page allocation failure") || text.starts_with(": vmalloc error") ||
             text.starts_with(": attempt to access beyond");
    default:
      return false;
  }
}

// What follows the name may have names of files and groups of any length. So a name that looks like
// a driver's proves nothing.
bool is_of_process(std::string_view line) {
  for (std::size_t at = 1; at <= kMostOfName && at < line.size(); ++at)
    if (is_behind_name(line.substr(at))) return true;
  return false;
}

bool is_of_user(std::string_view line) { return is_of_process(line) || is_of_netfilter(line); }

// "? uvm_release+0x5a/0x80 [nvidia_uvm]": a step of the trace of a crash, in a driver's module.
bool is_step_of_trace(std::string_view line) {
  if (!line.ends_with(']')) return false;
  line = trim(line);
  take(line, "? ");
  const auto space = line.find(' '), offset = line.find("+0x");
  if (space == line.npos || line.substr(space, 2) != " [") return false;
  if (offset >= space && line[space - 1] != '*') return false;  // as redaction leaves it
  const auto module = line.substr(space + 2, line.size() - space - 3);
  return is_name(module) && vendor_of_writer(module);
}

bool fits(std::string_view text, std::string_view pattern) {
  if (pattern.starts_with("...")) return contains(text, pattern.substr(3));
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern.front() == '*') {
      const auto run = std::min(text.find(' '), text.size());
      for (std::size_t length = 0; length <= run; ++length)
        if (fits(text.substr(length), pattern.substr(1))) return true;
      return false;
    }
    if (text.empty() || text.front() != pattern.front()) return false;
    text.remove_prefix(1);
  }
  return true;
}
// The numbers of messages that rules read, by what stands around them.
struct ReadNumber {
  std::string_view start;   // of the message
  std::string_view before;  // the first of it, directly before the number; empty: anything
  std::string_view after = {};
};
constexpr ReadNumber kReadNumbers[] = {
    {"Xid (", "): "},
    {"Xid (", "caused by previous Xid "},
    {"Xid (", "changed from "},  // the recovery action
    {"Xid (", ") to "},
    {"SXid (PCI:", "): "},
    {"SXid (PCI:", ", Link "},
    {"loading NVIDIA UNIX ", "  "},
    {"NVIDIA ", "NVIDIA ", " driver release"},
    {"RmInitAdapter failed! ", "("},
    {"RmInitAdapter failed! ", ":"},
    {"", "Assertion failed: ", " @ kernel_gsp"},
    {"", "the version "},  // of an API mismatch
    {"", "severity("},     // of mlx5's health reports
    {"skipped device ", "skipped device "},
    {"enabling device (", "enabling device ("},
    {"AER: ", " id="},
    {"not ready ", "not ready "},
    {"probe ", "failed with error -"},
    {"Direct firmware load for ", "failed with error -"},
    {"GuC firmware ", "fetch failed with error -"},
    {"GuC firmware ", " version "},
    {"Using GuC firmware ", " version "},  // known_faults.json
    {"HuC firmware ", "fetch failed with error -"},
    {"radeon: ring ", "ring ", " test failed"},
    {"sw_init of IP block", "failed -"},
    {"hw_init of IP block", "failed -"},
    {"", "", " uncorrectable hardware errors detected"},
    {"", "", " new uncorrectable hardware errors detected"},
    {"[", "Request device ["},
    {"Event logged [IO_PAGE_FAULT ", "[IO_PAGE_FAULT device="},
    {"AMD-Vi: Event logged [IO_PAGE_FAULT ", "[IO_PAGE_FAULT device="},
    {"Event logged [IOTLB_INV_TIMEOUT ", "[IOTLB_INV_TIMEOUT device="},
    {"VT-d detected Invalidation Time-out Error: ", "SID "},
    {"BAR ", "BAR "},
    {"BAR ", "[mem size "},
    {"", "", " Gb/s available PCIe bandwidth, limited by "},
    {"", "", " Gb/s available PCIe bandwidth ("},
    {"skipped device ", "rejects atomics "},  // "494<509": versions of firmware
    {"skipped device ", "<"},
    {"swiotlb buffer is full ", "(sz: "},
    {"audit: ", "type="},
    {"audit: ", "permissive="},
};
}  // namespace

bool reads_number(std::string_view line, std::size_t at) {
  const auto indent = std::min(line.find_first_not_of(' '), at);  // of a record's later lines
  line.remove_prefix(indent);
  at -= indent;
  const auto message = parse_message(line);
  if (!message) return false;
  const auto head = line.size() - message->text.size();
  if (at < head) return true;  // the driver's tags: "GPU0", "{3}"
  const auto number = line.find_first_not_of("0123456789abcdefABCDEFx:.", at);
  const auto before = line.substr(head, at - head);
  const auto after = line.substr(std::min(number, line.size()));
  return std::ranges::any_of(kReadNumbers, [&](const ReadNumber& read) {
    return before.starts_with(read.start) && before.ends_with(read.before) &&
           before.find(read.before) + read.before.size() ==
               (read.before.empty() ? 0 : before.size()) &&
           after.starts_with(read.after);
  });
}

std::optional<LogMessage> parse_message(std::string_view line) {
  if (const auto message = of_nvrm(line)) return message;
  if (const auto message = of_device(line)) return message;
  if (auto rest = line; const auto module = take_drm(rest)) {
    take_tags(rest);
    return LogMessage{*module, rest};
  }
  if (auto rest = line; take(rest, "[nvidia-vgpu-vfio] "))
    return LogMessage{"nvidia-vgpu-vfio", rest};
  if (auto rest = line; take(rest, "kfd kfd: ") || take(rest, "misc dxg: ")) {
    take_tags(rest);
    return LogMessage{line.substr(0, line.find(' ')) == "kfd" ? "amdgpu" : "dxg", rest};
  }
  if (const auto message = of_tegra(line)) return message;
  if (const auto message = of_gim(line)) return message;
  if (auto rest = line; take(rest, "iommu ")) {  // "iommu ivhd0: AMD-Vi: text"
    rest.remove_prefix(std::min(rest.find_first_of(": "), rest.size()));
    if (take(rest, ": AMD-Vi: ")) return LogMessage{"AMD-Vi", rest};
  }
  if (auto rest = line; take(rest, "habanalabs ") && take_numbered(rest, "hl", ": "))
    return LogMessage{"habanalabs", rest};
  if (auto rest = line; take_numbered(rest, "{", "}[Hardware Error]:"))
    return LogMessage{"[Hardware Error]", rest};
  for (const auto start : kNameless)
    if (begins_with(line, start)) return LogMessage{"kernel", line};
  if (is_step_of_trace(line)) return LogMessage{"kernel", trim(line)};
  return of_writer(line);
}

std::optional<Vendor> vendor_of_writer(std::string_view writer) {
  constexpr std::pair<std::string_view, Vendor> kOfVendors[] = {
      {"NVRM", Vendor::nvidia},  {"nvidia", Vendor::nvidia}, {"nvgpu", Vendor::nvidia},
      {"gk20a", Vendor::nvidia}, {"amdgpu", Vendor::amd},    {"amdkfd", Vendor::amd},
      {"kfd", Vendor::amd},      {"radeon", Vendor::amd},    {"gim", Vendor::amd},
      {"i915", Vendor::intel},   {"xe", Vendor::intel}};
  for (const auto& [name, vendor] : kOfVendors)
    if (vendor == Vendor::nvidia ? writer.starts_with(name) : writer == name) return vendor;
  return std::nullopt;
}

bool begins_record(std::string_view line) { return parse_message(line) && !is_of_user(line); }

bool says(const LogMessage& message, std::string_view pattern) {
  const auto colon = pattern.find(": ");
  const auto writer = pattern.substr(0, colon);
  constexpr std::string_view kDrmDrivers[] = {"amdgpu", "radeon", "i915", "xe"};
  const bool is_theirs =
      writer == "*" || writer == message.writer ||
      (message.writer == "drm" && std::ranges::find(kDrmDrivers, writer) != std::end(kDrmDrivers));
  return is_theirs && fits(message.text, pattern.substr(colon + 2));
}

bool says(std::string_view line, std::string_view pattern) {
  const auto message = parse_message(line);
  return message && says(*message, pattern);
}

namespace {
// Five bits of each of three characters: most lines of a log have none of the topics' first three.
constexpr std::size_t kStart = 3;
constexpr std::size_t kStarts = 1 << (5 * kStart);
std::size_t with_next(std::size_t start, char c) { return (start << 5 | (c & 31u)) % kStarts; }
std::size_t start_of(std::string_view text) {
  return with_next(with_next(with_next(0, text[0]), text[1]), text[2]);
}

bool has_topic(std::string_view line) {
  static const auto starts = [] {
    std::bitset<kStarts> out;
    for (const auto topic : kTopics) out.set(start_of(topic));
    return out;
  }();
  const auto begins = [](std::string_view text) {
    return std::ranges::any_of(kTopics, [&](auto topic) { return begins_with(text, topic); });
  };
  std::size_t start = 0;
  for (std::size_t end = 0; end < line.size(); ++end) {
    start = with_next(start, line[end]);
    if (starts[start] && end + 1 >= kStart && begins(line.substr(end + 1 - kStart))) return true;
  }
  return false;
}
}  // namespace

bool is_about_gpus(std::string_view line) { return has_topic(line) && parse_message(line); }

std::optional<XidEvent> parse_xid(std::string_view line) {
  auto rest = line;
  if (!take(rest, "NVRM: Xid (")) return std::nullopt;
  take(rest, "PCI:");
  const auto length = address_length(rest);
  XidEvent event;
  if (length == 0) return std::nullopt;
  std::string address(rest.substr(0, length));
  if (address[length - 2] != '.') address += ".0";
  event.pci = parse_pci_address(address);
  if (!event.pci) return std::nullopt;
  rest.remove_prefix(length);
  // In MIG mode the instance stands behind: "PCI:0000:17:00 GPU-I:01 GPU-CI:00".
  take_numbered(rest, " GPU-I:", "");
  take_numbered(rest, " GPU-CI:", "");
  if (!take(rest, "): ")) return std::nullopt;
  const auto end = rest.find_first_not_of("0123456789");
  const auto code = parse_uint(rest.substr(0, end));
  if (!code || *code > 100'000 || end == rest.npos || rest[end] != ',') return std::nullopt;
  event.code = static_cast<int>(*code);
  event.line = printable(line);
  event.source = "kernel log";
  return event;
}

namespace {
// Of "Xid (PCI:0000:17:00): 79" and "SXid (...): 24007", with what stands before it.
std::size_t length_to_code(std::string_view text) {
  const auto xid = text.find("Xid (");
  const auto close = xid == text.npos ? text.npos : text.find("): ", xid);
  if (close == text.npos) return 0;
  const auto end = text.find_first_not_of("0123456789", close + 3);
  return end == text.npos ? 0 : end;
}
}  // namespace

std::string kind_of_line(std::string_view text) {
  std::string kind(text);                  // never longer
  const auto code = length_to_code(text);  // another code is another kind
  const char *from = text.data() + code, *const end = text.data() + text.size();
  char *to = kind.data() + code, *const last = kind.data() + std::min(text.size(), kKindMax);
  while (from < end && to < last) {
    if (!is_hex(*from)) {
      *to++ = *from++;
      continue;
    }
    const std::string_view rest(from, end);
    const auto hex = hex_length(rest);
    if (const auto address = address_length(rest, hex); address > 0) {
      to = std::copy_n(from, address, to);
      from += address;
      continue;
    }
    const auto number = number_length(rest, hex);
    *to++ = number > 0 ? '#' : *from;
    from += std::max<std::size_t>(number, 1);
  }
  kind.resize(static_cast<std::size_t>(to - kind.data()));
  return kind;
}

namespace {
// A name is too short to make a message of its writer and the ", text" that follows the name.
bool is_rest_of_xid(std::string_view line, std::string_view writer) {
  return !line.starts_with(writer) || line.size() <= kMostOfName || line.find(", ") < kMostOfName;
}
}  // namespace

KernelLogReader::KernelLogReader() : lines_(kKernelLogKeep), xids_(kKernelLogKeep) {}

void KernelLogReader::line(std::string_view line) {
  const auto parsed = split_time(line.substr(0, kLineMax));
  const auto text = trim(parsed.text);
  // Logs without times say 0 everywhere, and the kernel's own first lines do.
  const bool continues = parsed.time == record_ && parsed.seconds().value_or(0) > 0;
  if (continues && xid_ && is_rest_of_xid(text, writer_)) {
    xid_->line += printable(' ' + std::string(text)).substr(0, kLineMax - xid_->line.size());
    return;
  }
  if (!continues) {
    keep_xid();
    record_ = parsed.time;
    believed_.reset();
    if (parse_message(parsed.text))
      first_ = parsed.text;
    else
      believed_ = false;
  }
  if (!believed_.value_or(true) || !has_topic(text)) return;
  if (!believed_) {
    writer_ = writer_of_message(trim(first_));
    believed_ = !is_of_user(first_);
  }
  const bool by_writer = !continues || (!writer_.empty() && text.starts_with(writer_));
  if (!*believed_ || !by_writer) return;
  if (continues && !parse_message(text)) return;  // of a first line it is known
  keep_xid();
  xid_ = parse_xid(text);
  if (xid_)
    xid_->seconds = parsed.seconds();
  else
    keep({printable(text), parsed.seconds()});
}

void KernelLogReader::keep(LogLine line) {
  const auto kind = kind_of_line(line.text);
  lines_.add(kind, std::move(line));
}

void KernelLogReader::keep_xid() {
  if (!xid_) return;
  keep({xid_->line, xid_->seconds});
  // NVLink 5's events say in their text how grave they are.
  const auto kind = std::to_string(xid_->code) + (xid_->pci ? xid_->pci->text() : "") +
                    (contains(xid_->line, "Nonfatal") ? "n" : "");
  xids_.add(kind, *std::exchange(xid_, std::nullopt));
}

KernelLog KernelLogReader::take() {
  keep_xid();
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
