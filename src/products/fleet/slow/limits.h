// What is slow, learned from the fleet itself. Pure.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace gpuready::fleet {

// The usual rate of pairs where some are slow: the middle of those around a high quantile. More
// than half of the parts are not slow, so more than a quarter of the pairs are not; of few pairs,
// the fastest is usual. `many_parts`: most pairs are not slow. `wide`: half the width of what is
// usual, as a share; 0: by how the rates differ. 0 for no rates.
double usual_rate(std::vector<double> rates, bool many_parts, double wide = 0);

inline constexpr std::size_t kFewRepeats = 8;  // fewer do not show the noise

struct RateLimits {
  double noise = 0;   // standard deviation of one measurement, as a share
  double spread = 0;  // of pairs that are not slow
  // A part is slow that is slower than the usual rate by more than this share.
  double drop = 0;
  // The learned limit is so low that what is above it is not known to be fine.
  bool wide = false;
};

// `shares` of the usual rate, one for each measurement; `repeats`, of a pair that was measured
// twice. `few`: the fastest pairs show what is usual, because most may be slow. `slower_by`: what a
// slow part is slower by, if the user says so; else it is learned.
RateLimits learn_limits(std::span<const double> shares,
                        std::span<const std::pair<double, double>> repeats, bool few,
                        double slower_by = 0);

// The logarithm of how much likelier this share is of a slow pair than of one that is not. It is
// bounded: anything slows one measurement down once in a while.
double evidence_of(double share, const RateLimits& limits, double noise);

}  // namespace gpuready::fleet
