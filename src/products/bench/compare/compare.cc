#include "bench/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/stack_pairs.h"

namespace gpuready::bench {
namespace {

// The share of the allowed error that the first KPI gets; the others share the rest. They mostly
// move with it, and an equal split would make the first need more runs for nothing.
constexpr double kFirstShare = 0.9;

// Earlier runs of a machine with two states all lie in one of them with the chance 2 of 2^8. A
// recorded clock shows nothing of the kind: memory and processes have states, too.
constexpr std::size_t kEarlierRunsToShowStates = 8;

// The standard deviation, as a share, below which a way of measuring tells no differences: timers,
// energy counters, pages of memory.
double resolution_of(Kpi kpi, double value) {
  constexpr double kMemoryPage = 2 << 20;
  if (kpi == Kpi::memory) return value > 0 ? kMemoryPage / std::sqrt(12.0) / value : 1;
  return kTimerStep;
}

std::optional<double> pooled_p95(const StackResult& stack) {
  auto all = valid_samples_of(stack);
  if (all.size() < kSamplesForP95) return std::nullopt;
  return percentile(std::move(all), 0.95);
}

template <class Figure>
std::vector<double> of_repeats(const StackResult& stack, Figure figure) {
  std::vector<double> values;
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok)
      if (const std::optional<double> value = figure(repeat); value && *value > 0)
        values.push_back(*value);
  return values;
}

std::optional<double> median_of_repeats(const StackResult& stack,
                                        std::optional<double> Repeat::* figure) {
  auto values = of_repeats(stack, [&](const Repeat& repeat) { return repeat.*figure; });
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

std::optional<double> greatest_of_repeats(const StackResult& stack,
                                          std::optional<std::uint64_t> Repeat::* figure) {
  const auto values = of_repeats(stack, [&](const Repeat& repeat) -> std::optional<double> {
    if (!(repeat.*figure)) return std::nullopt;
    return static_cast<double>(*(repeat.*figure));
  });
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

// The least time of an iteration that the machine's roofline allows.
std::optional<double> roofline_ns(const RunRecord& run) {
  if (!run.roofline) return std::nullopt;
  std::optional<double> least;
  const auto bound = [&](std::optional<std::uint64_t> work, std::optional<double> rate) {
    if (work && rate && *work > 0 && *rate > 0)
      least = std::max(least.value_or(0), static_cast<double>(*work) / *rate * 1e9);
  };
  bound(run.workload.flops, run.roofline->flops_per_s);
  bound(run.workload.bytes, run.roofline->bytes_per_s);
  return least;
}

struct KpiRuns {
  std::vector<RunValue> values;  // logarithms: greater is better
  std::vector<double> plain;     // as people read them
  std::string why_missing;       // of the first run without it
};

double iteration_count(const Workload& workload) {
  const auto count = workload.elements ? workload.elements : workload.rows;
  return static_cast<double>(std::max<std::uint64_t>(count.value_or(1), 1));
}

// Memory as it is seen from outside where every run has that; what a stack says of itself is
// another figure, and the two are not compared.
bool seen_from_outside(const Side& side, std::string_view stack) {
  return std::all_of(side.runs.begin(), side.runs.end(), [&](const RunRecord& run) {
    const StackResult* result = run.stack(stack);
    return result == nullptr || result->status != StackStatus::ok ||
           greatest_of_repeats(*result, &Repeat::memory_peak_bytes);
  });
}

struct Figures {
  bool normalise = false, memory_from_outside = true;
};

std::string why_missing(const StackResult& stack, Kpi kpi) {
  if (kpi == Kpi::p95) return fmt::format("it needs {} samples a run", kSamplesForP95);
  if (kpi == Kpi::energy)
    for (const auto& repeat : stack.repeats)
      if (!repeat.no_energy.empty()) return repeat.no_energy;
  return "";
}

// By KPI as of kKpis.
using KpisRuns = std::array<KpiRuns, std::size(kKpis)>;
KpisRuns runs_of(const Side& side, const std::vector<double>& places, std::string_view stack,
                 const Figures& figures) {
  KpisRuns all;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const RunRecord& run = side.runs[i];
    const StackResult* result = run.stack(stack);
    if (result == nullptr || result->status != StackStatus::ok) continue;
    const KpiValues values = values_of(*result, run.workload);
    const auto least = figures.normalise ? roofline_ns(run) : std::nullopt;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Kpi kpi = kKpis[k];
      const auto value = kpi == Kpi::memory && !figures.memory_from_outside
                             ? greatest_of_repeats(*result, &Repeat::self_memory_peak_bytes)
                             : values[k];
      if (!value) {
        if (all[k].why_missing.empty()) all[k].why_missing = why_missing(*result, kpi);
        continue;
      }
      double better = more_is_better(kpi) ? std::log(*value) : -std::log(*value);
      if (figures.normalise) {
        if (!least || kpi == Kpi::energy || kpi == Kpi::memory) continue;
        better += std::log(*least);
        if (more_is_better(kpi)) better -= std::log(iteration_count(run.workload));
      }
      all[k].values.push_back({places[i], better});
      all[k].plain.push_back(*value);
    }
  }
  return all;
}

double mean_of(const std::vector<RunValue>& runs) {
  double sum = 0;
  for (const auto& run : runs) sum += run.value;
  return sum / static_cast<double>(runs.size());
}

std::optional<double> spread_percent(const std::vector<RunValue>& runs) {
  if (runs.size() < 2) return std::nullopt;
  const double mean = mean_of(runs);
  double squares = 0;
  for (const auto& run : runs) squares += (run.value - mean) * (run.value - mean);
  return std::sqrt(squares / static_cast<double>(runs.size() - 1)) * 100;
}

double percent(double log_gain) { return std::expm1(log_gain) * 100; }

std::string missing(Kpi kpi, const KpiRuns& base, const KpiRuns& candidate, bool normalise) {
  if (normalise && (kpi == Kpi::energy || kpi == Kpi::memory)) return "has no roofline";
  const char* who = base.values.empty() && candidate.values.empty() ? "no run has it"
                    : base.values.empty()                           ? "no run of the base has it"
                    : candidate.values.empty() ? "no run of the candidate has it"
                                               : "";
  std::string text = who;
  if (text.empty()) return text;
  const auto& why = base.values.empty() ? base.why_missing : candidate.why_missing;
  return why.empty() ? text : text + "; " + why;
}

// Of few runs a side in blocks, a line through both sides takes the gain for a drift or the drift
// for a gain: whatever it says may be far from the figures.
constexpr std::size_t kLeastInBlocks = 5;
bool is_drift_unknown(const Estimate& estimate) {
  return estimate.design == Design::in_blocks &&
         std::min(estimate.base_runs, estimate.candidate_runs) < kLeastInBlocks;
}

bool has_run(const Side& side, std::string_view id) {
  return std::ranges::any_of(side.runs, [&](const RunRecord& run) { return run.id == id; });
}

// What is known of the noise, from what, and of states of the machine.
struct Learned {
  std::optional<Noise> noise;
  std::string from;
  KnownStates states;
};

// Those of the same work on the same machine.
using Series = std::vector<const EarlierSeries*>;
Series series_like(const RunRecord& run, const std::vector<EarlierSeries>& all) {
  Series like;
  if (all.empty()) return like;
  const std::string workload = workload_key(run.workload);
  const std::string fingerprint = run.environment.fingerprint();
  for (const auto& series : all)
    if (series.workload == workload && series.dtype == run.workload.dtype &&
        series.device == run.workload.device && series.fingerprint == fingerprint)
      like.push_back(&series);
  return like;
}

// Of earlier runs, by their tags: each is one configuration. The noise is that within one level.
Learned learned_from_earlier(const Side& base, const Side& candidate,
                             const std::pair<std::string, std::string>& ids, Kpi kpi,
                             const Series& earlier) {
  Learned learned;
  std::vector<Noise> groups;
  std::size_t count = 0, repeated = 0;
  for (const auto* series : earlier) {
    if (series->kpi != kpi || (series->stack != ids.first && series->stack != ids.second)) continue;
    std::map<std::string_view, std::vector<double>> tags;
    for (const auto& run : series->runs)
      if (run.value > 0 && !has_run(base, run.id) && !has_run(candidate, run.id))
        tags[run.tag].push_back(std::log(run.value));
    for (const auto& [tag, values] : tags) {
      repeated += values.size() - 1;
      if (const auto levels = two_levels(values, 1))
        learned.states.between_levels =
            std::max(learned.states.between_levels, levels->high - levels->low);
      const auto noise = noise_of(values);
      if (!noise || two_levels(values)) continue;
      groups.push_back(*noise);
      count += values.size();
    }
  }
  learned.noise = learned_from(groups, kTimerStep);
  if (learned.noise) learned.from = fmt::format("{} earlier runs of this machine", count);
  learned.states.one_level =
      learned.states.between_levels == 0 && repeated + 1 >= kEarlierRunsToShowStates;
  return learned;
}

struct Work {
  KpiComparison result;
  std::optional<Estimate> estimate;
  bool constant = false;      // one value in all runs of both sides
  double between_levels = 0;  // as of KnownStates
};

std::vector<double> states_of(const KpiRuns& runs) {
  std::vector<double> logarithms;
  for (const double value : runs.plain) logarithms.push_back(std::log(value));
  const auto levels = two_levels(std::move(logarithms));
  return levels ? std::vector{std::exp(levels->low), std::exp(levels->high)}
                : std::vector<double>();
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

// `to_tell_states`: the runs a side that do.
Work begin_kpi(Kpi kpi, const KpiRuns& base, const KpiRuns& candidate, const Learned& learned,
               std::size_t to_tell_states, bool normalise) {
  Work work;
  KpiComparison& result = work.result;
  result.kpi = kpi;
  result.base_runs = base.values.size();
  result.candidate_runs = candidate.values.size();
  if (!base.plain.empty()) result.base_value = geometric_mean(base.plain);
  if (!candidate.plain.empty()) result.candidate_value = geometric_mean(candidate.plain);
  result.base_spread_percent = spread_percent(base.values);
  result.candidate_spread_percent = spread_percent(candidate.values);
  result.reason = missing(kpi, base, candidate, normalise);
  if (!result.reason.empty()) return work;
  const auto [least, greatest] =
      std::ranges::minmax({std::ranges::min(base.plain), std::ranges::max(base.plain),
                           std::ranges::min(candidate.plain), std::ranges::max(candidate.plain)});
  work.constant = least == greatest;
  work.estimate = estimate(
      base.values, candidate.values,
      resolution_of(kpi, std::min(*result.base_value, *result.candidate_value)), learned.noise);
  if (!work.estimate) {
    result.reason = fmt::format(
        "{} and {} runs: run-to-run variation is known from 2 runs a side on ({} if they were not "
        "alternated)",
        base.values.size(), candidate.values.size(), kLeastInBlocks);
    result.gain_percent = percent(mean_of(candidate.values) - mean_of(base.values));
    return work;
  }
  result.design = name_of(work.estimate->design);
  if (is_drift_unknown(*work.estimate)) {
    result.reason = fmt::format(
        "{} and {} runs, one side after the other: with fewer than {} runs on each side a gain "
        "looks like a drift of the machine. Make more runs, or alternate them",
        base.values.size(), candidate.values.size(), kLeastInBlocks);
    work.estimate.reset();
    return work;
  }
  result.gain_percent = percent(work.estimate->difference);
  if (work.estimate->learned_degrees > 0) result.learned = learned.from;
  result.base_states = states_of(base);
  result.candidate_states = states_of(candidate);
  work.between_levels = learned.states.between_levels;
  if (kpi != Kpi::memory &&
      std::min(base.values.size(), candidate.values.size()) < to_tell_states &&
      learned.states.may_be(work.estimate->difference))
    result.runs_for_states = to_tell_states;
  result.p = work.estimate->p();
  result.method = name_of(work.estimate->method);
  const bool paired = work.estimate->design == Design::paired;
  const double middle = mean_of(base.values);
  for (std::size_t i = 0; i < candidate.values.size(); ++i)
    result.run_gains_percent.push_back(
        percent(candidate.values[i].value - (paired ? base.values[i].value : middle)));
  return work;
}

// The further runs a side after which an interval like this would exclude no difference, or lie
// within the margin: whichever comes first.
std::optional<std::uint64_t> further_runs(const Estimate& estimate, double margin, double alpha) {
  const double size = std::fabs(estimate.difference);
  const auto to_differ = runs_for(estimate, size, alpha);
  const auto to_agree = runs_for(estimate, margin - size, alpha);
  if (!to_differ && !to_agree) return std::nullopt;
  const auto wanted = std::min(to_differ.value_or(SIZE_MAX), to_agree.value_or(SIZE_MAX));
  const auto have = std::min(estimate.base_runs, estimate.candidate_runs);
  return wanted > have ? wanted - have : 1;
}

void conclude(Work& work, double weight, const CompareOptions& options) {
  if (!work.estimate) return;
  KpiComparison& result = work.result;
  const Estimate& e = *work.estimate;
  // Once a difference is sure after the correction, its interval need not be wider than that which
  // excludes none.
  const bool differs = *result.adjusted_p <= options.error;
  const double alpha = options.error * weight;
  double half = e.half_width(alpha);
  if (differs) half = std::min(half, std::fabs(e.difference));
  const double low = e.difference - half, high = e.difference + half;
  result.low_percent = percent(low);
  result.high_percent = percent(high);
  if (!differs) result.runs_for_interval = runs_for_use(e, alpha);
  const double alone = e.half_width(options.error);
  result.alone_low_percent = percent(e.difference - alone);
  result.alone_high_percent = percent(e.difference + alone);
  const auto runs = std::max(options.reach.runs, std::min(e.base_runs, e.candidate_runs));
  result.reach_percent = -percent(-half_width_at(e, runs, options.reach.error));
  const double margin = std::log1p(options.margin);
  // What is held in memory is counted, not timed: no noise hides behind equal counts.
  if ((work.constant && result.kpi == Kpi::memory) || (low >= -margin && high <= margin)) {
    result.outcome = Outcome::same;
  } else if (differs && result.runs_for_states) {
    const auto have = std::min(e.base_runs, e.candidate_runs);
    result.further_runs = *result.runs_for_states - have;
    result.reason =
        fmt::format("{}; {}", too_few_to_tell_states("runs", have, *result.runs_for_states),
                    work.between_levels > 0
                        ? fmt::format("earlier runs lie at two levels {:.0f}% apart",
                                      percent(work.between_levels))
                        : fmt::format("{} earlier runs of this workload at one level decide, too",
                                      kEarlierRunsToShowStates));
  } else if (differs) {
    result.outcome = e.difference > 0 ? Outcome::faster : Outcome::slower;
  } else {
    result.further_runs = further_runs(e, margin, alpha);
    result.reason =
        !result.further_runs ? "no number of runs within reason would decide"
        : *result.further_runs == 1
            ? "about 1 more run a side would decide"
            : fmt::format("about {} more runs a side would decide", *result.further_runs);
  }
}

std::string listed(const std::vector<KpiComparison>& kpis, Outcome outcome) {
  std::vector<std::string> names;
  for (const auto& kpi : kpis)
    if (kpi.outcome == outcome) names.emplace_back(name_of(kpi.kpi));
  return join(names, ", ");
}

// One verdict from those of the KPIs.
void conclude(StackComparison& stack) {
  const auto faster = listed(stack.kpis, Outcome::faster);
  const auto slower = listed(stack.kpis, Outcome::slower);
  const auto first =
      std::find_if(stack.kpis.begin(), stack.kpis.end(), [](const auto& kpi) { return !!kpi.p; });
  if (!faster.empty() && !slower.empty()) {
    stack.outcome = Outcome::inconclusive;
    stack.reason = fmt::format("better in {}, worse in {}", faster, slower);
  } else if (!faster.empty() || !slower.empty()) {
    stack.outcome = slower.empty() ? Outcome::faster : Outcome::slower;
    stack.reason = slower.empty() ? "better in " + faster : "worse in " + slower;
  } else if (first == stack.kpis.end()) {
    stack.reason = stack.kpis.front().reason;
  } else {
    stack.outcome = first->outcome;
    stack.reason = first->reason;
  }
}

bool is_measured(const Losses& losses) { return losses.lost_runs < losses.runs; }

// A stack without any figure on a side is not compared, and not passed over either.
void conclude_one_sided(StackComparison& stack) {
  const bool lost = is_measured(stack.base_losses);
  if (lost) stack.outcome = Outcome::lost;
  const Losses& losses = lost ? stack.candidate_losses : stack.base_losses;
  stack.reason = fmt::format("{} has a figure of it: {}",
                             lost                                  ? "no run of the candidate"
                             : is_measured(stack.candidate_losses) ? "no run of the base"
                                                                   : "no run of either side",
                             join(losses.reasons, "; "));
}

// Places in time: each run's among all. A drift belongs to what a machine goes through from run to
// run, not to the days between two sessions.
using Places = std::pair<std::vector<double>, std::vector<double>>;
Places places_of(const Side& base, const Side& candidate) {
  std::vector<std::string> times;
  for (const Side* side : {&base, &candidate})
    for (const auto& run : side->runs) times.push_back(run.started_utc);
  std::sort(times.begin(), times.end());
  const auto of = [&](const Side& side) {
    std::vector<double> all;
    for (const auto& run : side.runs)
      all.push_back(static_cast<double>(
          std::lower_bound(times.begin(), times.end(), run.started_utc) - times.begin()));
    return all;
  };
  return {of(base), of(candidate)};
}

// A pair of stacks, and what the runs that count say of both.
struct StackRuns {
  std::pair<std::string, std::string> ids;
  KpisRuns base, candidate;
};

StackRuns stack_runs_of(const Side& base, const Side& candidate, const Places& places,
                        const std::pair<std::string, std::string>& ids, bool normalise) {
  const Figures figures{
      normalise, seen_from_outside(base, ids.first) && seen_from_outside(candidate, ids.second)};
  return {ids, runs_of(base, places.first, ids.first, figures),
          runs_of(candidate, places.second, ids.second, figures)};
}

// What the other stacks of the same runs say of the noise: they ran beside it.
class Siblings {
 public:
  explicit Siblings(const std::vector<StackRuns>& stacks) {
    for (const auto& stack : stacks)
      for (std::size_t i = 0; i < std::size(kKpis); ++i)
        for (const auto* side : {&stack.base, &stack.candidate}) {
          std::vector<double> values;
          for (const auto& run : (*side)[i].values) values.push_back(run.value);
          if (const auto noise = noise_of(values)) groups_.push_back({stack.ids, kKpis[i], *noise});
        }
  }
  void add_to(Learned& learned, const std::pair<std::string, std::string>& ids, Kpi kpi) const {
    std::vector<Noise> groups;
    for (const auto& group : groups_)
      if (group.kpi == kpi && group.ids != ids) groups.push_back(group.noise);
    // One or two may be another kind of program; of more it shows how far they differ.
    if (groups.size() < kLeastSiblings) return;
    learned.noise = learned_from(groups, kTimerStep);
    learned.from = "the other stacks of these runs";
  }

 private:
  static constexpr std::size_t kLeastSiblings = 6;  // three stacks on both sides
  struct Group {
    std::pair<std::string, std::string> ids;
    Kpi kpi;
    Noise noise;
  };
  std::vector<Group> groups_;
};

StackComparison compare_stack(const Side& base, const Side& candidate, const StackRuns& runs,
                              std::size_t compared, const Series& earlier, const Siblings& siblings,
                              const CompareOptions& options) {
  StackComparison stack;
  const auto& ids = runs.ids;
  std::tie(stack.base_stack, stack.candidate_stack) = ids;
  stack.base_losses = losses_of(base.runs, ids.first);
  stack.candidate_losses = losses_of(candidate.runs, ids.second);
  if (!is_measured(stack.base_losses) || !is_measured(stack.candidate_losses)) {
    conclude_one_sided(stack);
    return stack;
  }
  const double share = 1 / static_cast<double>(compared);
  const std::size_t to_tell_states = runs_to_tell_states(compared);
  std::vector<Work> all;
  for (std::size_t i = 0; i < std::size(kKpis); ++i) {
    const Kpi kpi = kKpis[i];
    Learned learned;
    const bool learn = options.learn && kpi != Kpi::memory;  // it is counted, not timed
    if (learn) learned = learned_from_earlier(base, candidate, ids, kpi, earlier);
    if (learn && !learned.noise) siblings.add_to(learned, ids, kpi);
    all.push_back(begin_kpi(kpi, runs.base[i], runs.candidate[i], learned, to_tell_states,
                            options.normalise));
  }
  const auto is_first = [&](const Work& work) {
    return work.estimate &&
           std::ranges::find(options.first, work.result.kpi) != options.first.end();
  };
  const auto first = static_cast<std::size_t>(std::ranges::count_if(all, is_first));
  const auto tested = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Work& work) { return work.estimate.has_value(); }));
  std::vector<double> p, weights;
  for (const auto& work : all) {
    if (!work.estimate) continue;
    p.push_back(*work.result.p);
    const bool all_alike = first == 0 || first == tested;
    weights.push_back(share * (all_alike        ? 1 / double(tested)
                               : is_first(work) ? kFirstShare / double(first)
                                                : (1 - kFirstShare) / double(tested - first)));
  }
  const auto adjusted = adjusted_p(p, weights);
  std::size_t next = 0;
  for (auto& work : all) {
    if (work.estimate) {
      work.result.adjusted_p = adjusted[next];
      conclude(work, weights[next++], options);
    }
    stack.kpis.push_back(std::move(work.result));
  }
  conclude(stack);
  return stack;
}

