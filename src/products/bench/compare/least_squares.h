// Least squares by Gram and Schmidt.
#pragma once

#include <optional>
#include <vector>

namespace gpuready::bench {

// How much of the last column is in the values, beside the columns before it.
struct LastCoefficient {
  double value = 0;
  double weight = 0;             // its variance is that of a value, divided by this
  std::vector<double> residual;  // what no column explains
};

// Nothing where the columns before explain the last one wholly.
std::optional<LastCoefficient> last_coefficient(std::vector<std::vector<double>> columns,
                                                std::vector<double> values);

}  // namespace gpuready::bench
