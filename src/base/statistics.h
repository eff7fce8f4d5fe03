// Small statistics.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gpuready {

// Wilson's score interval for a proportion, 95% (E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", JASA 22, 1927): where the true rate lies when `successes`
// of `trials` were seen. {0, 1} without trials.
std::pair<double, double> wilson_interval(std::uint64_t successes, std::uint64_t trials);

double mean(std::span<const double> values);  // 0 for none
// The middle value; of an even number of values the mean of the middle two. 0 for none.
double median(std::vector<double> values);
// Of an even number of values the lesser of the middle two: one of two values that is far from the
// other does not pull it along.
double lower_median(std::vector<double> values);

}  // namespace gpuready
