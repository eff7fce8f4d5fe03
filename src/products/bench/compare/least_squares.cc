#include "bench/compare/least_squares.h"

#include <numeric>
#include <utility>

namespace gpuready::bench {
namespace {

constexpr double kExplained = 1e-9;  // of a column's square, below which nothing is left of it

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double take_out(std::vector<double>& from, const std::vector<double>& column) {
  const double share = product(from, column) / product(column, column);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= share * column[i];
  return share;
}

}  // namespace

std::optional<LastCoefficient> last_coefficient(std::vector<std::vector<double>> columns,
                                                std::vector<double> values) {
  LastCoefficient last;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double whole = product(columns[i], columns[i]);
    for (std::size_t before = 0; before < i; ++before) take_out(columns[i], columns[before]);
    last.weight = product(columns[i], columns[i]);
    if (last.weight <= kExplained * whole || last.weight == 0) return std::nullopt;
    last.value = take_out(values, columns[i]);
  }
  last.residual = std::move(values);
  return last;
}

}  // namespace gpuready::bench
