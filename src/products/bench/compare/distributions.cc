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

namespace {

// Where a two-sided chance that falls reaches `p`: the Illinois method, on logarithms, in which the
// tails are nearly straight.
template <class TwoSided>
double critical(double p, TwoSided chance) {
  const auto above = [&](double x) { return std::log(chance(std::exp(x)) / p); };
  double low = -1, high = 1;
  while (above(low) < 0 && low > -300) low *= 2;
  while (above(high) > 0 && high < 300) high *= 2;
  double at_low = above(low), at_high = above(high);
  for (int i = 0; i < 200 && high - low > 1e-14 * std::fabs(high) + 1e-15; ++i) {
    double middle = (low * at_high - high * at_low) / (at_high - at_low);
    if (!(middle > low && middle < high)) middle = (low + high) / 2;
    const double at = above(middle);
    if (std::fabs(at) < 1e-13) return std::exp(middle);
    if (at > 0) {
      low = middle;
      at_low = at;
      at_high /= 2;
    } else {
      high = middle;
      at_high = at;
      at_low /= 2;
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace

double student_t_critical(double p, double degrees) {
  return critical(p, [=](double t) { return student_t_two_sided(t, degrees); });
}

double normal_two_sided(double z) { return std::erfc(z / std::sqrt(2.0)); }

double normal_critical(double p) { return critical(p, normal_two_sided); }

double f_upper(double ratio, double degrees, double other_degrees) {
  const double own = degrees * ratio, sum = own + other_degrees;
  return incomplete_beta(other_degrees / 2, degrees / 2, other_degrees / sum, own / sum);
}

// The recurrences and asymptotic series of NIST DLMF 5.5.2, 5.11.2 and 5.15.8.
double digamma(double x) {
  double below = 0;
  for (; x < 10; ++x) below -= 1 / x;
  const double s = 1 / (x * x);
  return below + std::log(x) - 0.5 / x -
         s * (1 / 12.0 - s * (1 / 120.0 - s * (1 / 252.0 - s * (1 / 240.0 - s / 132))));
}

double trigamma(double x) {
  double below = 0;
  for (; x < 10; ++x) below += 1 / (x * x);
  const double s = 1 / (x * x);
  return below + 1 / x + s / 2 +
         s / x * (1 / 6.0 - s * (1 / 30.0 - s * (1 / 42.0 - s * (1 / 30.0 - s * 5 / 66))));
}

double trigamma_inverse(double value) {
  double low = 1e-8, high = 1e8;  // trigamma falls
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    (trigamma(middle) > value ? low : high) = middle;
  }
  return low;
}

}  // namespace gpuready::bench
