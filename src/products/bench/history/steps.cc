#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "bench/compare/distributions.h"
#include "bench/compare/least_squares.h"
#include "bench/compare/noise.h"
#include "bench/history/history.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kLeastLevel = 3;     // values; fewer are outliers
constexpr std::size_t kMostValues = 2000;  // the search is quadratic

// The standard deviation of the noise between runs up to three apart, which few steps hardly
// change: neighbours alone differ too little where runs depend on each other.
double spread_of(const std::vector<double>& values) {
  double noise = 1e-4;
  for (std::size_t apart = 1; apart <= 3 && values.size() >= 4 * apart; ++apart) {
    std::vector<double> differences;
    for (std::size_t i = apart; i < values.size(); ++i)
      differences.push_back(std::fabs(values[i] - values[i - apart]));
    noise = std::max(noise, median(std::move(differences)) / (0.6745 * std::sqrt(2.0)));
  }
  return noise;
}

constexpr double kStepError = 0.005;  // of a step that is none, in a whole history

double level_of(const std::vector<double>& values, std::size_t from, std::size_t to) {
  return median({values.begin() + static_cast<std::ptrdiff_t>(from),
                 values.begin() + static_cast<std::ptrdiff_t>(to)});
}

// The chance of such a step among `places` where each run follows from the one before it (an
// autoregression of first order) and no step is: a wander that returns slowly is not one.
double p_of_step(const std::vector<double>& values, std::size_t from, std::size_t at,
                 std::size_t to, std::size_t places) {
  std::vector<double> window(values.begin() + static_cast<std::ptrdiff_t>(from),
                             values.begin() + static_cast<std::ptrdiff_t>(to));
  const double middle = level_of(values, from, to);
  for (double& value : window) value -= middle;
  const std::size_t n = window.size() - 1;
  std::vector<std::vector<double>> columns(3, std::vector<double>(n, 1));
  for (std::size_t i = 0; i < n; ++i) {
    columns[1][i] = window[i];
    columns[2][i] = from + i + 1 >= at ? 1 : 0;
  }
  auto fit = last_coefficient(columns, {window.begin() + 1, window.end()});
  std::size_t terms = 3;
  if (!fit) {  // levels without noise: each run is as the one before it, but for the step
    columns.erase(columns.begin() + 1);
    fit = last_coefficient(columns, {window.begin() + 1, window.end()});
    terms = 2;
    if (!fit) return 1;
  }
  const double degrees = static_cast<double>(n - terms);
  double squares = 0;
  for (const double left : fit->residual) squares += left * left;
  const double error =
      std::sqrt(std::max(squares / degrees, kTimerStep * kTimerStep) / fit->weight);
  return std::min(1.0, student_t_two_sided(fit->value / error, degrees) * double(places));
}

}  // namespace

std::vector<std::size_t> find_steps(const std::vector<double>& all, double least) {
  const std::size_t skipped = all.size() > kMostValues ? all.size() - kMostValues : 0;
  std::vector<double> values;
  for (std::size_t i = skipped; i < all.size(); ++i) values.push_back(std::log(all[i]));
  const std::size_t n = values.size();
  if (n < 2 * kLeastLevel) return {};
  std::vector<double> sums(n + 1), squares(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double value = values[i] - values[0];  // small, so that squares lose nothing
    sums[i + 1] = sums[i] + value;
    squares[i + 1] = squares[i] + value * value;
  }
  const auto scatter = [&](std::size_t from, std::size_t to) {
    const double sum = sums[to] - sums[from];
    return std::max(squares[to] - squares[from] - sum * sum / static_cast<double>(to - from), 0.0);
  };
  const double noise = spread_of(values);
  // Four times Schwarz's for a place and a level, since runs depend on each other. Simulated: of
  // 300 histories of 30 runs with a correlation of 0.5 three had a step that was none.
  const double price = 8 * noise * noise * std::log(static_cast<double>(n));
  std::vector<double> cost(n + 1, HUGE_VAL);
  std::vector<std::size_t> start(n + 1, 0);
  cost[0] = -price;
  for (std::size_t to = kLeastLevel; to <= n; ++to)
    for (std::size_t from = 0; from + kLeastLevel <= to; ++from) {
      const double through = cost[from] + scatter(from, to) + price;
      if (through < cost[to]) {
        cost[to] = through;
        start[to] = from;
      }
    }
  std::vector<std::size_t> bounds = {n};
  while (bounds.back() > 0) bounds.push_back(start[bounds.back()]);
  std::reverse(bounds.begin(), bounds.end());
  // Levels that are nearly alike are one.
  for (std::size_t i = 1; i + 1 < bounds.size();) {
    const double step =
        level_of(values, bounds[i], bounds[i + 1]) - level_of(values, bounds[i - 1], bounds[i]);
    if (std::fabs(step) < std::log1p(least))
      bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  // The least sure step goes, until all are sure.
  while (bounds.size() > 2) {
    std::size_t worst = 0;
    double greatest = kStepError;
    for (std::size_t i = 1; i + 1 < bounds.size(); ++i)
      if (const double p = p_of_step(values, bounds[i - 1], bounds[i], bounds[i + 1], n);
          p > greatest) {
        greatest = p;
        worst = i;
      }
    if (worst == 0) break;
    bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  std::vector<std::size_t> steps;
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) steps.push_back(skipped + bounds[i]);
  return steps;
}

}  // namespace gpuready::bench
