#include "bench/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "bench/distributions.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kResamples = 9999;
constexpr std::uint64_t kSeed = 0x6265'6e63'68;  // any: the same input gives the same answer

// Runs in blocks that depend on their neighbours move the means of both sides, which the scatter
// within a side does not show. Simulated: with a correlation of 0.9 from run to run the standard
// error must be 1.7 times that of independent runs.
constexpr double kBlocksAllowance = 2;

struct Moments {
  double n = 0, mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments result;
  result.n = static_cast<double>(values.size());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / result.n;
  for (const double value : values)
    result.variance += (value - result.mean) * (value - result.mean) / (result.n - 1);
  return result;
}

std::vector<double> values_of(const std::vector<RunValue>& runs) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(run.value);
  return values;
}

std::vector<double> differences(std::vector<RunValue> base, std::vector<RunValue> candidate) {
  const auto earlier = [](const RunValue& a, const RunValue& b) { return a.when < b.when; };
  std::sort(base.begin(), base.end(), earlier);
  std::sort(candidate.begin(), candidate.end(), earlier);
  std::vector<double> all;
  for (std::size_t i = 0; i < base.size(); ++i) all.push_back(candidate[i].value - base[i].value);
  return all;
}

std::vector<double> resampled(const std::vector<double>& values, SplitMix64& random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) {
    const auto wide = static_cast<unsigned __int128>(random.next()) * values.size();
    value = values[static_cast<std::size_t>(wide >> 64)];
  }
  return drawn;
}

// Of one sample (pairs) or two (Welch): difference, standard error, degrees.
struct Fit {
  double difference = 0, standard_error = 0, degrees = 0;
};
Fit fit_pairs(const std::vector<double>& pairs, double floor) {
  const Moments m = moments(pairs);
  return {m.mean, std::sqrt(std::max(m.variance, 2 * floor * floor) / m.n), m.n - 1};
}
Fit fit_sides(const std::vector<double>& base, const std::vector<double>& candidate, double floor) {
  const Moments a = moments(base), b = moments(candidate);
  const double least = floor * floor;
  const double va = std::max(a.variance, least) / a.n, vb = std::max(b.variance, least) / b.n;
  const double sum = va + vb;
  // Welch and Satterthwaite.
  const double degrees = sum * sum / (va * va / (a.n - 1) + vb * vb / (b.n - 1));
  return {b.mean - a.mean, std::sqrt(sum), sum > 0 ? degrees : a.n + b.n - 2};
}
// Least squares of value = level + drift * when + difference * (is candidate): the difference is
// fitted to what a common drift leaves.
std::optional<Fit> fit_with_drift(const std::vector<RunValue>& base,
                                  const std::vector<RunValue>& candidate, double floor) {
  // Within each side, so that the difference of the sides is not part of the drift.
  const auto centre = [](const std::vector<RunValue>& side) {
    RunValue mean;
    for (const auto& run : side) {
      mean.when += run.when / static_cast<double>(side.size());
      mean.value += run.value / static_cast<double>(side.size());
    }
    return mean;
  };
  const RunValue a = centre(base), b = centre(candidate);
  double when_squares = 0, products = 0;
  const auto each = [&](auto visit) {
    for (const auto& run : base) visit(run.when - a.when, run.value - a.value);
    for (const auto& run : candidate) visit(run.when - b.when, run.value - b.value);
  };
  each([&](double when, double value) {
    when_squares += when * when;
    products += when * value;
  });
  const double n = static_cast<double>(base.size() + candidate.size()), degrees = n - 3;
  if (degrees < 1 || when_squares <= 0) return std::nullopt;
  const double drift = products / when_squares;
  double squares = 0;
  each([&](double when, double value) {
    squares += (value - drift * when) * (value - drift * when);
  });
  const double variance = std::max(squares / degrees, floor * floor);
  const double apart = b.when - a.when;
  const double scale = 1 / static_cast<double>(base.size()) +
                       1 / static_cast<double>(candidate.size()) + apart * apart / when_squares;
  return Fit{b.value - a.value - drift * apart, kBlocksAllowance * std::sqrt(variance * scale),
             degrees};
}

void take(Estimate& result, const Fit& fit, Method method) {
  result.difference = fit.difference;
  result.standard_error = fit.standard_error;
  result.degrees = fit.degrees;
  result.method = method;
}

// Studentised: each resample's distance from the estimate in its own standard errors.
template <class Refit>
void add_bootstrap(Estimate& result, Refit refit) {
  SplitMix64 random(kSeed);
  result.bootstrap.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    const Fit again = refit(random);
    const double distance = std::fabs(again.difference - result.difference);
    result.bootstrap.push_back(again.standard_error > 0 ? distance / again.standard_error
                                                        : (distance > 0 ? HUGE_VAL : 0));
  }
  std::sort(result.bootstrap.begin(), result.bootstrap.end());
  result.method = Method::bootstrap_t;
}

}  // namespace

double Estimate::p() const {
  if (standard_error <= 0) return difference == 0 ? 1 : 0;
  const double t = std::fabs(difference) / standard_error;
  const double student = student_t_two_sided(t, degrees);
  if (bootstrap.empty()) return student;
  const auto beyond = bootstrap.end() - std::lower_bound(bootstrap.begin(), bootstrap.end(), t);
  const double share =
      (static_cast<double>(beyond) + 1) / (static_cast<double>(bootstrap.size()) + 1);
  // Beyond the last resamples there is nothing to count.
  return share * static_cast<double>(bootstrap.size() + 1) < 10 ? std::min(share, student) : share;
}

