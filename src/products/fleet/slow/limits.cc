#include "fleet/slow/limits.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/statistics.h"

namespace gpuready::fleet {
namespace {

// Below 3%, a node is not worth draining, and below 0.5%, no program repeats its rate.
constexpr double kLeastDrop = 0.03;
constexpr double kWideDrop = 0.15;  // a node that is slower by a sixth would not be seen
constexpr double kMostDrop = 0.5;
constexpr double kLeastNoise = 0.005;
// The limit is in the middle between usual and slow, so that both are this far from it.
constexpr double kNoisesToLimit = 2.5, kNoisesToLimitOfFew = 2;
// Nodes that differ by themselves are not slow.
constexpr double kSpreadsToLimit = 4;
constexpr double kMostEvidence = 8;     // exp(-8): one measurement in 3,000 is slow by chance
constexpr double kDeviations = 1.4826;  // of a normal distribution's median absolute deviation

double deviation(std::span<const double> values, double centre) {
  std::vector<double> far;
  for (const double value : values) far.push_back(std::abs(value - centre));
  return kDeviations * median(std::move(far));
}

// Of few values more, because they may look alike by chance.
double with_doubt(double deviation, std::size_t values) {
  return deviation * (1 + 0.5 / std::sqrt(static_cast<double>(std::max<std::size_t>(values, 1))));
}

}  // namespace

double usual_rate(std::vector<double> rates, bool many_parts, double wide) {
  if (rates.empty()) return 0;
  std::ranges::sort(rates);
  const double quantile = rates.size() < 16 ? 1 : many_parts && rates.size() >= 32 ? 0.6 : 0.875;
  const double place = quantile * static_cast<double>(rates.size() - 1);
  double centre = rates[static_cast<std::size_t>(place + 0.5)];
  for (int i = 0; i < 20; ++i) {
    const double width =
        wide > 0 ? wide * centre : std::max(2 * kLeastDrop * centre, 3 * deviation(rates, centre));
    std::vector<double> near;
    for (const double rate : rates)
      if (std::abs(rate - centre) <= width) near.push_back(rate);
    const double next = median(std::move(near));
    if (next == centre) break;
    centre = next;
  }
  return centre;
}

RateLimits learn_limits(std::span<const double> shares,
                        std::span<const std::pair<double, double>> repeats, bool few,
                        double slower_by) {
  RateLimits limits;
  // Of what is within 2.5 deviations, which leaves a normal distribution 0.956 of its own.
  // Of few nodes most pairs may be slow: only those that are not below the usual rate show it.
  std::vector<double> alike;
  for (const double share : shares)
    if (!few || share >= 1) alike.push_back(share);
  double squares = 0, spread = std::max(kLeastNoise, deviation(alike, 1));
  std::size_t used = 0;
  const auto root = [&] {
    return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(used, 1)));
  };
  for (int i = 0; i < 10; ++i) {
    squares = 0, used = 0;
    for (const double share : alike)
      if (std::abs(share - 1) <= 2.5 * spread) squares += (share - 1) * (share - 1), ++used;
    spread = std::max(kLeastNoise, root() / 0.956);
  }
  limits.spread = with_doubt(spread, used);

  std::vector<double> differences;
  for (const auto& [a, b] : repeats)
    if (few || std::min(a, b) >= 1 - 4 * limits.spread)
      differences.push_back(std::numbers::sqrt2 * std::abs(a - b) / (a + b));
  double noise = 0;
  if (few) {
    noise = kDeviations * median(differences);
  } else if (!differences.empty()) {
    squares = 0;
    for (const double one : differences) squares += one * one;
    noise = std::sqrt(squares / static_cast<double>(differences.size()));
  }
  limits.noise = differences.size() < kFewRepeats
                     ? std::max(limits.spread, noise)
                     : std::max(kLeastNoise, with_doubt(noise, differences.size()));
  // What the noise does not explain is of the nodes. Both are estimates from few measurements.
  const double own =
      std::sqrt(std::max(0.0, limits.spread * limits.spread - 2 * limits.noise * limits.noise));
  const double repeated = limits.noise;  // which the spread of few may not show
  if (own == 0) limits.noise = limits.spread;
  const double learned =
      std::max({kLeastDrop, (few ? kNoisesToLimitOfFew : kNoisesToLimit) * limits.noise,
                kSpreadsToLimit * own});
  limits.wide = slower_by == 0 && std::max(learned, kNoisesToLimitOfFew * repeated) > kWideDrop;
  limits.drop = slower_by > 0 ? slower_by / 2 : std::min(learned, kMostDrop);
  return limits;
}

double evidence_of(double share, const RateLimits& limits, double noise) {
  const double below = 1 - limits.drop - share;
  const double wide = std::max(noise, kLeastNoise);
  return std::clamp(2 * limits.drop * below / (wide * wide), -kMostEvidence, kMostEvidence);
}

}  // namespace gpuready::fleet
