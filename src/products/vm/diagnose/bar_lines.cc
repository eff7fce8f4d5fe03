#include "vm/diagnose/bar_lines.h"

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::vm {
namespace {

constexpr int kMemoryBars = 6;  // from 7 on: SR-IOV's, and windows of bridges from 13 on
constexpr std::string_view kFailures[] = {"no space for", "can't assign", "failed to assign",
                                          "can't claim"};
// Both wordings say "assigned"; a line that failed does not. A window that could not be enlarged
// stays what it was.
constexpr std::string_view kAssigned[] = {"assigned", "old value restored"};

// "0x38000000000-0x3801fffffff" or "size 0x2000000000", after "[mem ".
std::uint64_t bytes_of(std::string_view range) {
  const auto number = [](std::string_view text) {
    return parse_hex(text.substr(0, text.find_first_of(" ]-")));
  };
  if (const auto size = after_prefix(range, "size ")) return number(*size).value_or(0);
  const auto dash = range.find('-');
  if (dash == range.npos) return 0;
  const auto first = number(range), last = number(range.substr(dash + 1));
  return first && last && *last >= *first && *last - *first != UINT64_MAX ? *last - *first + 1 : 0;
}

}  // namespace

std::optional<BarLine> parse_bar_line(std::string_view line) {
  const auto at = line.find(": BAR ");
  const auto memory = line.find("[mem ");
  if (at == line.npos || memory == line.npos) return std::nullopt;
  const auto address = doctor::pci_address_in(line.substr(0, at));
  auto rest = line.substr(at + 6);
  const auto bar = parse_uint(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!address || !bar || *bar >= kMemoryBars) return std::nullopt;
  BarLine out{.device = *address, .bar = static_cast<int>(*bar)};
  out.bytes = bytes_of(line.substr(memory + 5));
  for (const auto failure : kFailures)
    if (contains(rest, failure)) return out;
  for (const auto assigned : kAssigned) out.assigned |= contains(rest, assigned);
  return out.assigned ? std::optional(out) : std::nullopt;
}

}  // namespace gpuready::vm
