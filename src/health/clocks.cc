#include "health/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "health/clock_events.h"
#include "health/compute/clock_tally.h"
#include "health/compute/test_compute.h"
#include "machine/gpu_use.h"
#include "value/about.h"

namespace gpuready {
namespace {

constexpr double kMostHardwareShare = 0.1, kExplainingShare = 0.1;  // of the loaded time
constexpr std::size_t kLeastSamples = 5, kLeastEvents = 2;
constexpr double kAfterLoadMs = 150;    // what holds the hardware back then did so under load
constexpr double kNearMs = 500;         // two samples within this are of one time
constexpr double kAtPowerLimit = 0.95;  // of the limit
constexpr std::array<std::string_view, 3> kLoadingTests = {"memory", "compute", "tensor"};
// By the SMs' own count over what NVML tells, and the other way round. A launch has little beside
// the kernel; the rest is margin for clocks that change between two samples.
constexpr double kLeastAgreement = 0.75, kMostCounted = 1.05;

// What the SMs counted in the compute test.
struct Counted {
  double best_mhz = 0, mean_mhz = 0;
  std::optional<double> slow_share;
  TimeSpan span{};
};

class Judge {
 public:
  Judge(const Machine& machine, const Gpu& gpu, const Samples& samples,
        const std::vector<Verdict>& verdicts)
      : machine_(machine), gpu_(gpu), samples_(samples) {
    for (const Verdict& verdict : verdicts) {
      if (!verdict.started_ms || !is_about(verdict, gpu) || !loads_every_sm(verdict)) continue;
      load_.push_back(time_of(verdict));
      risen_.push_back(time_of(verdict, ClockTally::kRampMs));
      if (!verdict.injected_fault) read_count(verdict);
    }
    // A quick test may end before the driver was asked twice.
    const SampleSeries* any = series("clock_event_any");
    if (!any || values_within(*any, load_).size() < kLeastEvents)
      for (TimeSpan& span : load_) span.to_ms += kAfterLoadMs;
    clock_ = series("sm_clock");
    if (clock_) told_ = values_within(*clock_, risen_);
    verdict_.test = kClocksTest;
    verdict_.subject = fmt::format("GPU {}", gpu.index);
    verdict_.uuid = gpu.uuid;
    if (gpu.pci) verdict_.pci_address = gpu.pci->text();
  }

  std::optional<Verdict> run() {
    if (!sampled() && !counted_) return std::nullopt;
    if (const auto hidden = what_is_hidden()) {
      verdict_.status =
          hidden_for_good() ? VerdictStatus::not_supported : VerdictStatus::inconclusive;
      verdict_.reason = "the SM clock is not judged: " + *hidden;
      if (counted_)
        verdict_.reason += fmt::format("; the SMs counted {:.0f} MHz", counted_->best_mhz);
      return std::move(verdict_);
    }
    allow();
    compare_counts();
    judge_share();
    judge_hardware();
    add_link_generation();
    return std::move(verdict_);
  }

 private:
  bool sampled() const { return told_.size() >= kLeastSamples; }

  void read_count(const Verdict& verdict) {
    Counted counted;
    counted.span = risen_.back();
    for (const Metric& metric : verdict.metrics) {
      if (metric.name == kMeasuredClock) counted.best_mhz = metric.value;
      if (metric.name == kMeanClock) counted.mean_mhz = metric.value;
      if (metric.name == kSlowClockShare) counted.slow_share = metric.value;
    }
    if (counted.best_mhz > 0) counted_ = counted;
  }

  const SampleSeries* series(std::string_view name) const {
    return samples_.find(gpu_.index, name);
  }

  std::optional<std::string> what_is_hidden() const {
    const auto& start = machine_.nvidia.nvml_start;
    if (!clock_ && (!start || !start->ok())) return "NVML does not answer";
    if (!clock_ && !gpu_.clocks.sm_mhz) return "NVML reports no SM clock";
    if (!gpu_.clocks.max_sm_mhz || *gpu_.clocks.max_sm_mhz <= 0)
      return "NVML reports no greatest SM clock";
    return std::nullopt;
  }
  bool hidden_for_good() const {
    const auto& start = machine_.nvidia.nvml_start;
    return gpu_.virtualization == "vgpu" || machine_.system.wsl2 ||
           (!clock_ && (!start || !start->ok()));
  }

  // The share of the load in which NVML named an event.
  double share_of(std::string_view event) const {
    const SampleSeries* told = series(event);
    return told ? mean(values_within(*told, load_)) : 0;
  }

