#include "cli/durations.h"

#include <algorithm>

#include "base/text.h"

namespace gpuready::cli {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ms", 1e-3}, {"s", 1},    {"sec", 1},   {"min", 60},
                           {"m", 60},    {"h", 3600}, {"d", 86400}, {"", 1}};

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789.+-eE"), text.size());
  // "1e3" is a number, and "1s" has no exponent; no unit begins with an e.
  const auto number = parse_double(text.substr(0, end));
  if (!number) return std::nullopt;
  for (const Unit& unit : kUnits)
    if (text.substr(end) == unit.name) return *number * unit.seconds;
  return std::nullopt;
}

}  // namespace gpuready::cli
