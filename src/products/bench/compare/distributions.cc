#include "bench/compare/distributions.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

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
class Beta {
 public:
  Beta(double a, double b)
      : a_(a), b_(b), scale_(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)) {}
  // x (1 - x) times the derivative.
  double front(double x, double rest) const {
    return std::exp(scale_ + a_ * std::log(x) + b_ * std::log(rest));
  }
  double below(double x, double rest) const {
    if (x <= 0) return 0;
    if (rest <= 0) return 1;
    // The fraction converges quickly below the mean.
    if (x < (a_ + 1) / (a_ + b_ + 2)) return front(x, rest) * beta_fraction(a_, b_, x) / a_;
    return 1 - front(x, rest) * beta_fraction(b_, a_, rest) / b_;
  }

 private:
  double a_, b_, scale_;
};

// A two-sided chance, and how fast it falls: by which share of 1 as x grows by its own.
struct Chance {
  double beyond, falls;
};

// Where a two-sided chance that falls reaches `p`: Newton's method on logarithms. In these the
// chance is concave and its tails are nearly straight, so that from the first step on each guess
// lies beyond the root, and each step is surer than the one before.
template <class TwoSided>
double critical(double p, TwoSided chance) {
  if (p >= 1) return 0;
  double x = std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 200; ++i) {
    const Chance at = chance(x);
    const double step = std::log(at.beyond / p) * at.beyond / at.falls;
    x *= std::exp(step);
    if (std::fabs(step) < 1e-8) break;  // its square is left
  }
  return x;
}

// Comparisons ask for few levels, and mostly of few degrees of freedom.
template <class Compute>
double remembered(double p, double degrees, Compute compute) {
  struct Known {
    double p = 0, degrees = 0, value = 0;
  };
  thread_local std::array<Known, 256> table;
  const std::hash<double> hash;
  Known& known = table[(31 * hash(p) + hash(degrees)) % table.size()];
  if (known.p != p || known.degrees != degrees) known = {p, degrees, compute()};
  return known.value;
}

}  // namespace

double student_t_two_sided(double t, double degrees) {
  if (std::isinf(t)) return 0;
  const double square = t * t;
  return Beta(degrees / 2, 0.5).below(degrees / (degrees + square), square / (degrees + square));
}

double student_t_critical(double p, double degrees) {
  return remembered(p, degrees, [=] {
    const Beta beta(degrees / 2, 0.5);
    return critical(p, [&](double t) {
      const double x = degrees / (degrees + t * t), rest = t * t / (degrees + t * t);
      return Chance{beta.below(x, rest), 2 * beta.front(x, rest)};
    });
  });
}

double normal_two_sided(double z) { return std::erfc(z / std::sqrt(2.0)); }

double normal_critical(double p) {
  return remembered(p, HUGE_VAL, [=] {
    return critical(p, [](double z) {
      const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
      return Chance{normal_two_sided(z), 2 * z * density};
    });
  });
}

double f_upper(double ratio, double degrees, double other_degrees) {
  const double own = degrees * ratio, sum = own + other_degrees;
  return Beta(other_degrees / 2, degrees / 2).below(other_degrees / sum, own / sum);
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
