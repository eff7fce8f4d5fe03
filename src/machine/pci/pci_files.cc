#include "machine/pci/pci_files.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/optional_min.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/vendor_codes.h"

namespace gpuready {
namespace {
// PCI Express base specifications: raw rate per lane by generation.
constexpr double kGigatransfers[] = {2.5, 5, 8, 16, 32, 64};

// Linux, include/linux/ioport.h.
constexpr std::uint64_t kResourceMemory = 0x200;
constexpr std::uint64_t kResourceUnset = 0x20000000;
constexpr std::size_t kBars = 6;
}  // namespace

std::optional<int> parse_link_speed(std::string_view text) {
  text = trim(text);
  const auto rate = parse_double(text.substr(0, text.find(' ')));
  if (!rate || !contains(text, "GT/s")) return std::nullopt;
  int generation = 1;
  for (const double known : kGigatransfers) {
    if (std::fabs(*rate - known) < 0.01) return generation;
    ++generation;
  }
  return std::nullopt;
}

std::optional<int> parse_link_width(std::string_view text) {
  const auto width = parse_int(text);
  if (!width || *width < 1 || *width > 32) return std::nullopt;
  return static_cast<int>(*width);
}

std::optional<std::uint64_t> parse_aer_total(std::string_view text, std::string_view total) {
  for (const auto line : lines(text))
    if (const auto rest = after_prefix(line, total); rest && rest->starts_with(' '))
      return parse_uint(*rest);
  return std::nullopt;
}

std::vector<std::uint64_t> parse_bar_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const auto line : lines(text)) {
    const auto words = split(line, " \t");
    if (words.size() != 3) break;
    const auto start = parse_hex(words[0]), end = parse_hex(words[1]), flags = parse_hex(words[2]);
    if (!start || !end || !flags) break;
    const bool assigned = (*flags & kResourceMemory) && !(*flags & kResourceUnset) && *start != 0;
    sizes.push_back(assigned && *end > *start ? *end - *start + 1 : 0);
    if (sizes.size() == kBars) break;
  }
  return sizes;
}

PciPath parse_pci_path(std::string_view device_path) {
  PciPath out;
  for (const auto part : split(device_path, "/")) {
    if (const auto bridge = after_prefix(part, "pci"); bridge && bridge->find(':') == 4) {
      out.host_bridge = std::string(part);
      out.path.clear();
    } else if (const auto address = parse_pci_address(part)) {
      out.path.push_back(*address);
    }
  }
  return out;
}

PciPath pci_path_of(Host& host, const PciAddress& address) {
  const std::string base = "/sys/bus/pci/devices/" + address.text();
  auto folder = host.read_link(base);
  if (!folder) folder = host.real_path(base);
  return folder ? parse_pci_path(*folder) : PciPath();
}

std::optional<PathKind> kind_of_path(const PciPath& a, const PciPath& b) {
  if (a.path.empty() || b.path.empty() || !a.host_bridge || a.host_bridge != b.host_bridge)
    return std::nullopt;
  const auto [end_a, end_b] =
      std::mismatch(a.path.begin(), a.path.end(), b.path.begin(), b.path.end());
  if (end_a == a.path.begin()) return PathKind::host_bridge;
  // Bridges below the last common one, the devices themselves not counted.
  const auto below = std::max(a.path.end() - end_a, b.path.end() - end_b) - 1;
  return below <= 1 ? PathKind::same_switch : PathKind::multiple_switches;
}

PcieLink slower_of(const PcieLink& a, const PcieLink& b) {
  return {optional_min(a.generation, b.generation), optional_min(a.width, b.width)};
}

// PCI Local Bus Specification 3.0, 6.1 and 6.7 (status bit 4, capabilities pointer at 0x34); PCI
// Express Base Specification 5.0, 7.5.3 (capability 0x10, Link Control 2 at 0x30 from version 2
// on).
std::optional<int> parse_target_generation(std::string_view config) {
  constexpr unsigned kHasList = 0x10, kExpress = 0x10;
  constexpr int kMostCapabilities = 48;  // as many as fit; a list may be a circle
  const auto le16 = [&](std::size_t at) { return load<std::uint16_t>(bytes_of(config), at); };
  const auto status = le16(0x06);
  if (!status || !(*status & kHasList) || config.size() <= 64) return std::nullopt;
  std::size_t at = static_cast<unsigned char>(config[0x34]) & 0xfcu;
  for (int i = 0; i < kMostCapabilities && at >= 0x40; ++i) {
    const auto head = le16(at);
    if (!head) return std::nullopt;
    if ((*head & 0xff) == kExpress) {
      const auto flags = le16(at + 2), control = le16(at + 0x30);
      if (!flags || (*flags & 0xf) < 2 || !control) return std::nullopt;
      const int target = static_cast<int>(*control & 0xf);
      return target >= 2 && target <= 6 ? std::optional(target) : std::nullopt;
    }
    at = *head >> 8 & 0xfcu;
  }
  return std::nullopt;
}

std::size_t board_top(Host& host, const std::vector<PciAddress>& path, std::uint16_t vendor_id) {
  using pci_vendor::kAmd, pci_vendor::kIntel;
  const auto made_by = [&](std::size_t at, std::uint16_t vendor) {
    return host.read_hex("/sys/bus/pci/devices/" + path[at].text() + "/vendor") == vendor;
  };
  constexpr std::uint16_t kAmdProcessors = 0x1022;
  // Vega 10's switch has the vendor id of AMD's processors (pci.ids: 1022:1470 and 1022:1471).
  const auto is_vegas_switch = [&](std::size_t at) {
    const auto device = host.read_hex("/sys/bus/pci/devices/" + path[at].text() + "/device");
    return made_by(at, kAmdProcessors) && (device == 0x1470 || device == 0x1471);
  };
  std::size_t top = path.size() - 1;
  if (vendor_id == kAmd) {
    while (top > 0 && (made_by(top - 1, kAmd) || is_vegas_switch(top - 1))) --top;
  } else if (vendor_id == kIntel && path.size() >= 4 && made_by(top - 1, kIntel) &&
             made_by(top - 2, kIntel)) {
    top -= 2;  // a root port of Intel's, which the first of the path is, is not a part of it
  }
  return top;
}

std::string_view last_component(std::string_view path) { return base_name(trim(path)); }

std::optional<int> count_cpu_list(std::string_view list) {
  std::int64_t count = 0;
  constexpr std::int64_t kMost = 1 << 20;
  for (const auto range : split(trim(list), ",")) {
    const auto dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMost) return std::nullopt;
    count += *last - *first + 1;
    if (count > kMost) return std::nullopt;
  }
  if (count == 0) return std::nullopt;
  return static_cast<int>(count);
}

}  // namespace gpuready
