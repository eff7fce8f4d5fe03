// The difference of two sides' run-level values, and how sure it is. The unit is the run: samples
// within one are correlated, so their number says nothing about the next run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/named.h"
#include "bench/compare/noise.h"

namespace gpuready::bench {

enum class Design {
  paired,  // runs alternated in time, and either side was first
  mixed,   // in no regular order; the means of the sides are compared
  // All runs of one side, then all of the other; or pairs in which the same side is always first. A
  // drift of the machine would look like a difference: what a straight one explains is not counted.
  in_blocks,
  regular
};
enum class Method {
  student_t,         // of the differences of pairs
  welch_t,           // of the means of the sides
  trend_adjusted_t,  // of least squares beside a trend in time
};

// One run's value, in logarithms, so that differences are ratios.
struct RunValue {
  double when = 0;  // place in time; any unit
  double value = 0;
};

// candidate - base, and the distribution of its error.
class Estimate {
 public:
  // The difference of the sides' means; beside a trend, what the trend leaves of it.
  double difference = 0, standard_error = 0, degrees = 0;
  double drift = 0;  // of the difference, what a straight drift from run to run explains
  Design design = Design::paired;
  Method method = Method::student_t;
  double share = 1;  // of the error: the rest is spent on another way of looking at the runs
  double learned_degrees = 0;  // of `degrees`: of what was known before; 0: it was not used
  std::size_t base_runs = 0, candidate_runs = 0;

  // The chance of a difference at least so great where there is none, over all ways of looking.
  double p() const;
  // Half the width of the interval that holds the difference with the chance 1 - alpha.
  double half_width(double alpha) const;

 private:
  double bounded_error() const;
};

// Of a risk that is stated, what callers spend: learning comes on top, with a quarter of it.
inline constexpr double kSpent = 0.8;

// How the runs of both sides follow each other in time.
Design design_of(const std::vector<RunValue>& base, const std::vector<RunValue>& candidate);

// Nothing where a side has fewer than two runs, so that run-to-run variation is not known.
// `resolution`: the standard deviation that the way of measuring has at least (a timer's step, a
// page of memory), so that a few equal values do not count as free of error. `learned`: the noise
// as it was before, or as others have it: a further way of looking at runs that alternate, with an
// error of its own, so that it never widens what these runs show themselves. Noises of the sides
// may differ (Welch, "The generalization of Student's problem", 1947).
std::optional<Estimate> estimate(const std::vector<RunValue>& base,
                                 const std::vector<RunValue>& candidate, double resolution,
                                 const std::optional<Noise>& learned = std::nullopt);

// Half the width of the interval at `alpha` that an estimate like this would have with this number
// of runs a side.
double half_width_at(const Estimate& estimate, std::size_t runs, double alpha);

// The smallest number of runs a side with which an interval at `alpha` of an estimate like this
// would be at most `half_width` to each side; nothing above 10,000.
std::optional<std::size_t> runs_for(const Estimate& estimate, double half_width, double alpha);

// The runs a side from which on an interval at `alpha` of an estimate like this would be of use: it
// excludes "no difference", or ends at twice and half. Nothing if it is of use already.
std::optional<std::size_t> runs_for_use(const Estimate& estimate, double alpha);

// Adjusted p-values: the graphical procedure of Bretz, Maurer, Brannath and Posch (2009), which is
// Holm's with weights. Each hypothesis gets its share of the error, and what one that is rejected
// no longer needs goes to the others in proportion to theirs. Weights sum up to at most 1.
std::vector<double> adjusted_p(const std::vector<double>& p, const std::vector<double>& weights);

}  // namespace gpuready::bench

namespace gpuready {
NAMES_OF(bench::Design, "paired", "mixed", "in_blocks", "regular");
NAMES_OF(bench::Method, "student_t", "welch_t", "trend_adjusted_t");
}  // namespace gpuready
