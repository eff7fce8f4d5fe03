// What the launches of the tensor test must give, and in which time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpuready/verdict.h"
#include "health/tensor/run.h"

namespace gpuready {

// Why a launch of this many chains is wrong, with its first wrong sums in the verdict; empty: it is
// right.
std::string find_wrong_sums(const TensorRunner& runner, std::uint64_t chains,
                            const TensorLaunch& launch, std::size_t max_reported, Verdict& verdict);

// An SM whose cycles for equal work, the best of several rounds, exceed the median by more is slow.
inline constexpr double kSlowSmFactor = 1.10;

// The units whose cycles exceed the median's by more than kSlowSmFactor, slowest first, and the
// median over the slowest.
struct SlowUnits {
  std::vector<std::pair<std::uint64_t, double>> units;  // %smid, times the median
  double median_to_slowest = 1;
};
SlowUnits find_slow_units(const std::vector<std::pair<std::uint64_t, double>>& cycles_by_unit);

}  // namespace gpuready
