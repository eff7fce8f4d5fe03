#include "bench/compare/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "bench/compare/distributions.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kResamples = 9999;
constexpr std::uint64_t kSeed = 0x6265'6e63'68;  // any: the same input gives the same answer

// Runs in blocks that depend on their neighbours move the means of both sides, which the scatter
// within a side does not show. Simulated: with a correlation of 0.9 from run to run the standard
// error must be 1.7 times that of independent runs.
constexpr double kBlocksAllowance = 2;

// Runs that alternate are looked at in two ways, of which the surer counts: beside a smooth trend
// in time, which uses up to twice as many degrees of freedom, and as differences of pairs, which
// take out whatever the two runs of a pair share. Each may use its share of the error, so that both
// together keep it.
constexpr double kTrendShare = 0.9, kPairsShare = 1 - kTrendShare;
constexpr double kChoiceAlpha = 0.01;  // at which the narrower interval is the surer

// Of the trend, so that enough runs are left to tell the noise.
std::size_t trend_degree(std::size_t pairs) { return pairs < 3 ? 0 : pairs < 5 ? 1 : 2; }

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
// Least squares of value = trend + difference * (is candidate), where the trend is a polynomial in
// time: the difference is fitted to what a common trend leaves.
std::optional<Fit> fit_with_trend(const std::vector<RunValue>& base,
                                  const std::vector<RunValue>& candidate, std::size_t degree,
                                  double floor) {
  const std::size_t n = base.size() + candidate.size();
  if (n < degree + 3) return std::nullopt;
  std::vector<double> when, values;
  std::vector<std::vector<double>> columns(degree + 2, std::vector<double>(n, 1));
  for (const auto* side : {&base, &candidate})
    for (const auto& run : *side) {
      columns.back()[values.size()] = side == &candidate ? 1 : 0;
      when.push_back(run.when);
      values.push_back(run.value);
    }
  const auto [first, last] = std::minmax_element(when.begin(), when.end());
  const double middle = (*first + *last) / 2, half = std::max((*last - *first) / 2, 1e-300);
  for (std::size_t power = 1; power <= degree; ++power)
    for (std::size_t i = 0; i < n; ++i)
      columns[power][i] = columns[power - 1][i] * (when[i] - middle) / half;
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  // Gram and Schmidt: each column, and then the values, without what the columns before it explain.
  const auto take_out = [&](std::vector<double>& from, const std::vector<double>& column) {
    const double share = product(from, column) / product(column, column);
    for (std::size_t i = 0; i < n; ++i) from[i] -= share * column[i];
    return share;
  };
  double difference = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) take_out(columns[i], columns[before]);
    // Times or sides that the trend explains wholly.
    if (product(columns[i], columns[i]) < 1e-9) return std::nullopt;
    difference = take_out(values, columns[i]);
  }
  const double degrees = static_cast<double>(n - degree - 2);
  const double variance = std::max(product(values, values) / degrees, floor * floor);
  return Fit{difference, std::sqrt(variance / product(columns.back(), columns.back())), degrees};
}

void take(Estimate& result, const Fit& fit, Method method, double share = 1) {
  result.difference = fit.difference;
  result.standard_error = fit.standard_error;
  result.degrees = fit.degrees;
  result.method = method;
  result.share = share;
}

void take_surer(Estimate& result, const Fit& pairs, const std::optional<Fit>& trend) {
  take(result, pairs, Method::student_t, trend ? kPairsShare : 1);
  if (!trend) return;
  const double half = result.half_width(kChoiceAlpha);
  Estimate other = result;
  take(other, *trend, Method::trend_adjusted_t, kTrendShare);
  if (other.half_width(kChoiceAlpha) <= half) result = std::move(other);
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
  const double student = std::min(1.0, student_t_two_sided(t, degrees) / share);
  if (bootstrap.empty()) return student;
  const auto beyond = bootstrap.end() - std::lower_bound(bootstrap.begin(), bootstrap.end(), t);
  const double counted =
      (static_cast<double>(beyond) + 1) / (static_cast<double>(bootstrap.size()) + 1);
  // Beyond the last resamples there is nothing to count.
  return beyond < 9 ? std::min(counted, student) : counted;
}

double Estimate::half_width(double alpha) const {
  const double student = student_t_critical(alpha * share, degrees);
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
  bool pairs = base.size() == candidate.size(), ties = false, regular = true;
  for (std::size_t i = 1; i < order.size(); ++i) {
    changes += order[i].candidate != order[i - 1].candidate;
    ties |= order[i].when == order[i - 1].when && order[i].candidate != order[i - 1].candidate;
    regular &= i % 2 == 1 || order[i].candidate == order[0].candidate;
    if (i % 2 == 1) pairs &= order[i].candidate != order[i - 1].candidate;
  }
  if (ties) return Design::mixed;  // when they ran is not known
  if (pairs && base.size() > 1) return regular ? Design::regular : Design::paired;
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
  if (result.design == Design::in_blocks || result.design == Design::regular) {
    auto fit = fit_with_trend(base, candidate, 1, resolution);
    if (!fit) return std::nullopt;
    fit->standard_error *= kBlocksAllowance;
    take(result, *fit, Method::trend_adjusted_t);
  } else if (result.design == Design::paired) {
    const auto pairs = differences(base, candidate);
    if (many) {
      take(result, fit_pairs(pairs, resolution), Method::student_t);
      add_bootstrap(result, [&](SplitMix64& random) {
        return fit_pairs(resampled(pairs, random), resolution);
      });
    } else {
      take_surer(result, fit_pairs(pairs, resolution),
                 fit_with_trend(base, candidate, trend_degree(pairs.size()), resolution));
    }
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
  const bool pairs =
      estimate.design == Design::paired && estimate.method != Method::trend_adjusted_t;
  const auto enough = [&](std::size_t runs) {
    const double n = static_cast<double>(runs);
    return student_t_critical(alpha * estimate.share, pairs ? n - 1 : 2 * n - 2) * deviation /
               std::sqrt(n) <=
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

}  // namespace gpuready::bench
