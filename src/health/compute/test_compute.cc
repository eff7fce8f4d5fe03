#include "health/compute/test_compute.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "health/compute/run.h"
#include "health/compute/special.h"
#include "kernels/cpu/compute_golden.h"

namespace gpuready {
namespace {

// A value that all devices share: what they make of it is compared between siblings.
constexpr std::uint64_t kSpecialSeed = 0x67707572656164;
constexpr int kCensusTries = 8;
constexpr std::size_t kMostLocated = 16;  // wrong sums whose results are looked at one by one
constexpr std::size_t kMostBesides = 64;  // launches while the golden values are computed
constexpr ByLevel<double> kSeconds = {0, 3, 30};
constexpr unsigned kQuickRounds = 2;
constexpr int kSpeedLaunches = 3;
constexpr double kSlowClockMs = 1000;    // how long a slow clock is watched
constexpr std::uint64_t kIdleFault = 4;  // times as long as it works

}  // namespace

double ComputeTest::seconds_wanted() const {
  return options_.duration_s.value_or(at_level(kSeconds, options_.level));
}

Result<void> ComputeTest::steps() {
  if (!go_on()) return conclude(), Result<void>{};
  if (!host_arithmetic_is_ieee()) {
    set(VerdictStatus::inconclusive,
        "this process rounds or flushes differently than IEEE 754 says: no reference values");
    return {};
  }
  launcher_.emplace(TRY(ComputeLauncher::make(device_)));
  exact_ops_ = launcher_->ops(0, kComputeExactOps);
  special_ops_ = launcher_->ops(kComputeExactOps, kComputeOps);
  TRY(census());
  if (found_wrong()) return conclude(), Result<void>{};

  rounds_total_ = seconds_wanted() > 0 ? 0 : kQuickRounds;
  std::uint64_t seed = seed_;
  do {
    if (auto done = round(seed); !done) {
      // Wrong results already seen stay the verdict, whatever happened after.
      if (verdict_.mismatches_total > 0 || !slow_.empty()) conclude();
      return done;
    }
    if (hooks_.partial) hooks_.partial(verdict_);
    seed = mix_word(seed + 0x9E3779B97F4A7C15ull, 0);
  } while (!interrupted_ && !found_wrong() &&
           (rounds_ < rounds_total_ || elapsed_ms(start_) < seconds_wanted() * 1e3));
  TRY(watch_slow_clock());
  conclude();
  return {};
}

// Which units there are, and that a launch reaches them all. It also warms up.
Result<void> ComputeTest::census() {
  phase_ = "units";
  ComputeWork work = launcher_->work(seed_, kOpAddI32, kOpAddI32 + 1);
  work.count = kComputeThreads;
  std::set<unsigned> seen;
  for (int i = 0; i < kCensusTries && seen.size() < units_total() && !found_wrong(); ++i) {
    if (!go_on()) return {};
    auto records = TRY(launcher_->run(work, {}));
    for (const ComputeRecord& record : records)
      if (record.nonce == launcher_->nonce()) seen.insert(record.unit_at_start);
  }
  units_.assign(seen.begin(), seen.end());
  if (options_.inject) {
    auto ops = exact_ops_;
    ops.insert(ops.end(), special_ops_.begin(), special_ops_.end());
    fault_ =
        compute_fault(*options_.inject, units_, ops, launcher_->work(seed_, 0, kComputeExactOps));
  }
  return {};
}

Result<void> ComputeTest::round(std::uint64_t seed) {
  TRY(exact_round(seed));
  if (interrupted_) return {};
  TRY(measure_speed());
  // The first round's special functions are the same everywhere, for the siblings' sake.
  TRY(special_round(rounds_ == 0 ? kSpecialSeed : seed, rounds_ == 0));
  if (!interrupted_) ++rounds_;
  if (verdict_.units) verdict_.units->tested = static_cast<unsigned>(tally_.units.size());
  return {};
}

Result<void> ComputeTest::exact_round(std::uint64_t seed) {
  phase_ = "exact arithmetic";
  if (!go_on()) return {};
  const ComputeWork work = launcher_->work(seed, 0, kComputeExactOps);
  auto golden = golden_checksums_beside(work, exact_ops_);
  const auto golden_is_there = [&] {
    return golden.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  UnitTimes times;
  struct Run {
    std::vector<ComputeRecord> records;
    std::uint64_t nonce;
  };
  std::vector<Run> runs;
  const auto one_run = [&]() -> Result<void> {
    auto records = TRY(launcher_->run(work, fault_));
    if (!unnamed_units_) {
      const auto ticks_of = unit_ticks(records, launcher_->nonce());
      for (const auto& [unit, ticks] : ticks_of) times.add(unit, ticks);
      note_clock(ticks_of);
    }
    runs.push_back({std::move(records), launcher_->nonce()});
    return {};
  };
  // At least this many, and on a GPU as many as there is time for while the host computes.
  while (runs.size() < rule_.least_runs ||
         (!cpu_ && !unnamed_units_ && runs.size() < kMostBesides && !golden_is_there())) {
    if (!go_on()) break;
    TRY(one_run());
  }
  // Slow is what stays slow.
  for (std::size_t i = runs.size(); alone() && i < rule_.most_runs; ++i) {
    if (times.slower_than(rule_.ratio).empty() || !go_on()) break;
    TRY(one_run());
  }
  const ComputeChecksums checksums = golden.get();
  for (const Run& run : runs)
    tally_.add(run.records, expected_record(work, run.nonce, exact_ops_, checksums));
  if (!interrupted_) judge_times(times);
  return locate(work);
}

void ComputeTest::judge_times(const UnitTimes& times) {
  const auto spread = times.spread();
  if (!spread) return;
  if (spread->ratio() > worst_.ratio() || worst_.median == 0) worst_ = *spread;
  if (alone()) slow_ = times.slower_than(rule_.ratio);
}

// How many cycles went by in a second, by the SMs' own count.
void ComputeTest::note_clock(const std::map<unsigned, std::uint64_t>& ticks_of) {
  if (cpu_ || launcher_->ms() <= 0 || ticks_of.empty()) return;
  double most = 0;
  for (const auto& [unit, ticks] : ticks_of) most = std::max(most, static_cast<double>(ticks));
  clock_.add(most / launcher_->ms() / 1e3, launcher_->ms(), elapsed_ms(start_),
             options_.max_clock_mhz.value_or(0));
  if (clock_.best_mhz() <= 0) return;
  set_metric(kMeasuredClock, clock_.best_mhz(), "MHz");
  set_metric(kMeanClock, clock_.mean_mhz(), "MHz");
  if (options_.max_clock_mhz) set_metric(kSlowClockShare, clock_.slow_share(), "1");
}

// A quick test ends before an idle GPU must have raised its clock: one that is slow is loaded until
// that is past, and for long enough to tell how often it is.
Result<void> ComputeTest::watch_slow_clock() {
  if (cpu_ || unnamed_units_ || !alone() || options_.inject || !options_.max_clock_mhz ||
      found_wrong() || (clock_.risen() && clock_.slow_share() <= kMostSlowShare))
    return {};
  phase_ = "clock";
  const ComputeWork work = launcher_->work(seed_, 0, kComputeExactOps);
  for (const auto begun = Clock::now(); elapsed_ms(begun) < kSlowClockMs && go_on();) {
    const auto records = TRY(launcher_->run(work, {}));
    note_clock(unit_ticks(records, launcher_->nonce()));
  }
  return {};
}

// What the fastest SM does in a cycle, however high the clock is and whatever it is said to be.
Result<void> ComputeTest::measure_speed() {
  const auto rule = fma_rate_rule(device_.info().compute_capability.value_or(0));
  if (!rule || !alone()) return {};
  phase_ = "speed";
  if (!speed_) speed_.emplace(TRY(SpeedMeter::make(device_)));
  const bool idles = options_.inject && options_.inject->kind == FaultClass::slow_clock;
  for (int launch = 0; launch < kSpeedLaunches; ++launch) {
    for (const RateRecord& record : TRY(speed_->run(idles ? kIdleFault : 0))) {
      const std::uint64_t sum = rate_sum(SpeedMeter::kRounds);
      if (record.nonce != speed_->nonce())
        ++silent_speeds_;
      else if (record.sum != sum)
        add_mismatch({"fp32 fma chains", record.unit_at_start, 0, sum, record.sum});
      else
        fma_per_cycle_ = std::max(fma_per_cycle_, SpeedMeter::per_cycle(record));
    }
  }
  speed_rule_ = rule;
  return {};
}

// Equal on all units, and within what is published.
Result<void> ComputeTest::special_round(std::uint64_t seed, bool digest) {
  phase_ = "special functions";
  if (special_ops_.empty() || !go_on()) return {};
  const ComputeWork work = launcher_->work(seed, kComputeExactOps, kComputeOps);
  auto records = TRY(launcher_->run(work, fault_));
  const std::uint64_t nonce = launcher_->nonce();
  const ComputeChecksums sums = majority_checksums(records, nonce, special_ops_);
  tally_.add(records, expected_record(work, nonce, special_ops_, sums));
  if (digest) {
    std::uint64_t all = 0;
    for (unsigned op : special_ops_) all = mix_word(all + sums[op] + op, 0);
    verdict_.digests.push_back({"special functions", all});
  }
  for (unsigned op : special_ops_) {
    const auto one = std::find_if(records.begin(), records.end(), [&](const auto& record) {
      return record.nonce == nonce && record.checksum[op] == sums[op];
    });
    if (one == records.end()) continue;  // no one answered: the tally tells
    TRY(check_bounds(work, op, one->unit_at_start, sums[op]));
  }
  return locate(work);
}

Result<void> ComputeTest::check_bounds(const ComputeWork& work, unsigned op, unsigned unit,
                                       std::uint64_t checksum) {
  auto results = TRY(launcher_->results_of(work, op, unit, fault_));
  if (!results) return {};
  if (checksum_of(*results) != checksum) {
    ++unrepeated_;
    add_mismatch({std::string(compute_op(op).name), unit, 0, checksum, checksum_of(*results)});
  }
  const auto golden = golden_results(work, op);
  const unsigned key = compute_key(work.seed, op);
  for (unsigned i = 0; i < golden.size(); ++i) {
    const auto x = static_cast<std::uint32_t>(compute_inputs(compute_op(op).inputs, key, i).a);
    const auto result = static_cast<std::uint32_t>((*results)[i]);
    const auto error = special_function_error(op, x, result);
    if (!error) continue;
    // No unit is named where all agree.
    if (*error > kSpecialErrorAllowed)
      add_mismatch({std::string(compute_op(op).name), {}, i, golden[i], result});
    if (std::isfinite(*error)) largest_error_ = std::max(largest_error_, *error);
  }
  return {};
}

// What each wrong sum is made of: the unit computes that operation once more and stores it.
Result<void> ComputeTest::locate(const ComputeWork& work) {
  std::size_t located = 0;
  for (const WrongSum& wrong : tally_.wrong) {
    if (wrong.op < work.first_op || wrong.op >= work.end_op) continue;
    const std::string what(compute_op(wrong.op).name);
    std::uint64_t found = 0;
    if (located++ < kMostLocated) {
      auto reference = TRY(reference_of(work, wrong));
      auto results = TRY(launcher_->results_of(work, wrong.op, wrong.unit, fault_));
      for (unsigned i = 0; results && i < reference.size(); ++i) {
        if ((*results)[i] == reference[i]) continue;
        ++found;
        add_mismatch({what, wrong.unit, i, reference[i], (*results)[i]});
      }
    }
    if (found > 0) continue;
    if (located <= kMostLocated) ++unrepeated_;
    add_mismatch({what + " (checksum)", wrong.unit, 0, wrong.expected, wrong.actual});
  }
  return {};
}

// The golden results; of a special function, those of a unit that most others agree with.
Result<std::vector<std::uint64_t>> ComputeTest::reference_of(const ComputeWork& work,
                                                             const WrongSum& wrong) {
  if (wrong.op < kComputeExactOps) return golden_results(work, wrong.op);
  for (unsigned unit : units_) {
    const bool agrees = std::none_of(tally_.wrong.begin(), tally_.wrong.end(), [&](const auto& w) {
      return w.op == wrong.op && w.unit == unit;
    });
    if (!agrees) continue;
    auto results = TRY(launcher_->results_of(work, wrong.op, unit, fault_));
    if (results) return std::move(*results);
  }
  return std::vector<std::uint64_t>{};
}

Verdict test_compute(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return ComputeTest(device, options, hooks).run();
}

}  // namespace gpuready
