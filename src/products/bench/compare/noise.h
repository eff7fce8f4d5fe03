// What is known of the noise from run to run before the runs at hand are looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::bench {

// The standard deviation, as a share, below which timers tell no differences.
inline constexpr double kTimerStep = 1e-4;

// The variance of one run's value (a logarithm), and how many degrees of freedom it rests on.
struct Noise {
  double variance = 0, degrees = 0;
  bool spread_known = false;  // learned from groups enough to show how much these differ
};

// Of runs of one configuration, in time: half the mean square of successive differences (von
// Neumann, "Distribution of the ratio of the mean square successive difference to the variance",
// 1941), so that a drift or a slow wander does not count. Nothing for fewer than two.
std::optional<Noise> noise_of(std::span<const double> values);

// Of at least two: the variance around their mean, a drift included.
Noise noise_around_mean(std::span<const double> values);

// What groups of runs say together about the noise of another group: an inverse chi-square
// distribution fitted by the moments of the logarithms (Smyth, "Linear models and empirical Bayes
// methods", 2004). The more the groups differ, the fewer degrees; never more than the groups have,
// and of three groups or more never more than one a group, since few groups show badly how much
// they differ.
// `resolution`: as of estimate(). Nothing without groups.
std::optional<Noise> learned_from(const std::vector<Noise>& groups, double resolution);

// Two states of a machine, such as two clocks: the values lie in two heaps of at least `least`,
// far from each other. A single value may be an outlier; who asks whether all values lie at one
// level sets `least` to 1.
struct TwoLevels {
  double low = 0, high = 0;  // medians
  std::size_t at_low = 0, at_high = 0;
};
std::optional<TwoLevels> two_levels(std::vector<double> values, std::size_t least = 2);

// Few runs of a machine that changes between two states at random (clocks, allocations, layouts of
// a process) may all lie in one state on one side and all in the other on the other side: n runs on
// each side with the chance 2 (1/2)^(2n), which unequal states only lower. The runs from which on
// this is rare enough for this number of comparisons: 5 for one or two, 6 for up to ten.
std::size_t runs_to_tell_states(std::size_t comparisons);

// What earlier runs of the machine say of its states.
struct KnownStates {
  bool one_level = false;     // two would have shown
  double between_levels = 0;  // of runs of one configuration, as a logarithm; 0: one level

  // Whether a difference (of logarithms) may be that of two states.
  bool may_be(double difference) const;
};

// "too few runs to tell a difference from a machine with two states (3 of at least 5)".
std::string too_few_to_tell_states(std::string_view what, std::size_t count, std::size_t least);

}  // namespace gpuready::bench