// The side itself if its runs are in time, else `sorted`: runs hold many samples.
const Side& in_time(const Side& side, Side& sorted) {
  if (std::ranges::is_sorted(side.runs, {}, &RunRecord::started_utc)) return side;
  sorted = side;
  std::ranges::stable_sort(sorted.runs, {}, &RunRecord::started_utc);
  return sorted;
}

ComparedSide named(const Side& side) {
  ComparedSide named{side.name, {}};
  for (const auto& run : side.runs) named.runs.push_back(run.id);
  return named;
}

}  // namespace

bool Comparison::refused() const { return std::ranges::any_of(differences, &Difference::refused); }
bool Comparison::refused_for_good() const {
  return std::ranges::any_of(differences, [](const auto& difference) {
    return difference.refused && !difference.measured;
  });
}

KpiValues values_of(const StackResult& stack, const Workload& workload) {
  const Latency latency = latency_of(stack);
  std::optional<double> throughput;
  if (latency.mean_ns) throughput = iteration_count(workload) * 1e9 / *latency.mean_ns;
  return {latency.p50_ns, pooled_p95(stack), throughput,
          median_of_repeats(stack, &Repeat::energy_mj),
          greatest_of_repeats(stack, &Repeat::memory_peak_bytes)};
}

Result<Comparison> compare(const Side& unordered_base, const Side& unordered_candidate,
                           const CompareOptions& options) {
  Side sorted_base, sorted_candidate;
  const Side& base = in_time(unordered_base, sorted_base);
  const Side& candidate = in_time(unordered_candidate, sorted_candidate);
  for (const Side* side : {&base, &candidate})
    if (side->runs.empty())
      return fail(ErrorKind::bad_input, fmt::format("{} holds no run", side->name));
  for (const Side* side : {&base, &candidate})
    for (const auto& run : side->runs)
      if (!run.is_whole())
        return fail(
            ErrorKind::bad_input,
            fmt::format("run {} of {} was interrupted: it is not whole", run.id, side->name));
  Comparison result;
  result.base = named(base);
  result.candidate = named(candidate);
  result.margin_percent = options.margin * 100;
  result.error_percent = options.error * 100;
  result.normalised = options.normalise;
  const auto pairs = pairs_of(base, candidate, options.stacks);
  result.differences = differences_of(base, candidate, pairs ? *pairs : StackPairs());
  for (auto& difference : result.differences) {
    const bool allowed = std::find(options.allowed.begin(), options.allowed.end(),
                                   difference.what) != options.allowed.end();
    const bool is_machine =
        difference.what == "gpu" || difference.what == "driver" || difference.what == "cpu";
    difference.refused &= !allowed && !(options.normalise && is_machine);
  }
  if (result.refused()) return result;
  if (options.normalise)
    for (const Side* side : {&base, &candidate})
      for (const auto& run : side->runs)
        if (!roofline_ns(run))
          return fail(ErrorKind::bad_input,
                      fmt::format("run {} of {} has no roofline of its machine to normalise by",
                                  run.id, side->name));
  if (!pairs) return std::unexpected(pairs.error());
  TRY(check_verified(base, candidate, *pairs));
  std::vector<StackRuns> stacks;
  const Places places = places_of(base, candidate);
  for (const auto& ids : *pairs)
    stacks.push_back(stack_runs_of(base, candidate, places, ids, options.normalise));
  const Siblings siblings(stacks);
  const auto earlier = series_like(base.runs.front(), options.earlier);
  const auto compared = std::ranges::count_if(*pairs, [&](const auto& ids) {
    return is_measured(losses_of(base.runs, ids.first)) &&
           is_measured(losses_of(candidate.runs, ids.second));
  });
  for (const auto& runs : stacks)
    result.stacks.push_back(compare_stack(
        base, candidate, runs, static_cast<std::size_t>(std::max(compared, std::ptrdiff_t{1})),
        earlier, siblings, options));
  return result;
}

}  // namespace gpuready::bench
