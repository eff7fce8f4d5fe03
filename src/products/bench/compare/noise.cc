#include "bench/compare/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "bench/compare/distributions.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kGroupsToDiffer = 3;  // from here on it shows how much groups differ

constexpr double kLeastGap = 0.02;  // of two states, as a share: less does not matter
constexpr double kGapToWidth = 3;   // the gap, in widths of the wider heap

// Of the error of 1% that is stated, what two states may take; the noise takes the rest.
constexpr double kStatesError = 0.005;
// Differences above a factor of 2.5 are not those of two states: processes of one VM differed by up
// to 2.1 times. Where earlier runs show two levels, by this much more than these.
const double kMostBetweenStates = std::log(2.5);
constexpr double kBeyondStates = 1.25;

}  // namespace

Noise noise_around_mean(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  const double mean = gpuready::mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {squares / (n - 1), n - 1};
}

std::optional<Noise> noise_of(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double n = static_cast<double>(values.size());
  double squares = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    squares += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return Noise{squares / (2 * (n - 1)), 2 * (n - 1) * (n - 1) / (3 * n - 4)};
}

std::optional<Noise> learned_from(const std::vector<Noise>& groups, double resolution) {
  if (groups.empty()) return std::nullopt;
  const double floor = resolution * resolution;
  const double count = static_cast<double>(groups.size());
  double degrees = 0, squares = 0, mean = 0, scatter = 0;
  const auto level = [&](const Noise& group) {
    const double half = group.degrees / 2;
    return std::log(std::max(group.variance, floor)) - digamma(half) + std::log(half);
  };
  for (const auto& group : groups) {
    degrees += group.degrees;
    squares += group.degrees * std::max(group.variance, floor);
    mean += level(group) / count;
  }
  if (groups.size() < kGroupsToDiffer) return Noise{squares / degrees, degrees};
  for (const auto& group : groups) {
    scatter += (level(group) - mean) * (level(group) - mean) / (count - 1);
    scatter -= trigamma(group.degrees / 2) / count;
  }
  const double most = std::min(degrees, count);
  if (scatter <= 0) return Noise{squares / degrees, most, true};
  const double half = trigamma_inverse(scatter);
  return Noise{std::exp(mean + digamma(half) - std::log(half)), std::min(2 * half, most), true};
}

std::optional<TwoLevels> two_levels(std::vector<double> values, std::size_t least) {
  if (values.size() < 2 * least) return std::nullopt;
  std::ranges::sort(values);
  std::size_t first_high = least;
  const auto gap = [&](std::size_t i) { return values[i] - values[i - 1]; };
  for (std::size_t i = least; i + least <= values.size(); ++i)
    if (gap(i) > gap(first_high)) first_high = i;
  const double width =
      std::max(values[first_high - 1] - values.front(), values.back() - values[first_high]);
  if (gap(first_high) < kLeastGap || gap(first_high) < kGapToWidth * width) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(first_high);
  return TwoLevels{median({values.begin(), middle}), median({middle, values.end()}), first_high,
                   values.size() - first_high};
}

std::size_t runs_to_tell_states(std::size_t comparisons) {
  std::size_t runs = 2;
  while (static_cast<double>(comparisons) * std::pow(0.5, 2.0 * static_cast<double>(runs) - 1) >
         kStatesError)
    ++runs;
  return runs;
}

bool KnownStates::may_be(double difference) const {
  return !one_level &&
         std::fabs(difference) < std::max(kMostBetweenStates, kBeyondStates * between_levels);
}

std::string too_few_to_tell_states(std::string_view what, std::size_t count, std::size_t least) {
  return fmt::format(
      "too few {} to tell a difference from a machine with two states ({} of at "
      "least {})",
      what, count, least);
}

}  // namespace gpuready::bench
