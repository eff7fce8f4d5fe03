// How figures went from run to run: FOLDER/history.json, beside the runs that it indexes, and the
// steps in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bench/compare/compare.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::bench {

struct HistoryPoint {
  std::string run, tag, started_utc, git_commit;
  double value = 0;  // in the KPI's unit
};

// From here on the level is another.
struct Step {
  std::string run, started_utc, git_commit;  // the first run at the new level
  double before = 0, after = 0;              // medians of the levels
  double gain_percent = 0;                   // positive: better
};

// One figure of one stack for one workload on one machine as it was set up.
struct Series {
  std::string workload, dtype, device, stack, fingerprint;
  Kpi kpi = Kpi::p50;
  std::vector<HistoryPoint> points;  // in time
  std::vector<Step> steps;
};

struct History {
  std::vector<Series> series;
  std::uint64_t runs = 0, added = 0;  // known, and of these new
  std::vector<std::string> notes;     // files that hold no run, and why
};

struct HistoryFilter {
  std::vector<std::string> stacks, tags;  // empty: all
  std::vector<std::string> workloads;     // by name, or with the sizes
  std::vector<Kpi> kpis;
};

inline constexpr std::string_view kHistoryFile = "history.json";  // in the folder of the runs

// Takes the runs of the folder that the index does not know yet into it and those whose files are
// gone or damaged out of it, and reads it. A damaged file is left out and told.
Result<History> read_history(Host& host, const std::string& folder, const HistoryFilter& filter,
                             Storage& storage = live_storage());

// As the noise of a comparison is learned from.
std::vector<EarlierSeries> earlier_of(const History& history);

// Gives a comparison that learns the earlier runs of the folder, if it exists. For one that does
// not learn, the folder is not read.
Result<void> learn_from_history(CompareOptions& options, Host& host, const std::string& folder);

// Where the level of `values` (greater than 0, in time) changes: the index of the first value of
// each new level. Least squares of logarithms with a price for each step, levels of at least three
// values, steps of at least `least`.
std::vector<std::size_t> find_steps(const std::vector<double>& values, double least = 0.01);

}  // namespace gpuready::bench
