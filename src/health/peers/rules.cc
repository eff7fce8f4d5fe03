#include "health/peers/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/units.h"

namespace gpuready {
namespace {

// Measured on 18 links of H200s: 0.88.
constexpr double kLeastOfLinks = 0.7;

// Bytes a second that a link carries one way, of chips that have one rate alone: NVIDIA's
// whitepapers of P100 (NVLink 1), V100 (2), A100 (3), H100 (4) and Blackwell (5). Workstation chips
// have several.
struct LinkRate {
  int capability;
  double bytes_per_s;
};
constexpr std::array<LinkRate, 6> kLinkRates = {
    {{60, 20e9}, {70, 25e9}, {80, 25e9}, {90, 25e9}, {100, 50e9}, {103, 50e9}}};

// The copies of one direction, whichever GPU makes them.
struct Direction {
  std::string_view name;
  std::array<std::string_view, 4> metrics;
};
constexpr std::array<Direction, 2> kDirections = {{
    {"from the first GPU to the second",
     {"peer_write_rate", "peer_kernel_write_rate", "peer_read_rate_back",
      "peer_kernel_read_rate_back"}},
    {"from the second GPU to the first",
     {"peer_read_rate", "peer_kernel_read_rate", "peer_write_rate_back",
      "peer_kernel_write_rate_back"}},
}};

}  // namespace

std::vector<std::string> judge_peer_rates(std::vector<Metric>& metrics,
                                          const PeerRateFacts& facts) {
  std::vector<std::string> below;
  const auto rate = std::ranges::find(kLinkRates, facts.capability, &LinkRate::capability);
  if (rate == kLinkRates.end() || facts.links.value_or(0) <= 0) return below;
  const double all = *facts.links * rate->bytes_per_s;
  for (const Direction& direction : kDirections) {
    Metric* best = nullptr;
    for (Metric& metric : metrics)
      if (std::ranges::find(direction.metrics, metric.name) != direction.metrics.end() &&
          (!best || best->value < metric.value))
        best = &metric;
    if (!best) continue;
    best->threshold = kLeastOfLinks * all;
    best->threshold_source =
        fmt::format("{} of the {} that {} NVLinks of {} carry", kLeastOfLinks, format_rate(all),
                    *facts.links, format_rate(rate->bytes_per_s));
    if (best->value < *best->threshold)
      below.push_back(fmt::format("{} at most {} arrive, below {}: {}", direction.name,
                                  format_rate(best->value), format_rate(*best->threshold),
                                  *best->threshold_source));
  }
  return below;
}

}  // namespace gpuready
