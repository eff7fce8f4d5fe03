// Is the candidate faster than the base? Pure: from two lists of runs to verdicts with intervals.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "base/result.h"
#include "bench/compare/estimate.h"
#include "bench/compare/losses.h"
#include "bench/record/run_record.h"

namespace gpuready::bench {

// What is compared, the first one first: it gets most of the error that is allowed.
enum class Kpi {
  p50,         // ns of one iteration
  p95,         // ns; of at least kSamplesForP95 samples in each run
  throughput,  // elements (rows where there are none, else iterations) a second, of the mean
  energy,      // mJ of one iteration
  memory,      // bytes, at the peak
};
inline constexpr Kpi kKpis[] = {Kpi::p50, Kpi::p95, Kpi::throughput, Kpi::energy, Kpi::memory};

enum class Outcome {
  faster,  // better: of energy and memory, less
  slower,
  same,  // within the margin
  inconclusive,
  lost,  // of a stack: the base has figures, and no run of the candidate has one
};

// Figures of earlier runs of the same work on the same machine, in time.
struct EarlierRun {
  std::string id, tag;
  double value = 0;  // in the KPI's unit
};
struct EarlierSeries {
  std::string workload, dtype, device, stack, fingerprint;  // workload: workload_key()
  Kpi kpi = Kpi::p50;
  std::vector<EarlierRun> runs;
};

struct CompareOptions {
  double margin = 0.01;  // differences that are as good as none: 0.01 is 1%
  // The chance that any verdict of the comparison is faster or slower where nothing differs: a bit
  // below the 1% that is promised.
  double error = 0.008;
  // What is foreseen: an interval of one KPI, of this number of runs a side, or of those that
  // exist.
  struct Reach {
    std::size_t runs = 12;
    double error = 0.008;
  } reach;
  std::vector<Kpi> first = {Kpi::p50};  // that share most of the error
  // What the noise is learned from beside the runs themselves; without `learn` nothing.
  bool learn = true;
  std::vector<EarlierSeries> earlier;
  std::vector<std::string> stacks;   // only these (stack_pairs.h); empty: all of both sides
  std::vector<std::string> allowed;  // differences that do not forbid a comparison: "driver"
  bool normalise = false;            // compare shares of each machine's roofline
};

struct KpiComparison {
  Kpi kpi = Kpi::p50;
  Outcome outcome = Outcome::inconclusive;
  std::string reason;  // where there is no figure, or it decides nothing
  // Geometric means over the runs, in the KPI's unit: the gain is their ratio, but for a trend.
  std::optional<double> base_value, candidate_value;
  std::uint64_t base_runs = 0, candidate_runs = 0;  // that have it
  // How much better the candidate is, and the interval: 2 is 2% faster, -2 slower.
  std::optional<double> gain_percent, low_percent, high_percent;
  std::optional<double> alone_low_percent, alone_high_percent;  // of this KPI and no other
  // The runs a side from which on an interval would be of use; present if this one is of none: it
  // includes "no difference" and is wider than half to twice.
  std::optional<std::uint64_t> runs_for_interval;
  std::optional<double> p, adjusted_p;
  // The loss that CompareOptions::reach.runs a side would rule out if nothing differed.
  std::optional<double> reach_percent;
  std::string design, method;
  std::optional<double> base_spread_percent, candidate_spread_percent;  // run to run, 1 sigma
  std::optional<std::uint64_t> further_runs;                            // a side, that would decide
  std::string learned;  // what the noise was learned from beside these runs
  std::vector<double> base_states, candidate_states;  // two, where the runs have two levels
  // A side, that would tell; present where as few runs would look the same if the machine changed
  // between two states.
  std::optional<std::uint64_t> runs_for_states;
  std::vector<double> run_gains_percent;  // of each pair where runs alternate, else of
                                          // each candidate run over the base's value
};

struct StackComparison {
  std::string base_stack, candidate_stack;
  Outcome outcome = Outcome::inconclusive;
  std::string reason;
  Losses base_losses, candidate_losses;
  std::vector<KpiComparison> kpis;  // none where a side has no figure at all
};

struct Difference {
  // gpu, driver, workload, dtype, device, protocol, load; or cuda, commit, flags, a variable's
  // name, ...
  std::string what;
  std::string base, candidate;
  bool refused = false;   // forbids the comparison
  bool mixed = false;     // a side has several values
  bool measured = false;  // by means of what each run read, which further runs may change
  bool follows = false;   // a stack says so of itself: what was changed may be the cause
};

struct ComparedSide {
  std::string name;
  std::vector<std::string> runs;  // ids, in time
};

struct Comparison {
  ComparedSide base, candidate;
  std::vector<Difference> differences;
  double margin_percent = 0, error_percent = 0;
  bool normalised = false;
  std::vector<StackComparison> stacks;  // empty where a difference forbids it
  bool refused() const;
  bool refused_for_good() const;  // by what no further run changes
};

struct Side {
  std::string name;
  std::vector<RunRecord> runs;
};

// Stacks of the base and which of the candidate each is held against.
using StackPairs = std::vector<std::pair<std::string, std::string>>;

// What differs between runs and may change results: what forbids a comparison first.
std::vector<Difference> differences_of(const Side& base, const Side& candidate,
                                       const StackPairs& pairs);

// Errors: a side without runs, a stack that is not there.
Result<Comparison> compare(const Side& base, const Side& candidate, const CompareOptions& options);

// One run's figures, as of kKpis; nothing where it has none.
using KpiValues = std::array<std::optional<double>, std::size(kKpis)>;
KpiValues values_of(const StackResult& stack, const Workload& workload);
// Whether greater is better.
constexpr bool more_is_better(Kpi kpi) { return kpi == Kpi::throughput; }

}  // namespace gpuready::bench

namespace gpuready {
NAMES_OF(bench::Kpi, "p50", "p95", "throughput", "energy", "memory");
NAMES_OF(bench::Outcome, "faster", "slower", "same", "inconclusive", "lost");
}  // namespace gpuready
