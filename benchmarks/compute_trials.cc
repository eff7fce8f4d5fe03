// Trials of the compute test on one device: clean runs, and runs with each fault class that it must
// find. Prints a table: how many were found, whether the right unit was named, and the time of one.
//   bench_compute_trials [cpu|cuda:GPU-...] [CLEAN_RUNS] [TRIALS_PER_CLASS] [FIRST_SEED]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/open_device.h"
#include "health/compute/launch.h"
#include "health/compute/test_compute.h"

namespace {

using namespace gpuready;

struct Row {
  std::string name;
  unsigned runs = 0, failed = 0, named = 0;
  std::vector<double> ms;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// The unit that the verdict names: that of its mismatches, or of its sentence.
std::string unit_named(const Verdict& verdict) {
  if (!verdict.mismatches.empty() && verdict.mismatches[0].unit)
    return std::to_string(*verdict.mismatches[0].unit);
  const std::string& reason = verdict.reason;
  const auto digits = reason.find_first_of("0123456789");
  if (digits == std::string::npos) return "";
  return reason.substr(digits, reason.find_first_not_of("0123456789", digits) - digits);
}

void show_metrics(const Verdict& verdict) {
  for (const Metric& m : verdict.metrics) fmt::print("  {} = {:.6g} {}\n", m.name, m.value, m.unit);
  for (const Digest& d : verdict.digests) fmt::print("  {}: {:#x}\n", d.name, d.value);
}

// The unit that the fault sits on, where units are numbered from 0 on.
std::string unit_of_fault(Device& device, const TestOptions& options) {
  auto launcher = ComputeLauncher::make(device);
  if (!launcher) return "";
  std::vector<unsigned> units(device.info().units);
  for (unsigned i = 0; i < units.size(); ++i) units[i] = i;
  const auto place = compute_fault(*options.inject, units, launcher->ops(0, kComputeOps),
                                   launcher->work(*options.seed, 0, kComputeExactOps));
  return place ? std::to_string(place->unit) : "";
}

Row trial(Device& device, std::string_view name, const TestOptions& base, unsigned runs,
          std::optional<FaultClass> kind, std::uint64_t first_seed) {
  Row row{std::string(name), runs, 0, 0, {}};
  bool shown = false;
  for (unsigned i = 0; i < runs; ++i) {
    TestOptions options = base;
    options.seed = first_seed + i;
    if (kind) options.inject = Fault{*kind, (first_seed + i) * 0x9E3779B97F4A7C15ull};
    const Verdict verdict = test_compute(device, options, {});
    row.ms.push_back(verdict.duration_ms);
    const bool failed = verdict.status == VerdictStatus::failed;
    row.failed += failed;
    row.named += failed && kind && unit_named(verdict) == unit_of_fault(device, options);
    if (!shown || failed != kind.has_value()) {
      fmt::print("{} {}: {}: {}\n", name, i, to_string(verdict.status), verdict.reason);
      if (!shown) show_metrics(verdict);
      shown = true;
    }
  }
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, unsigned other) {
    return argc > i ? static_cast<unsigned>(std::atoi(argv[i])) : other;
  };
  const auto choice = parse_device_choice(argc > 1 ? argv[1] : "cpu");
  if (!choice) return std::fputs("DEVICE is cpu or cuda:UUID\n", stderr), 2;
  auto device = open_device(*choice, {.memory_free_bytes = GiB, .memory_total_bytes = GiB});
  if (!device) return fmt::print("{}\n", device.error().message), 1;
  const unsigned clean = number(2, 50), trials = number(3, 200), seed = number(4, 1);

  std::vector<Row> rows;
  rows.push_back(trial(**device, "clean", {}, clean, {}, seed));
  for (FaultClass kind : {FaultClass::wrong_sm, FaultClass::nan, FaultClass::slow_sm})
    rows.push_back(trial(**device, to_string(kind), {}, trials, kind, seed));
  fmt::print("\n{} ({} units)\n{:<10} {:>6} {:>7} {:>7} {:>10} {:>10} {:>10}\n",
             (*device)->info().name, (*device)->info().units, "class", "runs", "failed", "named",
             "median ms", "first ms", "most ms");
  bool good = true;
  for (const Row& row : rows) {
    fmt::print("{:<10} {:>6} {:>7} {:>7} {:>10.1f} {:>10.1f} {:>10.1f}\n", row.name, row.runs,
               row.failed, row.named, quantile(row.ms, 0.5), row.ms.empty() ? 0 : row.ms.front(),
               quantile(row.ms, 1));
    good = good && row.failed == (row.name == "clean" ? 0 : row.runs) && row.named == row.failed;
  }
  return good ? 0 : 1;
}
