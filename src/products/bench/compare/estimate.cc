#include "bench/compare/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/statistics.h"
#include "bench/compare/distributions.h"
#include "bench/compare/least_squares.h"

namespace gpuready::bench {
namespace {

// Runs in blocks that depend on their neighbours move the means of both sides, which the scatter
// within a side does not show. Simulated: with a correlation of 0.9 from run to run the standard
// error must be 1.7 times that of independent runs.
constexpr double kBlocksAllowance = 2;

// Runs that alternate are looked at in ways of which the surest counts: beside a smooth trend in
// time, which uses up to twice as many degrees of freedom; as differences of pairs, which take out
// whatever the two runs of a pair share; and beside the trend with what was learned of the noise.
// Each may use its share of the error; the learned one comes on top (kSpent).
constexpr double kTrendShare = 0.9, kPairsShare = 1 - kTrendShare, kLearnedShare = 0.25;
constexpr double kChoiceAlpha = 0.01;  // at which the narrower interval is the surer

// Of the trend, so that enough runs are left to tell the noise.
std::size_t trend_degree(std::size_t pairs) { return pairs < 3 ? 0 : pairs < 5 ? 1 : 2; }

// Noise that was learned is not used where these runs show more, at this level: what was quiet then
// need not be quiet now.
constexpr double kMoreNoiseLevel = 0.25;

// Fewer runs do not show whether one side is noisier than what was learned; one fewer do if it is
// known how much such noises differ.
constexpr std::size_t kRunsToLearn = 5;

// What few runs leave open has a bound: from run to run, a benchmark varies by at most this share,
// or by this many times of what its runs show. So two runs that are a few times apart
// differ, and an interval ends where no machine goes.
constexpr double kMostNoise = 0.25, kMostOfShown = 4;

struct Prior {
  std::optional<Noise> learned;
  double floor = 0;  // variance of the way of measuring