  void allow() {
    allowed_mhz_ = *gpu_.clocks.max_sm_mhz;
    source_ = "NVML's greatest SM clock";
    const SampleSeries* set = series("application_clock");
    if (!set || set->min <= 0 || set->min >= allowed_mhz_ ||
        share_of("clock_event_application_clocks") < kExplainingShare)
      return;
    allowed_mhz_ = set->min;
    source_ = "the application clock that is set";
  }
  double least_mhz() const { return kSlowClock * allowed_mhz_; }

  std::optional<double> value_at(const SampleSeries* told, double t_ms) const {
    if (!told || told->t_ms.empty()) return std::nullopt;
    auto next = std::ranges::lower_bound(told->t_ms, t_ms);
    if (next == told->t_ms.end() ||
        (next != told->t_ms.begin() && t_ms - *(next - 1) < *next - t_ms))
      --next;
    if (std::abs(*next - t_ms) > kNearMs) return std::nullopt;
    return told->value[static_cast<std::size_t>(next - told->t_ms.begin())];
  }

  // Somebody chose that it be slow then.
  bool is_explained(double t_ms) const {
    for (const ClockEvent& event : clock_events()) {
      if (event.by != ClockEvent::By::setting ||
          value_at(series(event.series), t_ms).value_or(0) < 0.5)
        continue;
      if (event.series == "clock_event_application_clocks" && series("application_clock")) continue;
      if (event.series != "clock_event_sw_power_cap") return true;
      const auto power_w = value_at(series("power"), t_ms);
      if (power_w && gpu_.power.limit_mw && *power_w >= kAtPowerLimit * *gpu_.power.limit_mw / 1e3)
        return true;
    }
    return false;
  }

  // The share of the samples in these spans that are below this, for no reason that somebody chose.
  double share_unexplained(const std::vector<TimeSpan>& spans, double below_mhz) const {
    std::size_t all = 0, slow = 0;
    for (std::size_t i = 0; i < clock_->t_ms.size(); ++i) {
      const double t_ms = clock_->t_ms[i];
      if (!is_within(spans, t_ms)) continue;
      ++all;
      slow += clock_->value[i] < below_mhz && !is_explained(t_ms);
    }
    return all == 0 ? 1 : static_cast<double>(slow) / static_cast<double>(all);
  }

  // The SMs' own count and NVML's clock must agree.
  void compare_counts() {
    if (!counted_ || !clock_) return;
    const auto meanwhile = values_within(*clock_, {&counted_->span, 1});
    const auto during_load = values_within(*clock_, load_);
    if (meanwhile.size() >= kLeastSamples) {
      const double told = median(meanwhile);
      verdict_.metrics.push_back({"sm_clock_counted_to_told", counted_->best_mhz / told, "1",
                                  kLeastAgreement, "the clock that NVML reported meanwhile"});
      if (counted_->best_mhz < kLeastAgreement * told)
        fail(
            fmt::format("NVML reports {:.0f} MHz, but the SMs counted {:.0f} million cycles a "
                        "second meanwhile",
                        told, counted_->best_mhz));
    }
    // Also of samples before and after: its rise may fall between two. (Drivers in software count
    // more than their greatest clock.)
    if (during_load.size() >= kLeastEvents && counted_->best_mhz <= kMostCounted * allowed_mhz_ &&
        clock_->max < kLeastAgreement * counted_->best_mhz) {
      verdict_.status = VerdictStatus::inconclusive;
      verdict_.reason = fmt::format(
          "the SM clock is not judged: NVML reports at most {:.0f} MHz, but the SMs counted {:.0f} "
          "million cycles a second",
          clock_->max, counted_->best_mhz);
    }
  }

  void fail(std::string reason) {
    if (!verdict_.reason.empty()) return;
    verdict_.status = VerdictStatus::failed;
    verdict_.reason = std::move(reason);
  }

