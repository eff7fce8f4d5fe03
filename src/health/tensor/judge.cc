#include "health/tensor/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/statistics.h"
#include "base/text.h"

namespace gpuready {
namespace {

void list_mismatches(const TensorRunner& runner, const TensorLaunch& launch,
                     std::size_t max_reported, Verdict& verdict) {
  const TensorForm& form = runner.form();
  const auto add = [&](std::string what, const TensorMismatch& from, std::uint64_t index,
                       std::uint64_t expected, std::uint64_t actual) {
    ++verdict.mismatches_total;
    if (verdict.mismatches.size() < std::min<std::size_t>(max_reported, 64))
      verdict.mismatches.push_back(
          {std::move(what), static_cast<unsigned>(from.unit), index, expected, actual});
  };
  for (const TensorMismatch& mismatch : launch.mismatches) {
    const auto rotation = static_cast<unsigned>(mismatch.chain % form.rotations());
    const auto thread = static_cast<unsigned>(mismatch.thread % form.threads());
    bool found = false;
    for (unsigned i = 0; i < form.accumulators(); ++i) {
      const TensorElement element = form.element(thread, i);
      const std::uint32_t expected = runner.data().golden(element, rotation);
      if (expected == mismatch.values[i]) continue;
      found = true;
      add(std::string(form.name), mismatch,
          std::uint64_t{element.row} * form.rows(TensorOperand::b) + element.column, expected,
          mismatch.values[i]);
    }
    // The products are right: then the integer arithmetic of the check itself went wrong.
    if (!found)
      add(fmt::format("{} fold", form.name), mismatch, thread,
          runner.data().golden_fold(thread, rotation), mismatch.fold);
  }
  verdict.mismatches_total += launch.bad - launch.mismatches.size();
}

}  // namespace

std::string find_wrong_sums(const TensorRunner& runner, std::uint64_t chains,
                            const TensorLaunch& launch, std::size_t max_reported,
                            Verdict& verdict) {
  const std::uint64_t predicted = runner.predicted(chains);
  if (launch.bad > 0) {
    list_mismatches(runner, launch, max_reported, verdict);
    std::set<std::uint64_t> units;
    for (const TensorMismatch& mismatch : launch.mismatches) units.insert(mismatch.unit);
    std::vector<std::string> names;
    for (const std::uint64_t unit : units) names.push_back(std::to_string(unit));
    return fmt::format("{}: {} of {} checked sums are wrong, on SM {}", runner.form().name,
                       launch.bad, predicted, join(names, ", "));
  }
  if (launch.good != predicted)
    return fmt::format("{}: the device counted {} right results where there must be {}",
                       runner.form().name, launch.good, predicted);
  return {};
}

SlowUnits find_slow_units(const std::vector<std::pair<std::uint64_t, double>>& cycles_by_unit) {
  SlowUnits found;
  if (cycles_by_unit.empty()) return found;
  auto sorted = cycles_by_unit;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<double> all;
  for (const auto& [unit, cycles] : sorted) all.push_back(cycles);
  const double median = lower_median(std::move(all));
  if (median <= 0) return found;
  found.median_to_slowest = median / sorted.front().second;
  for (const auto& [unit, cycles] : sorted) {
    if (cycles <= kSlowSmFactor * median) break;
    found.units.emplace_back(unit, cycles / median);
  }
  return found;
}

}  // namespace gpuready