double Estimate::half_width(double alpha) const {
  const double student = student_t_critical(alpha, degrees);
  if (bootstrap.empty()) return student * standard_error;
  const auto beyond = static_cast<std::size_t>(alpha * static_cast<double>(bootstrap.size() + 1));
  const double critical = beyond < 10 ? std::max(student, bootstrap[bootstrap.size() - 10])
                                      : bootstrap[bootstrap.size() - beyond];
  return critical * standard_error;
}

Design design_of(const std::vector<RunValue>& base, const std::vector<RunValue>& candidate) {
  struct Place {
    double when;
    bool candidate;
  };
  std::vector<Place> order;
  for (const auto& run : base) order.push_back({run.when, false});
  for (const auto& run : candidate) order.push_back({run.when, true});
  std::sort(order.begin(), order.end(),
            [](const Place& a, const Place& b) { return a.when < b.when; });
  std::size_t changes = 0;
  bool pairs = base.size() == candidate.size(), ties = false;
  for (std::size_t i = 1; i < order.size(); ++i) {
    changes += order[i].candidate != order[i - 1].candidate;
    ties |= order[i].when == order[i - 1].when;
    if (i % 2 == 1) pairs &= order[i].candidate != order[i - 1].candidate;
  }
  if (ties) return Design::mixed;  // when they ran is not known
  if (pairs && base.size() > 1) return Design::paired;
  return changes <= 1 ? Design::in_blocks : Design::mixed;
}

std::optional<Estimate> estimate(const std::vector<RunValue>& base,
                                 const std::vector<RunValue>& candidate, double resolution) {
  if (base.size() < 2 || candidate.size() < 2) return std::nullopt;
  Estimate result;
  result.base_runs = base.size();
  result.candidate_runs = candidate.size();
  result.design = design_of(base, candidate);
  const bool many = std::min(base.size(), candidate.size()) >= kRunsForBootstrap;
  if (result.design == Design::in_blocks) {
    const auto fit = fit_with_drift(base, candidate, resolution);
    if (!fit) return std::nullopt;
    take(result, *fit, Method::time_adjusted_t);
  } else if (result.design == Design::paired) {
    const auto pairs = differences(base, candidate);
    take(result, fit_pairs(pairs, resolution), Method::student_t);
    if (many)
      add_bootstrap(result, [&](SplitMix64& random) {
        return fit_pairs(resampled(pairs, random), resolution);
      });
  } else {
    const auto ours = values_of(base), theirs = values_of(candidate);
    take(result, fit_sides(ours, theirs, resolution), Method::welch_t);
    if (many)
      add_bootstrap(result, [&](SplitMix64& random) {
        const auto again = resampled(ours, random);
        return fit_sides(again, resampled(theirs, random), resolution);
      });
  }
  return result;
}

std::optional<std::size_t> runs_for(const Estimate& estimate, double half_width, double alpha) {
  if (!(half_width > 0)) return std::nullopt;
  const double now = static_cast<double>(std::min(estimate.base_runs, estimate.candidate_runs));
  const double deviation = estimate.standard_error * std::sqrt(now);  // of one run a side
  const bool paired = estimate.design == Design::paired;
  const auto enough = [&](std::size_t runs) {
    const double n = static_cast<double>(runs);
    return student_t_critical(alpha, paired ? n - 1 : 2 * n - 2) * deviation / std::sqrt(n) <=
           half_width;
  };
  std::size_t low = 1, high = 10'000;  // enough(low) is false: one run tells nothing
  if (!enough(high)) return std::nullopt;
  while (low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

std::vector<double> adjusted_p(const std::vector<double>& p, const std::vector<double>& weights) {
  std::vector<double> adjusted(p.size(), 1), left = weights;
  std::vector<bool> done(p.size(), false);
  double greatest = 0;
  for (std::size_t round = 0; round < p.size(); ++round) {
    std::size_t next = p.size();
    for (std::size_t i = 0; i < p.size(); ++i)
      if (!done[i] && left[i] > 0 && (next == p.size() || p[i] / left[i] < p[next] / left[next]))
        next = i;
    if (next == p.size()) break;
    greatest = std::max(greatest, std::min(1.0, p[next] / left[next]));
    adjusted[next] = greatest;
    done[next] = true;
    double others = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (!done[i]) others += left[i];
    for (std::size_t i = 0; i < p.size(); ++i)
      if (!done[i] && others > 0) left[i] += left[next] * left[i] / others;
  }
  return adjusted;
}

std::string_view to_string(Design design) {
  switch (design) {
    case Design::paired:
      return "paired";
    case Design::mixed:
      return "mixed";
    case Design::in_blocks:
      return "in_blocks";
  }
  return "unknown";
}

std::string_view to_string(Method method) {
  switch (method) {
    case Method::student_t:
      return "student_t";
    case Method::welch_t:
      return "welch_t";
    case Method::time_adjusted_t:
      return "time_adjusted_t";
    case Method::bootstrap_t:
      return "bootstrap_t";
  }
  return "unknown";
}

}  // namespace gpuready::bench