  // `own` with what was learned, which gives it degrees, and never makes it less.
  Noise with(Noise own) const {
    own.variance = std::max(own.variance, floor);
    if (!learned) return own;
    const double before = std::max(learned->variance, floor);
    if (f_upper(own.variance / before, own.degrees, learned->degrees) < kMoreNoiseLevel) return own;
    const double degrees = own.degrees + learned->degrees;
    const double pooled = (own.degrees * own.variance + learned->degrees * before) / degrees;
    return {std::max(own.variance, pooled), degrees};
  }
};

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

// Of one sample (pairs) or two (Welch): difference, standard error, degrees.
struct Fit {
  double difference = 0, standard_error = 0, degrees = 0, learned = 0;
};
Fit fit_pairs(const std::vector<double>& pairs, double floor) {
  const Noise own = noise_around_mean(pairs);
  const double variance = std::max(own.variance, 2 * floor);
  return {mean(pairs), std::sqrt(variance / static_cast<double>(pairs.size())), own.degrees, 0};
}
// The sum of two estimated variances: Welch and Satterthwaite.
Fit fit_of_sum(double difference, const Noise& a, const Noise& b, double learned) {
  const double sum = a.variance + b.variance;
  const double degrees =
      sum * sum / (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees);
  return {difference, std::sqrt(sum), sum > 0 ? degrees : a.degrees + b.degrees, learned};
}
Fit fit_sides(const std::vector<double>& base, const std::vector<double>& candidate, double floor) {
  const auto of = [&](const std::vector<double>& side) {
    Noise own = noise_around_mean(side);
    own.variance = std::max(own.variance, floor) / static_cast<double>(side.size());
    return own;
  };
  return fit_of_sum(mean(candidate) - mean(base), of(base), of(candidate), 0);
}
// Least squares of value = trend + difference * (is candidate), where the trend is a polynomial in
// time: the difference is fitted to what a common trend leaves.
std::optional<Fit> fit_with_trend(const std::vector<RunValue>& base,
                                  const std::vector<RunValue>& candidate, std::size_t degree,
                                  const Prior& prior) {
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
  const auto fit = last_coefficient(std::move(columns), std::move(values));
  if (!fit) return std::nullopt;
  // What is left of each side, so that one may be noisier than the other.
  const double degrees = static_cast<double>(n - degree - 2) / 2;
  const double scale = 1 / (2 * fit->weight);
  const auto left = [&](std::size_t from, std::size_t to) {
    double squares = 0;
    for (std::size_t i = from; i < to; ++i) squares += fit->residual[i] * fit->residual[i];
    Noise all = prior.with({squares / degrees, degrees});
    all.variance *= scale;
    return all;
  };
  const Noise ours = left(0, base.size()), theirs = left(base.size(), n);
  return fit_of_sum(fit->value, ours, theirs, std::min(ours.degrees, theirs.degrees) - degrees);
}

Estimate take(Estimate result, const Fit& fit, Method method, double share = 1) {
  result.difference = fit.difference;
  result.standard_error = fit.standard_error;
  result.degrees = fit.degrees;
  result.learned_degrees = fit.learned;
  result.method = method;
  result.share = share;
  return result;
}

Estimate surest_of_pairs(const Estimate& result, const std::vector<RunValue>& base,
                         const std::vector<RunValue>& candidate, const Prior& prior) {
  const auto pairs = differences(base, candidate);
  const auto trend = [&](const Prior& known) {
    return fit_with_trend(base, candidate, trend_degree(pairs.size()), known);
  };
  const auto own = trend({std::nullopt, prior.floor});
  Estimate surest =
      take(result, fit_pairs(pairs, prior.floor), Method::student_t, own ? kPairsShare : 1);
  const auto look = [&](const std::optional<Fit>& fit, double share) {
    if (!fit) return;
    const auto other = take(result, *fit, Method::trend_adjusted_t, share);
    if (other.half_width(kChoiceAlpha) <= surest.half_width(kChoiceAlpha)) surest = other;
  };
  look(own, kTrendShare);
  if (prior.learned) look(trend(prior), kLearnedShare);
  return surest;
}

}  // namespace

// The error as it is where the runs vary as much as any do.
double Estimate::bounded_error() const {
  const double root =
      std::sqrt(1 / static_cast<double>(base_runs) + 1 / static_cast<double>(candidate_runs));
  return std::max(kMostNoise * root, kMostOfShown * standard_error);
}

double Estimate::p() const {
  if (standard_error <= 0) return difference == 0 ? 1 : 0;
  const double size = std::max(0.0, std::fabs(difference) - drift);
  const double chance = std::min(student_t_two_sided(size / standard_error, degrees),
                                 normal_two_sided(size / bounded_error()));
  return std::min(1.0, chance / share);
}

double Estimate::half_width(double alpha) const {
  return drift + std::min(student_t_critical(alpha * share, degrees) * standard_error,
                          normal_critical(alpha * share) * bounded_error());
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
                                 const std::vector<RunValue>& candidate, double resolution,
                                 const std::optional<Noise>& learned) {
  if (base.size() < 2 || candidate.size() < 2) return std::nullopt;
  Estimate result;
  result.base_runs = base.size();
  result.candidate_runs = candidate.size();
  result.design = design_of(base, candidate);
  const double floor = resolution * resolution;
  if (result.design == Design::paired) {
    // Without alternation a wander adds to what was learned, the noise between neighbours.
    const bool learns = learned && base.size() + (learned->spread_known ? 1 : 0) >= kRunsToLearn;
    return surest_of_pairs(result, base, candidate, {learns ? learned : std::nullopt, floor});
  }
  const Fit means = fit_sides(values_of(base), values_of(candidate), floor);
  if (result.design == Design::mixed) return take(result, means, Method::welch_t);
  const auto fit = fit_with_trend(base, candidate, 1, {std::nullopt, floor});
  if (!fit) return std::nullopt;
  result = take(result, *fit, Method::trend_adjusted_t);
  result.standard_error *= kBlocksAllowance;
  result.difference = means.difference;
  result.drift = std::fabs(means.difference - fit->difference);
  return result;
}

namespace {

constexpr std::size_t kMostRuns = 10'000;  // a side, that are foreseen

struct Foreseen {
  double standard_error, degrees;
};
// What an estimate like this would rest on with this number of runs a side.
Foreseen foreseen(const Estimate& estimate, std::size_t runs) {
  const double now = static_cast<double>(std::min(estimate.base_runs, estimate.candidate_runs));
  const bool pairs =
      estimate.design == Design::paired && estimate.method != Method::trend_adjusted_t;
  const double n = static_cast<double>(runs);
  return {estimate.standard_error * std::sqrt(now) / std::sqrt(n),
          (pairs ? n - 1 : 2 * n - 2) + estimate.learned_degrees};
}

}  // namespace

double half_width_at(const Estimate& estimate, std::size_t runs, double alpha) {
  const auto [error, degrees] = foreseen(estimate, runs);
  return estimate.drift + student_t_critical(alpha * estimate.share, degrees) * error;
}

std::optional<std::size_t> runs_for(const Estimate& estimate, double half_width, double alpha) {
  const double room = half_width - estimate.drift;
  if (!(room > 0)) return std::nullopt;
  const double p = alpha * estimate.share;
  const auto enough = [&](std::size_t runs) {
    const auto [error, degrees] = foreseen(estimate, runs);
    return student_t_two_sided(room / error, degrees) <= p;
  };
  // Known noise would need little less, and never more.
  const double least =
      std::pow(normal_critical(p) * foreseen(estimate, 1).standard_error / room, 2);
  for (double runs = std::max(2.0, std::ceil(least)); runs <= kMostRuns; ++runs)
    if (enough(static_cast<std::size_t>(runs))) return static_cast<std::size_t>(runs);
  return std::nullopt;
}

std::optional<std::size_t> runs_for_use(const Estimate& estimate, double alpha) {
  const double half = estimate.half_width(alpha), wide = std::numbers::ln2;
  if (half <= std::max(wide, std::fabs(estimate.difference))) return std::nullopt;
  const auto have = std::min(estimate.base_runs, estimate.candidate_runs);
  return std::max(have + 1, runs_for(estimate, wide, alpha).value_or(kMostRuns));
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
