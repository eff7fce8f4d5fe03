#include "health/selftest.h"

#include <fmt/format.h>

#include <random>
#include <set>

#include "base/clock.h"
#include "health/memory/faults.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kManyFaults = 1000;

// How small a trial may be so that thousands of them are soon done.
struct TrialSize {
  std::string_view test;
  std::optional<std::uint64_t> max_bytes;
  std::optional<double> duration_s;
  Level level = Level::quick;
};
constexpr TrialSize kTrialSizes[] = {
    {"memory", 16 * MiB, {}},
    {"compute", {}, 0.001},
    {"tensor", {}, 0.001},
    // With the copies that are timed.
    {"bandwidth", 1 * MiB, {}, Level::standard},
    {"peers", 1 * MiB, {}, Level::standard},
};

struct Tally {
  std::uint64_t trials = 0, as_expected = 0, placed = 0;
};

// Whether the test says where the faults were.
bool tells_places(const TestOptions& options) {
  return options.inject && options.selftest_of == "memory" &&
         !is_device_fault(options.inject->kind);
}

std::string describe(const TestOptions& options, const Tally& tally) {
  if (!options.inject)
    return fmt::format("{} of {} clean runs passed", tally.as_expected, tally.trials);
  return fmt::format("{} of {} injected {} faults were found", tally.as_expected, tally.trials,
                     to_string(options.inject->kind));
}

void conclude(Verdict& verdict, const TestOptions& options, const Tally& tally,
              const std::string& first_miss) {
  verdict.metrics = {
      {"trials", static_cast<double>(tally.trials), "1", {}, {}},
      {"detected", static_cast<double>(tally.as_expected), "1", static_cast<double>(tally.trials),
       "the matrix of faults and tests"},
  };
  if (tells_places(options))
    verdict.metrics.push_back({"placed", static_cast<double>(tally.placed), "1",
                               static_cast<double>(tally.trials), "the places that were injected"});
  verdict.reason = describe(options, tally);
  if (tally.trials == 0) {
    verdict.status = VerdictStatus::inconclusive;
    verdict.reason = "interrupted before the first trial ended";
  } else if (tally.as_expected == tally.trials && tally.placed == tally.trials) {
    verdict.status = VerdictStatus::passed;
  } else {
    verdict.status = VerdictStatus::failed;
    verdict.reason += "; the first that went wrong: " + first_miss;
  }
}

// Every injected place is reported, and no other.
bool reports_exact_places(const TestOptions& options, const Verdict& verdict) {
  if (!tells_places(options)) return true;
  if (!verdict.coverage) return false;
  std::set<std::uint64_t> reported, injected;
  for (const BadWord& word : verdict.bad_words) reported.insert(word.offset_bytes);
  for (const FaultyWord& word :
       faulty_words(*options.inject, verdict.coverage->tested_bytes / sizeof(std::uint64_t)))
    injected.insert(word.word * sizeof(std::uint64_t));
  // Which words of an aliased page are lost depends on which of the two was written last.
  if (options.inject->kind == FaultClass::alias) return !reported.empty();
  return reported == injected;
}

}  // namespace

Verdict self_test(std::span<Device* const> devices, const TestOptions& options,
                  const TestHooks& hooks) {
  const auto start = Clock::now();
  Verdict verdict = begin_verdict("selftest", *devices.front(), options);
  const HealthTest* test = find_health_test(options.selftest_of);
  if (!test || test->devices != devices.size()) {
    verdict.status = VerdictStatus::inconclusive;
    verdict.reason =
        fmt::format("no test of {} devices is called \"{}\"", devices.size(), options.selftest_of);
    return verdict;
  }
  std::mt19937_64 places(options.inject ? options.inject->seed : 0);
  Tally tally;
  std::string first_miss;
  while (tally.trials < options.trials && !hooks.cancelled()) {
    if (hooks.progress) hooks.progress({"trials", tally.trials, options.trials});
    TestOptions trial = options;
    if (trial.inject) trial.inject->seed = places();
    const Verdict result = test->run(devices, trial, {.cancel = hooks.cancel});
    if (result.status == VerdictStatus::not_supported) {
      verdict.status = result.status;
      verdict.reason = result.reason;
      return verdict;
    }
    if (hooks.cancelled()) break;
    const bool right =
        result.status == (trial.inject ? VerdictStatus::failed : VerdictStatus::passed);
    const bool placed = reports_exact_places(trial, result);
    ++tally.trials;
    tally.as_expected += right;
    tally.placed += placed;
    if ((!right || !placed) && first_miss.empty())
      first_miss = fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  conclude(verdict, options, tally, first_miss);
  verdict.duration_ms = elapsed_ms(start);
  return verdict;
}

std::vector<SelfTestCase> self_test_cases() {
  std::vector<SelfTestCase> cases;
  for (const FaultClass kind : all_fault_classes())
    for (const std::string_view test : tests_that_find(kind)) cases.push_back({test, kind});
  for (const FaultClass kind :
       {FaultClass::bitflip, FaultClass::stuck, FaultClass::dropped_write, FaultClass::coupling})
    cases.push_back({"memory", kind, kManyFaults});
  for (const HealthTest& test : health_tests())
    if (test.from) cases.push_back({test.name});
  return cases;
}

TestOptions self_test_options(const SelfTestCase& tried, std::uint64_t trials, std::uint64_t seed) {
  TestOptions options;
  options.selftest_of = tried.test;
  options.seed = seed;
  options.copy_traffic_bytes = 0;
  if (tried.fault) options.inject = Fault{*tried.fault, seed, tried.faults};
  if (tried.faults > 1) {  // one pass over everything
    options.trials = 1;
    options.max_reported = 4096;
    return options;
  }
  options.trials = trials;
  for (const TrialSize& size : kTrialSizes) {
    if (size.test != tried.test) continue;
    options.max_bytes = size.max_bytes;
    options.duration_s = size.duration_s;
    options.level = size.level;
  }
  return options;
}

}  // namespace gpuready
