#include "health/bandwidth/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr double kLeastOfLink = 0.75;
// Stacked memory reaches 0.89 and more. Of GDDR, error correction within the memory itself takes a
// part, and GeForce GPUs of older generations reached 0.74.
constexpr double kLeastOfStackedMemory = 0.80, kLeastOfOtherMemory = 0.60;
constexpr unsigned kLeastStackedBits = 2048;
constexpr std::uint64_t kLeastCacheMultiple = 4;       // smaller buffers measure the L2 cache
constexpr std::uint64_t kLeastJudgedBytes = 16 * MiB;  // smaller copies measure their start

class Judge {
 public:
  Judge(std::vector<Metric>& metrics, const RateFacts& facts)
      : metrics_(metrics),
        facts_(facts),
        slice_(facts.device.uuid && facts.device.uuid->starts_with("MIG-")) {}

  RateJudgement run() {
    training();
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
  void hold(std::string_view name, double threshold, const std::string& source,
            std::string_view doubt = {}) {
    for (Metric& metric : metrics_) {
      if (metric.name != name) continue;
      metric.threshold = threshold;
      metric.threshold_source = source;
      if (metric.value >= threshold) continue;
      const std::string text =
          fmt::format("{} is {}, below {}: {}{}", name, format_rate(metric.value),
                      format_rate(threshold), source, doubt);
      (doubt.empty() ? told_.below : told_.unclear).push_back(text);
    }
  }

  // What the link was trained to, while copies run: idle links fall back.
  void training() {
    if (!facts_.link || facts_.device.integrated.value_or(false)) return;
    const LinkFacts& link = *facts_.link;
    const auto now = raw_link_rate(link.now), most = raw_link_rate(link.most);
    const bool judged = facts_.real_link && link.port_seen;
    const bool held = judged && most && !link.limited() && (link.target_read || !link.slow());
    if (now)
      metrics_.push_back({"pcie_link_rate", *now, "B/s", held ? most : std::nullopt,
                          held ? std::optional("what the GPU and the port above it can do: " +
                                               describe_link(link.most))
                               : std::nullopt});
    judge_link(link, link.port_seen ? "the GPU and the port above it" : "the GPU", "the link",
               judged);
    for (const TrainedLink& above : link.above)
      judge_link(above, "both its ends", "a link between the GPU and the processor",
                 facts_.real_link);
  }

  void judge_link(const TrainedLink& link, std::string_view ends, std::string_view what,
                  bool judged) {
    const std::string where =
        fmt::format("{} runs at {} while it copies", what, describe_link(link.now));
    if (link.limited() && !link.narrow() && link.target)
      return note(
          fmt::format("{}: the firmware limits its port to PCIe {}.0", where, *link.target));
    if (!link.narrow() && !link.slow()) return;
    std::string text = fmt::format("{}, where {} can do {}", where, ends, describe_link(link.most));
    if (!judged)
      note(std::move(text) +
           (facts_.real_link ? ", and its port is hidden" : ", as a virtual machine shows it"));
    else if (link.narrow() || link.target_read)
      told_.below.push_back(std::move(text) +
                            "; reseat the GPU and its riser, and check the "
                            "firmware's settings of its slot");
    else
      told_.unclear.push_back(std::move(text) +
                              "; only root can read whether the firmware limits it to that");
  }

  // What copies are held to. A link that may have been trained down sets no limit for itself: where
  // nothing shows what both its ends can do, that is the GPU's greatest.
  struct Limit {
    PcieLink link;
    std::string_view known_by, doubt;
  };
  Limit limit() const {
    const bool hidden = !facts_.real_link || !facts_.link || !facts_.link->port_seen;
    if (!hidden) return {facts_.link->slowest(), "as read under load", {}};
    PcieLink most = facts_.most;
    if (!raw_link_rate(most) && facts_.link) most = facts_.link->gpu_most;
    return {most, "the GPU's greatest link",
            "; its slot, which may carry less, is hidden from here"};
  }

  void pinned_rates() {
    const auto [link, known_by, doubt] = limit();
    const auto raw = raw_link_rate(link);
    if (facts_.excuse) return note("pinned rates are not judged: " + *facts_.excuse);
    if (!raw)
      return note("pinned rates are not judged: the link's generation and width are hidden");
    if (slice_) return note("rates are not judged: a slice of a GPU has a share of each");
    if (facts_.host_bytes < kLeastJudgedBytes)
      return note("pinned rates are not judged: too little was copied at once");
    for (const char* name : {"h2d_pinned_rate", "d2h_pinned_rate"})
      hold(name, kLeastOfLink * *raw,
           fmt::format("{} of the {} that {} carries, {}", kLeastOfLink, format_rate(*raw),
                       describe_link(link), known_by),
           doubt);
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
    const double least =
        *device.memory_bus_bits >= kLeastStackedBits ? kLeastOfStackedMemory : kLeastOfOtherMemory;
    hold("dram_copy_rate", least * most,
         fmt::format("{} of {} bits x 2 x {:.0f} MHz = {}", least, *device.memory_bus_bits,
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