  void judge_share() {
    double slow = 0, reached = 0;
    if (sampled()) {
      slow = share_unexplained(risen_, least_mhz());
      reached = median(told_);
    }
    if (counted_) {
      const bool by_launch = counted_->slow_share && allowed_mhz_ == *gpu_.clocks.max_sm_mhz;
      double share = by_launch ? *counted_->slow_share : counted_->best_mhz < least_mhz() ? 1 : 0;
      if (clock_) share *= share_unexplained(load_, INFINITY);
      slow = std::max(slow, share);
      if (!sampled()) reached = counted_->mean_mhz;
    }
    const bool explained = reached < least_mhz() && slow <= kBrokenSlowShare;
    const std::string limit =
        fmt::format("{} of the {:.0f} MHz of {}", kSlowClock, allowed_mhz_, source_);
    verdict_.metrics.push_back({"sm_clock", reached * 1e6, "Hz",
                                explained ? std::nullopt : std::optional(least_mhz() * 1e6),
                                explained ? std::nullopt : std::optional(limit)});
    const bool degraded = slow > kMostSlowShare;
    verdict_.metrics.push_back(
        {kSlowShare, slow, "1", degraded ? std::optional(kMostSlowShare) : std::nullopt,
         degraded ? std::optional("of the loaded time below " + limit) : std::nullopt});
    if (!verdict_.reason.empty()) return;
    if (degraded) {
      verdict_.status = slow > kBrokenSlowShare ? VerdictStatus::failed : VerdictStatus::passed;
      verdict_.reason = fmt::format("SM clock below {} of {:.0f} MHz for {} of the load: {}",
                                    kSlowClock, allowed_mhz_, format_percent(slow, 0), why_slow());
      return;
    }
    verdict_.status = VerdictStatus::passed;
    verdict_.reason = fmt::format("{:.0f} of {:.0f} MHz while loaded", reached, allowed_mhz_);
    if (const auto held = most_frequent(ClockEvent::By::setting); held.share >= kExplainingShare)
      verdict_.reason += ": " + clause(held);
  }

  // What held the clocks back for the largest share of the loaded time.
  struct Held {
    std::string_view name;
    double share = 0;
  };
  Held most_frequent(std::optional<ClockEvent::By> by) const {
    Held most;
    for (const ClockEvent& event : clock_events())
      if (const double share = share_of(event.series);
          (!by || event.by == *by) && share > most.share)
        most = {event.name, share};
    return most;
  }
  std::string why_slow() const {
    const Held held = most_frequent({});
    if (held.share < kExplainingShare) return "NVML names no cause";
    return fmt::format("{} {}", held.name, format_percent(held.share, 0));
  }
  static std::string clause(const Held& held) {
    return fmt::format("{} during {} of the load", held.name, format_percent(held.share, 0));
  }

  void judge_hardware() {
    const SampleSeries* any = series("clock_event_any");
    if (!any || values_within(*any, load_).size() < kLeastEvents) {
      verdict_.not_judged.push_back(
          "clock reasons: NVML told too little of what holds the clocks back during the load");
      return;
    }
    const Held held = most_frequent(ClockEvent::By::hardware);
    if (held.share < kMostHardwareShare) return;
    verdict_.metrics.push_back({kHardwareShare, held.share, "1", kMostHardwareShare,
                                "of the loaded time, held back by the hardware"});
    constexpr const char* kCure = "; check cooling, power supply and power cables";
    if (verdict_.status == VerdictStatus::passed) {
      verdict_.status = VerdictStatus::failed;
      if (!contains(verdict_.reason, held.name)) verdict_.reason += ": " + clause(held);
    }
    verdict_.reason += kCure;
  }

  void add_link_generation() {
    const SampleSeries* told = series("link_generation");
    if (!told || !gpu_.link_max.generation || link_is_virtual(machine_, gpu_)) return;
    const auto loaded = values_within(*told, load_);
    if (loaded.size() < kLeastEvents) return;
    verdict_.metrics.push_back({kLinkGeneration, std::ranges::max(loaded), "1",
                                static_cast<double>(*gpu_.link_max.generation),
                                "the greatest that both ends of the link have"});
  }

  const Machine& machine_;
  const Gpu& gpu_;
  const Samples& samples_;
  std::vector<TimeSpan> load_, risen_;  // of the tests that loaded it; without each one's ramp
  std::vector<double> told_;
  const SampleSeries* clock_ = nullptr;
  std::optional<Counted> counted_;
  double allowed_mhz_ = 0;
  std::string source_;
  Verdict verdict_;
};

}  // namespace

bool loads_every_sm(const Verdict& verdict) {
  return std::ranges::find(kLoadingTests, verdict.test) != kLoadingTests.end();
}

std::vector<Verdict> judge_clocks(const Machine& machine, const Samples& samples,
                                  const std::vector<Verdict>& verdicts) {
  std::vector<Verdict> judged;
  for (const Gpu& gpu : machine.gpus)
    if (auto verdict = Judge(machine, gpu, samples, verdicts).run())
      judged.push_back(std::move(*verdict));
  return judged;
}

}  // namespace gpuready
