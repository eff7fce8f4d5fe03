// What the compute test says in the end.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "health/compute/run.h"
#include "kernels/compute_kernel.h"
#include "kernels/cpu/compute_golden.h"

namespace gpuready {

std::string ComputeTest::describe_failure() const {
  if (silent_blocks() > 0)
    return fmt::format(
        "the kernel did not come to its end on {} of {} blocks: a launch did nothing, or not all "
        "of "
        "its work",
        silent_blocks(), launcher_->launched_blocks());
  if (tally_.incomplete > 0)
    return fmt::format("{} blocks left out operations or results", tally_.incomplete);
  if (verdict_.mismatches_total > 0) {
    std::set<unsigned> units;
    for (const WrongSum& wrong : tally_.wrong) units.insert(wrong.unit);
    const Mismatch& first = verdict_.mismatches.front();
    std::string who =
        first.unit ? unit_name(*first.unit) : fmt::format("every one of the {}", units_name());
    if (units.size() > 1 && units.size() == tally_.units.size())
      who = fmt::format("every one of {} {}", units.size(), units_name());
    else if (units.size() > 1)
      who = fmt::format("{} of {} {}, the first {},", units.size(), tally_.units.size(),
                        units_name(), unit_name(*units.begin()));
    std::string text = fmt::format("{} computes wrongly: {} number {} gives {:#x}, not {:#x}", who,
                                   first.what, first.index, first.actual, first.expected);
    if (verdict_.mismatches_total > 1)
      text += fmt::format(" ({} wrong in all)", verdict_.mismatches_total);
    if (unrepeated_ > 0) text += "; computed once more, it was right";
    return text;
  }
  if (all_slow())
    return fmt::format(
        "all SMs are slow: the fastest does {:.1f} multiply-adds in a clock cycle, and {:.1f} is "
        "the least: {}",
        fma_per_cycle_, speed_rule_->least(), speed_rule_->source);
  std::string text = fmt::format("{} takes {:.2f} times as long as the median for the same work",
                                 unit_name(worst_.slowest_unit), worst_.ratio());
  if (slow_.size() > 1) text += fmt::format(" ({} {} are slow)", slow_.size(), units_name());
  return text;
}

bool ComputeTest::conclude() {
  const unsigned total = units_total();
  const unsigned tested = static_cast<unsigned>(tally_.units.size());
  const std::size_t ops = exact_ops_.size() + special_ops_.size();
  set_metric("operations", static_cast<double>(ops), "1");
  set_metric("results_checked", static_cast<double>(tally_.results), "1");
  if (launcher_)
    set_metric("shared_memory_per_unit", static_cast<double>(launcher_->shared_bytes()), "B");
  set_metric("rounds", static_cast<double>(rounds_), "1");
  if (worst_.median > 0) {
    const char* unit = cpu_ ? "ns" : "cycles";
    set_metric("median_unit_time", worst_.median, unit);
    set_metric("slowest_unit_time", worst_.slowest, unit);
    Metric ratio{"median_to_slowest_unit", 1 / worst_.ratio(), "1", {}, {}};
    if (alone()) {
      ratio.threshold = 1 / rule_.ratio;
      ratio.threshold_source = "the compute test's own rule: equal work takes equal time";
    }
    verdict_.metrics.push_back(std::move(ratio));
  }
  if (speed_rule_)
    verdict_.metrics.push_back(
        {"fma_per_sm_cycle", fma_per_cycle_, "1", speed_rule_->least(), speed_rule_->source});
  if (rounds_ > 0 && !special_ops_.empty())
    set_metric("special_function_error_to_bound", largest_error_, "1");

  if (found_wrong()) return set(VerdictStatus::failed, describe_failure());
  if (interrupted_)
    return set(VerdictStatus::inconclusive,
               fmt::format("interrupted during {} after {} rounds without a wrong result", phase_,
                           rounds_));
  if (tested < total)
    return set(VerdictStatus::inconclusive,
               fmt::format("no wrong result, but only {} of {} {} were seen to do the work", tested,
                           total, units_name()));
  const bool hip = verdict_.executor == "hip";
  const std::string_view api = hip ? "HIP" : "Vulkan";
  if (options_.inject && options_.inject->kind == FaultClass::slow_sm &&
      (total < 2 || unnamed_units_))
    return set(VerdictStatus::not_supported, unnamed_units_
                                                 ? fmt::format("{} reports no time of a unit", api)
                                                 : "a single unit is neither slow nor fast");
  if (options_.inject && options_.inject->kind == FaultClass::slow_clock && !speed_rule_)
    return set(VerdictStatus::not_supported,
               "what a unit of this device does in a clock cycle is not known");
  std::string reason =
      fmt::format("{} operations on each of {} {}: every result is the golden one bit for bit", ops,
                  total, units_name());
  if (!special_ops_.empty())
    reason +=
        fmt::format(", special functions are within {}their published bounds and the same on all",
                    largest_error_ > 1 ? fmt::format("{:.3f} times ", largest_error_) : "");
  if (unnamed_units_) {
    reason += fmt::format(
        "; {} does not report which units ran them, and {}", api,
        hip ? "fp16, fp64, shuffles, votes and special functions are not tested through it"
            : "defines no other results so exactly");
    return set(VerdictStatus::passed, std::move(reason));
  }
  const int capability = device_.info().compute_capability.value_or(0);
  std::string missing;
  for (unsigned op = 0; op < kComputeOps; ++op) {
    const auto& there = op < kComputeExactOps ? exact_ops_ : special_ops_;
    if (std::find(there.begin(), there.end(), op) != there.end()) continue;
    if (!cpu_ && compute_op_is_there(op, false, capability))
      verdict_.not_judged.push_back(
          fmt::format("{}: the driver is too old for its code", compute_op(op).name));
    else
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", compute_op(op).name);
  }
  if (!missing.empty()) reason += fmt::format("; missing: {}", missing);
  if (!verdict_.not_judged.empty())
    reason += fmt::format("; not judged: {}", join(verdict_.not_judged, "; "));
  return set(VerdictStatus::passed, std::move(reason));
}

}  // namespace gpuready
