#include "health/bandwidth/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr double kLeastOfLink = 0.75, kLeastOfMemory = 0.80;
constexpr std::uint64_t kLeastCacheMultiple = 4;       // smaller buffers measure the L2 cache
constexpr std::uint64_t kLeastJudgedBytes = 16 * MiB;  // smaller copies measure their start

class Judge {
 public:
  Judge(std::vector<Metric>& metrics, const RateFacts& facts)
      : metrics_(metrics),
        facts_(facts),
        slice_(facts.device.uuid && facts.device.uuid->starts_with("MIG-")) {}

  RateJudgement run() {
    if (facts_.shared)
      note("rates are not judged: others may use this GPU");
    else if (facts_.device.integrated.value_or(false))
      note("rates are not judged: the device shares the host's memory");
    else
      pinned_rates(), copy_rate();
    return std::move(told_);
  }

 private:
  void note(std::string text) { told_.notes.push_back(std::move(text)); }
  void hold(std::string_view name, double threshold, const std::string& source) {
    for (Metric& metric : metrics_) {
      if (metric.name != name) continue;
      metric.threshold = threshold;
      metric.threshold_source = source;
      if (metric.value < threshold)
        told_.below.push_back(fmt::format("{} is {}, below {}: {}", name, format_rate(metric.value),
                                          format_rate(threshold), source));
    }
  }

  void pinned_rates() {
    const auto raw = facts_.link ? raw_link_rate(facts_.link->now) : std::nullopt;
    if (!raw)
      return note("pinned rates are not judged: the link's generation and width are hidden");
    if (slice_) return note("rates are not judged: a slice of a GPU has a share of each");
    if (facts_.host_bytes < kLeastJudgedBytes)
      return note("pinned rates are not judged: too little was copied at once");
    for (const char* name : {"h2d_pinned_rate", "d2h_pinned_rate"})
      hold(name, kLeastOfLink * *raw,
           fmt::format("{} of the {} that {} carries, as read under load", kLeastOfLink,
                       format_rate(*raw), describe_link(facts_.link->now)));
  }

  void copy_rate() {
    const DeviceInfo& device = facts_.device;
    const bool measured = std::any_of(metrics_.begin(), metrics_.end(), [](const Metric& metric) {
      return metric.name == "dram_copy_rate";
    });
    if (!measured || slice_) return;
    if (!device.memory_bus_bits || !device.memory_clock_khz)
      return note(
          "the copy rate is not judged: the driver does not report bus width and memory clock");
    const std::uint64_t cached = kLeastCacheMultiple * device.l2_cache_bytes.value_or(0);
    if (facts_.device_bytes < std::max(cached, kLeastJudgedBytes))
      return note("the copy rate is not judged: the caches hold what was copied");
    const double clock_khz = static_cast<double>(*device.memory_clock_khz);
    const double most = *device.memory_bus_bits / 8.0 * 2 * (clock_khz * 1e3);
    hold("dram_copy_rate", kLeastOfMemory * most,
         fmt::format("{} of {} bits x 2 x {:.0f} MHz = {}", kLeastOfMemory, *device.memory_bus_bits,
                     clock_khz / 1e3, format_rate(most)));
  }

  std::vector<Metric>& metrics_;
  const RateFacts& facts_;
  const bool slice_;
  RateJudgement told_;
};

}  // namespace

RateJudgement judge_rates(std::vector<Metric>& metrics, const RateFacts& facts) {
  return Judge(metrics, facts).run();
}

}  // namespace gpuready
