#include "machine/pci_files.h"

#include <cmath>

#include "base/text.h"

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

std::string_view last_component(std::string_view path) {
  path = trim(path);
  return path.substr(path.rfind('/') + 1);
}

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
