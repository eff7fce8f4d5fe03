#include "bench/compare/distributions.h"

#include <cmath>
#include <limits>

namespace gpuready::bench {
namespace {

// The continued fraction of the incomplete beta function (NIST DLMF 8.17.22), by Lentz's method as
// Thompson and Barnett changed it.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m <= 10'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= c * d;
    if (std::fabs(c * d - 1) < 4 * std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

// The regularised incomplete beta function I_x(a, b); `rest` is 1 - x, told apart because x may be
// so near to 1 that nothing of the rest is left in it.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(rest));
  // The fraction converges quickly below the mean.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, rest) / b;
}

}  // namespace

double student_t_two_sided(double t, double degrees) {
  if (std::isinf(t)) return 0;
  const double square = t * t;
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square),
                         square / (degrees + square));
}

double student_t_critical(double p, double degrees) {
  double low = 0, high = 1;
  while (student_t_two_sided(high, degrees) > p && high < 1e150) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (student_t_two_sided(middle, degrees) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace gpuready::bench
