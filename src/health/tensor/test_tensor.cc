#include "health/tensor/test_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "health/sm_rates.h"
#include "health/tensor/fault.h"
#include "health/tensor/judge.h"
#include "health/test_run.h"

namespace gpuready {
namespace {

constexpr ByLevel<double> kSeconds = {1, 20, 120};
constexpr double kBurnShare = 0.85;  // of the time; the other forms share the rest
constexpr double kBurnLaunchMs = 200;
constexpr unsigned kLeastRounds = 3;

// What one form did, over all its launches.
struct Tally {
  std::uint64_t chains = 0;
  double ms = 0, operations = 0;
  std::set<std::uint64_t> units;
  std::map<std::uint64_t, double> cycles_per_chain;  // by unit, of its best timed round
};

class TensorTest final : public TestRun {
 public:
  TensorTest(Device& device, const TestOptions& options, const TestHooks& hooks)
      : TestRun("tensor", device, options, hooks) {}

 private:
  double wanted_ms() const {
    return 1e3 * std::max(0.0, options_.duration_s.value_or(at_level(kSeconds, options_.level)));
  }
  bool report_time() const {
    return report(static_cast<std::uint64_t>(done_ms_), static_cast<std::uint64_t>(wanted_ms()));
  }

  Result<void> steps() override;
  Result<bool> run_form(TensorRunner& runner, std::size_t index, double share_ms);
  Result<bool> run_round(TensorRunner& runner, std::size_t index, std::uint64_t chains, bool first,
                         Tally& tally);
  TensorFault fault_for(std::size_t index) const;
  void choose_forms(int capability);
  bool judge_speeds(const TensorForm& form, const Tally& tally);
  void conclude();

