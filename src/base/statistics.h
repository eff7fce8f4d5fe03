// Small statistics.
#pragma once

#include <cstdint>
#include <utility>

namespace gpuready {

// Wilson's score interval for a proportion, 95% (E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", JASA 22, 1927): where the true rate lies when `successes`
// of `trials` were seen. {0, 1} without trials.
std::pair<double, double> wilson_interval(std::uint64_t successes, std::uint64_t trials);

}  // namespace gpuready