  std::vector<const TensorForm*> forms_;
  bool is_native_ = true;  // the burn's form is the one that this architecture burns with
  std::vector<std::uint64_t> units_;  // as they name themselves
  double done_ms_ = 0, slowest_ = 1;
  std::uint64_t chains_ = 0;
  double burn_s_ = 0;
  std::optional<SmRateRule> speed_rule_;
};

Result<void> TensorTest::steps() {
  if (device_.info().executor != "cuda") {
    set(VerdictStatus::not_supported,
        fmt::format("matrix instructions are tested only through CUDA, not through {}",
                    device_.info().executor));
    return {};
  }
  const int capability = device_.info().compute_capability.value_or(0);
  choose_forms(capability);
  if (forms_.empty() && verdict_.not_judged.empty()) {
    set(VerdictStatus::not_supported, fmt::format("compute capability {}.{} has no tensor cores",
                                                  capability / 10, capability % 10));
    return {};
  }
  if (forms_.empty()) {
    set(VerdictStatus::not_tested, "the driver is too old: " + verdict_.not_judged.front());
    return {};
  }
  // A random seed holds for the process: the answers to it are computed once.
  static const std::uint64_t process_seed = random_u64();
  const std::uint64_t seed = options_.seed.value_or(process_seed);
  if (options_.inject && std::ranges::find(tests_that_find(options_.inject->kind), "tensor") ==
                             tests_that_find(options_.inject->kind).end()) {
    set(VerdictStatus::not_tested, "no such fault can be made in the tensor test");
    return {};
  }
  // Others' work may take its turn on the SMs.
  if (options_.reserve_free_bytes == 0 && is_native_) speed_rule_ = tensor_rate_rule(capability);
  if (options_.inject && options_.inject->kind == FaultClass::slow_clock && !speed_rule_) {
    set(VerdictStatus::not_supported,
        "what the tensor cores of this GPU do in a clock cycle is not known");
    return {};
  }

  verdict_.units = UnitCoverage{device_.info().units, device_.info().units};
  const double total_ms = wanted_ms();
  const double burn_ms = forms_.size() > 1 ? total_ms * kBurnShare : total_ms;
  // The burn's form, the first, comes last: what is short may already tell.
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const std::size_t index = (i + 1) % forms_.size();
    phase_ = forms_[index]->name;
    report_time();
    auto runner = TRY(TensorRunner::make(device_, tensor_case(*forms_[index], seed)));
    const double share_ms =
        index == 0 ? burn_ms : (total_ms - burn_ms) / static_cast<double>(forms_.size() - 1);
    auto good = TRY(run_form(runner, index, share_ms));
    if (!good) return {};
    if (hooks_.partial) hooks_.partial(verdict_);
  }
  conclude();
  return {};
}

// What the architecture has, and what of it this driver's compiler takes.
void TensorTest::choose_forms(int capability) {
  const auto version = device_.info().driver_version;
  const auto all = tensor_forms_for(capability);
  forms_ = tensor_forms_for(capability, version);
  is_native_ = !forms_.empty() && forms_.front() == all.front();
  for (const TensorForm* form : all)
    if (std::ranges::find(forms_, form) == forms_.end())
      verdict_.not_judged.push_back(
          fmt::format("{}: {}", form->name, why_no_image(form->kernel->cuda, capability, version)));
}

Result<bool> TensorTest::run_form(TensorRunner& runner, std::size_t index, double share_ms) {
  const auto start = Clock::now();
  const double before_ms = done_ms_;
  const double limit_ms = std::min(kBurnLaunchMs, options_.max_launch_ms);
  Tally tally;
  std::uint64_t chains = kLeastTensorChains;
  std::uint64_t not_timed = 0;
  double chain_ms = 0;
  // The first round tells how long a chain takes and loads what must be loaded: it is checked, but
  // no one is called slow by it.
  for (unsigned round = 0;; ++round) {
    const double left_ms = share_ms - elapsed_ms(start);
    if (round > kLeastRounds && left_ms <= 0) break;
    if (round > 0) {
      const double wanted_ms =
          std::min({limit_ms, share_ms / kLeastRounds, std::max(0.0, left_ms)});
      chains = std::max(TensorRunner::rounded(static_cast<std::uint64_t>(wanted_ms / chain_ms)),
                        std::uint64_t{kLeastTensorChains});
    }
    auto good = run_round(runner, index, chains, round == 0, tally);
    if (!good || !*good) return good;
    chain_ms = std::max(1e-6, tally.ms / static_cast<double>(tally.chains - not_timed));
    if (round == 0) {  // warming up is not a rate
      tally.ms = tally.operations = 0;
      not_timed = tally.chains;
    }
    done_ms_ = before_ms + elapsed_ms(start);
    if (!report_time())
      return set(VerdictStatus::inconclusive,
                 fmt::format("interrupted during {}; all of {} chains checked so far were right",
                             phase_, chains_));
  }
  if (tally.ms > 0)
    set_metric(runner.form().rate_name, tally.operations / (tally.ms / 1e3),
               info_of(runner.form().type).rate_unit);
  verdict_.units->tested =
      std::min(verdict_.units->tested, static_cast<unsigned>(tally.units.size()));
  if (index != 0) return true;
  burn_s_ = tally.ms / 1e3;
  return judge_speeds(runner.form(), tally);
}

Result<bool> TensorTest::run_round(TensorRunner& runner, std::size_t index, std::uint64_t chains,
                                   bool first, Tally& tally) {
  auto launch =
      TRY(runner.launch(chains, first && units_.empty() ? TensorFault{} : fault_for(index)));
  std::string wrong = find_wrong_sums(runner, chains, launch, options_.max_reported, verdict_);
  if (!wrong.empty()) return set(VerdictStatus::failed, std::move(wrong));
  tally.chains += chains;
  tally.ms += launch.ms;
  tally.operations += runner.operations(chains);
  chains_ +=
      chains * launch.units.size() * (runner.form().warp_group ? kTensorWarpGroups : kTensorWarps);
  for (const TensorUnit& unit : launch.units) {
    if (unit.unit_at_start != unit.unit_at_end) continue;  // moved meanwhile: proves neither
    tally.units.insert(unit.unit_at_start);
    if (first) continue;
    const double cycles = static_cast<double>(unit.cycles) / static_cast<double>(chains);
    const auto [best, added] = tally.cycles_per_chain.try_emplace(unit.unit_at_start, cycles);
    if (!added) best->second = std::min(best->second, cycles);
  }
  if (units_.empty()) units_.assign(tally.units.begin(), tally.units.end());
  return true;
}

TensorFault TensorTest::fault_for(std::size_t index) const {
  if (!options_.inject || units_.empty()) return {};
  const auto place = draw_tensor_fault(*options_.inject, forms_, units_);
  const bool here = place.form == index || place.fault.kind == kTensorFaultSlow ||
                    place.fault.kind == kTensorFaultIdle;
  return here ? place.fault : TensorFault{};
}

// By the burn's form alone: it is the longest, and its cycles are those of the tensor cores. (Where
// an instruction is put together from others, SMs differ by how they fetch the code.)
bool TensorTest::judge_speeds(const TensorForm& form, const Tally& tally) {
  const auto slow = find_slow_units({tally.cycles_per_chain.begin(), tally.cycles_per_chain.end()});
  slowest_ = slow.median_to_slowest;
  if (speed_rule_ && !tally.cycles_per_chain.empty()) {
    const auto fastest = std::ranges::min_element(tally.cycles_per_chain, {},
                                                  [](const auto& unit) { return unit.second; });
    const double rate = form.operations() / std::max(fastest->second, 1.0);
    verdict_.metrics.push_back(
        {"burn_operations_per_sm_cycle", rate, "1", speed_rule_->least(), speed_rule_->source});
    if (rate < speed_rule_->least())
      return set(VerdictStatus::failed,
                 fmt::format("{}: all SMs are slow: the fastest does {:.0f} operations in a clock "
                             "cycle, and {:.0f} is the least: {}",
                             form.name, rate, speed_rule_->least(), speed_rule_->source));
  }
  if (slow.units.empty()) return true;
  std::vector<std::string> names;
  for (const auto& [unit, factor] : slow.units)
    names.push_back(fmt::format("SM {} ({:.2f} times the median)", unit, factor));
  return set(VerdictStatus::failed, fmt::format("{}: slow in its cycles for equal work: {}",
                                                form.name, join(names, ", ")));
}

void TensorTest::conclude() {
  const int capability = device_.info().compute_capability.value_or(0);
  const bool burns = capability < 100 && is_native_;
  set_metric("chains_checked", static_cast<double>(chains_), "1");
  set_metric(burns ? "burn_duration" : "longest_form_duration", burn_s_, "s");
  verdict_.metrics.push_back(
      {"slowest_sm_speed", slowest_, "1", 1 / kSlowSmFactor,
       "the tensor test's own rule: the median SM's cycles over the slowest's"});
  const auto [tested, total] = *verdict_.units;
  if (tested < total) {
    set(VerdictStatus::inconclusive,
        fmt::format("no error, but only {} of {} SMs were seen to take part", tested, total));
    return;
  }
  set(VerdictStatus::passed,
      fmt::format("{} forms of matrix instruction on all {} SMs, every sum exact; {:.3g} s of {}{}",
                  forms_.size(), total, burn_s_, forms_.front()->name,
                  burns ? " as a burn"
                        : ", which does not reach the full rate of these tensor cores and is "
                          "therefore no burn"));
  if (!verdict_.not_judged.empty())
    verdict_.reason += fmt::format("; not judged: {}", join(verdict_.not_judged, "; "));
}

}  // namespace

Verdict test_tensor(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return TensorTest(device, options, hooks).run();
}

}  // namespace gpuready
