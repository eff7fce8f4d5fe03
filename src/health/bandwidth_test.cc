#include "health/bandwidth_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "health/bandwidth_check.h"
#include "health/bandwidth_rate.h"
#include "health/bandwidth_together.h"
#include "health/link_facts.h"

namespace gpuready {
namespace {

constexpr double kLeastOfLink = 0.75, kLeastOfMemory = 0.80;
constexpr std::uint64_t kLeastCacheMultiple = 4;       // smaller buffers measure the L2 cache
constexpr std::uint64_t kLeastJudgedBytes = 16 * MiB;  // smaller copies measure their start
constexpr std::uint64_t kProbeBytes = 16 * MiB;  // tells how much a slow link can copy in time
constexpr double kCopyMs = 250;                  // no single copy takes longer
constexpr double kLinkReadMs = 60;               // of copies, while the link is read
constexpr int kLatencySamples = 200;
constexpr std::uint64_t kFullEffortBytes = 64 * MiB;  // less is timed for less long

struct Effort {
  std::uint64_t host_bytes, device_bytes;  // of each buffer
  bool timed;
  RateEffort rate;
};
constexpr Effort effort_of(Level level) {
  switch (level) {
    case Level::quick:
      return {16 * MiB, 64 * MiB, false, {}};
    case Level::standard:
      return {512 * MiB, 4 * GiB, true, {40, 3}};
    case Level::thorough:
      break;
  }
  return {GiB, 4 * GiB, true, {100, 10}};
}

struct HostTransfer {
  std::string_view what, metric;
  bool to_device, pinned, by_kernel;
};
constexpr std::array<HostTransfer, kHostTransfers> kTransfers = {{
    {"host to device", "h2d_pinned_rate", true, true, false},
    {"device to host", "d2h_pinned_rate", false, true, false},
    {"host to device, by kernel", "h2d_kernel_rate", true, true, true},
    {"device to host, by kernel", "d2h_kernel_rate", false, true, true},
    {"host to device, pageable", "h2d_pageable_rate", true, false, false},
    {"device to host, pageable", "d2h_pageable_rate", false, false, false},
}};

class BandwidthTest {
 public:
  BandwidthTest(Device& device, Host& host, const TestOptions& options, const TestHooks& hooks)
      : device_(device),
        host_(host),
        options_(options),
        hooks_(hooks),
        effort_(effort_of(options.level)),
        salts_(options.seed ? *options.seed : random_u64()) {
    verdict_ = begin_verdict("bandwidth", device, options);
  }

  Verdict run() {
    const auto start = Clock::now();
    if (auto done = steps(); !done && verdict_.status != VerdictStatus::failed)
      conclude_with_error(verdict_, device_, done.error(), phase_);
    verdict_.duration_ms = elapsed_ms(start);
    return std::move(verdict_);
  }

 private:
  // A host buffer with what it holds.
  struct Pages {
    HostBuffer buffer;
    std::uint64_t salt = 0;
    bool filled = false;
  };

  void set(VerdictStatus status, std::string reason) {
    verdict_.status = status;
    verdict_.reason = std::move(reason);
  }
  void note(std::string_view text) { notes_.emplace_back(text); }
  bool report(std::string_view phase) {
    phase_ = phase;
    if (hooks_.progress) hooks_.progress({phase_, steps_done_++, 0});
    return !hooks_.cancelled();
  }
  Metric* find(std::string_view name) {
    for (Metric& metric : verdict_.metrics)
      if (metric.name == name) return &metric;
    return nullptr;
  }
  // The best of all rounds.
  void add_rate(std::string_view name, double rate) {
    if (rate <= 0) return;
    if (Metric* metric = find(name))
      metric->value = std::max(metric->value, rate);
    else
      verdict_.metrics.push_back({std::string(name), rate, "B/s", {}, {}});
  }
  bool judge(std::string_view what, const TransferOutcome& outcome, std::uint64_t words,
             std::uint64_t salt) {
    verified_bytes_ += outcome.words * 8;
    const std::uint64_t sum = predicted_sum(words, salt);
    return judge_transfer(verdict_, what, outcome, words, sum, options_.max_reported);
  }
  static std::uint64_t predicted_sum(std::uint64_t words, std::uint64_t salt) {
    return words / 2 * (words - 1) + words * salt;  // words is even
  }

  Result<void> steps();
  Result<bool> set_up();
  Result<bool> round();
  Result<bool> transfer(const HostTransfer& how, Pages& pages, std::string_view what,
                        std::string_view metric, const std::optional<TransferFault>& fault);
  Result<bool> copy_in_device(bool by_kernel);
  Result<bool> nodes();
  Result<void> read_link();
  Result<void> measure_latency();
  void judge_rates();
  void conclude();

  Device& device_;
  Host& host_;
  const TestOptions& options_;
  const TestHooks& hooks_;
  Effort effort_;
  Verdict verdict_;
  TransferSalts salts_;
  std::string_view phase_ = "start";
  std::uint64_t steps_done_ = 0, verified_bytes_ = 0, bytes_ = 0;
  std::optional<TransferFault> fault_;
  std::optional<TransferChecker> checker_;
  std::optional<StreamTimer> timer_;
  std::optional<DeviceBuffer> a_, b_;
  std::optional<Pages> pinned_, pageable_;
  std::optional<LinkFacts> link_;
  std::vector<std::string> below_, notes_;
};

Result<void> BandwidthTest::steps() {
  if (!report("start")) return {};
  if (auto ready = set_up(); !ready || !*ready)
    return ready ? Result<void>{} : std::unexpected(ready.error());
  if (options_.all_together) {
    phase_ = "all together";
    auto done = measure_together(device_, pinned_->buffer, a_->address(),
                                 std::min(bytes_, 2 * kLinkPieceBytes), hooks_, verdict_);
    if (!done) return done;
    conclude();
    return {};
  }
  const auto start = Clock::now();
  do {
    auto good = round();
    if (!good) return std::unexpected(good.error());
    if (!*good) return {};
  } while (elapsed_ms(start) < options_.duration_s.value_or(0) * 1e3);
  conclude();
  return {};
}

Result<bool> BandwidthTest::set_up() {
  auto memory = device_.memory();
  if (!memory) return std::unexpected(memory.error());
  std::uint64_t may =
      memory->free_bytes - std::min(memory->free_bytes, options_.reserve_free_bytes);
  may -= may / 64;  // for the driver's own needs
  if (options_.max_bytes) may = std::min(may, *options_.max_bytes);
  const std::uint64_t device_bytes = std::min(effort_.device_bytes, may / 2) / 4096 * 4096;
  std::uint64_t host_bytes = effort_.host_bytes;
  // Two buffers of the host's memory are taken; both together at most a quarter of what is free.
  if (const auto meminfo = host_.read_file("/proc/meminfo"))
    for (const auto line : lines(*meminfo))
      if (const auto rest = after_prefix(line, "MemAvailable:"))
        if (const auto kib = parse_uint(rest->substr(0, rest->rfind(' '))))
          host_bytes = std::min(host_bytes, *kib * KiB / 8);
  bytes_ = std::min(host_bytes, device_bytes) / 4096 * 4096;
  if (bytes_ == 0) {
    set(VerdictStatus::not_tested,
        fmt::format("out of memory: {} of the device's memory may be taken", format_bytes(may)));
    return false;
  }
  effort_.rate.batch_ms *=
      std::clamp(static_cast<double>(bytes_) / static_cast<double>(kFullEffortBytes), 0.02, 1.0);
  if (options_.inject && options_.inject->kind == FaultClass::copy)
    fault_ = place_transfer_fault(options_.inject->seed, kHostTransfers, bytes_ / 8);

  auto checker = TransferChecker::make(device_);
  if (!checker) return std::unexpected(checker.error());
  checker_.emplace(std::move(*checker));
  if (auto ready = prepare_copy_kernel(device_); !ready) return std::unexpected(ready.error());
  auto timer = StreamTimer::make(device_, StreamId{});
  if (!timer) return std::unexpected(timer.error());
  timer_.emplace(std::move(*timer));
  for (auto* buffer : {&a_, &b_}) {
    auto made = DeviceBuffer::make(device_, device_bytes);
    if (!made) return std::unexpected(made.error());
    buffer->emplace(std::move(*made));
  }
  auto pinned = HostBuffer::pinned(device_, bytes_);
  if (!pinned) return std::unexpected(pinned.error());
  pinned_.emplace(Pages{std::move(*pinned)});
  if (options_.all_together) return true;
  auto pageable = HostBuffer::pageable(bytes_);
  if (!pageable) return std::unexpected(pageable.error());
  pageable_.emplace(Pages{std::move(*pageable)});
  return true;
}

// Every transfer once. False ends the test; the verdict is then set.
Result<bool> BandwidthTest::round() {
  const auto interrupted = [&] {
    set(VerdictStatus::inconclusive, fmt::format("interrupted before {}", phase_));
    return false;
  };
  for (std::size_t i = 0; i < kTransfers.size(); ++i) {
    const HostTransfer& how = kTransfers[i];
    if (!report(how.what)) return interrupted();
    const bool here = fault_ && fault_->transfer == i;
    auto good = transfer(how, how.pinned ? *pinned_ : *pageable_, how.what, how.metric,
                         here ? fault_ : std::nullopt);
    if (!good || !*good) return good;
    if (hooks_.partial) hooks_.partial(verdict_);
  }
  for (const bool by_kernel : {false, true}) {
    if (!report(by_kernel ? "device copy, by kernel" : "device copy")) return interrupted();
    auto good = copy_in_device(by_kernel);
    if (!good || !*good) return good;
  }
  if (!effort_.timed) return true;
  if (!report("NUMA nodes")) return interrupted();
  if (auto good = nodes(); !good || !*good) return good;
  if (!report("both ways")) return interrupted();
  auto both = copy_both_ways(device_, pinned_->buffer, a_->address(), bytes_,
                             effort_.rate.batch_ms * effort_.rate.batches);
  if (!both) return std::unexpected(both.error());
  pinned_->filled = false;
  add_rate("both_ways_rate", both->rate);
  add_rate("h2d_of_both_ways_rate", both->to_device_rate);
  add_rate("d2h_of_both_ways_rate", both->to_host_rate);
  if (!report("link under load")) return interrupted();
  if (auto done = read_link(); !done) return std::unexpected(done.error());
  if (!report("latency")) return interrupted();
  if (auto done = measure_latency(); !done) return std::unexpected(done.error());
  return true;
}

Result<bool> BandwidthTest::transfer(const HostTransfer& how, Pages& pages, std::string_view what,
                                     std::string_view metric,
                                     const std::optional<TransferFault>& fault) {
  std::uint64_t bytes = std::min(bytes_, pages.buffer.bytes());
  const DeviceAddress device = a_->address();
  const auto copy = [&](std::uint64_t size) -> Result<void> {
    if (how.by_kernel)
      return how.to_device ? copy_by_kernel(device_, {}, device, pages.buffer.address(), size)
                           : copy_by_kernel(device_, {}, pages.buffer.address(), device, size);
    return how.to_device ? device_.copy_to_device({}, device, pages.buffer.data(), size)
                         : device_.copy_to_host({}, pages.buffer.data(), device, size);
  };
  if (effort_.timed && !fault && bytes > kProbeBytes) {
    if (auto done = timer_->start(); !done) return std::unexpected(done.error());
    if (auto done = copy(kProbeBytes); !done) return std::unexpected(done.error());
    auto ms = timer_->stop_ms();
    if (!ms) return std::unexpected(ms.error());
    const double most = static_cast<double>(kProbeBytes) * kCopyMs / std::max(*ms, 1e-3);
    if (most < static_cast<double>(bytes))
      bytes = std::max(kProbeBytes, static_cast<std::uint64_t>(most) / 4096 * 4096);
    if (!how.to_device) pages.filled = false;
  }
  const std::uint64_t words = bytes / 8;
  // The receiving side holds another transfer's words before, and the sending side this one's.
  const std::uint64_t stale = salts_.next();
  if (how.to_device) {
    if (!pages.filled) {
      pages.salt = salts_.next();
      fill_host(pages.buffer.data(), pages.buffer.bytes() / 8, pages.salt);
      pages.filled = true;
    }
    if (auto done = checker_->fill(device, words, stale); !done)
      return std::unexpected(done.error());
  } else {
    pages.salt = stale;
    pages.filled = false;  // beyond `bytes` it holds something else
    if (auto done = checker_->fill(device, words, stale); !done)
      return std::unexpected(done.error());
  }
  if (effort_.timed) {
    auto rate =
        best_rate(*timer_, static_cast<double>(bytes), effort_.rate, [&] { return copy(bytes); });
    if (!rate) return std::unexpected(rate.error());
    add_rate(metric, *rate);
  } else if (auto done = copy(bytes); !done) {
    return std::unexpected(done.error());
  }
  if (how.to_device) {
    auto outcome = checker_->check(device, words, pages.salt, fault);
    if (!outcome) return std::unexpected(outcome.error());
    return judge(what, *outcome, words, pages.salt);
  }
  if (auto done = device_.synchronize({}); !done) return std::unexpected(done.error());
  return judge(what, check_host(pages.buffer.data(), words, pages.salt, fault), words, pages.salt);
}

Result<bool> BandwidthTest::copy_in_device(bool by_kernel) {
  const std::uint64_t bytes = a_->bytes(), words = bytes / 8;
  const std::uint64_t salt = salts_.next(), stale = salts_.next();
  if (auto done = checker_->fill(a_->address(), words, salt); !done)
    return std::unexpected(done.error());
  if (auto done = checker_->fill(b_->address(), words, stale); !done)
    return std::unexpected(done.error());
  const auto copy = [&]() -> Result<void> {
    return by_kernel ? copy_by_kernel(device_, {}, b_->address(), a_->address(), bytes, bytes)
                     : device_.copy_on_device({}, b_->address(), a_->address(), bytes);
  };
  if (effort_.timed && options_.copy_traffic_bytes > 0) {
    // A batch moves at least the traffic asked for, however fast it is.
    const std::uint64_t copies = (options_.copy_traffic_bytes + 2 * bytes - 1) / (2 * bytes);
    auto rate = best_rate(*timer_, static_cast<double>(2 * bytes * copies), effort_.rate,
                          [&]() -> Result<void> {
                            for (std::uint64_t i = 0; i < copies; ++i)
                              if (auto done = copy(); !done) return done;
                            return {};
                          });
    if (!rate) return std::unexpected(rate.error());
    add_rate(by_kernel ? "dram_copy_kernel_rate" : "dram_copy_engine_rate", *rate);
    add_rate("dram_copy_rate", *rate);
  } else if (auto done = copy(); !done) {
    return std::unexpected(done.error());
  }
  auto outcome = checker_->check(b_->address(), words, salt);
  if (!outcome) return std::unexpected(outcome.error());
  return judge(by_kernel ? "device copy, by kernel" : "device copy", *outcome, words, salt);
}

// Pinned memory of each NUMA node; where there is one, that is what was measured already.
Result<bool> BandwidthTest::nodes() {
  const auto nodes = memory_nodes(host_);
  if (nodes.size() < 2) return true;
  for (const int node : nodes) {
    auto buffer = HostBuffer::on_node(device_, node, std::min(bytes_, 256 * MiB));
    if (!buffer) {
      const std::string note =
          fmt::format("NUMA node {} not measured: {}", node, buffer.error().message);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      continue;
    }
    Pages pages{std::move(*buffer)};
    for (const HostTransfer& how : std::span(kTransfers).first(2)) {
      const std::string name = fmt::format("{}_node{}", how.metric, node);
      auto good =
          transfer(how, pages, fmt::format("{}, NUMA node {}", how.what, node), name, std::nullopt);
      if (!good || !*good) return good;
      // The link is judged by its best node.
      if (const Metric* measured = find(name)) add_rate(how.metric, double{measured->value});
    }
  }
  return true;
}

Result<void> BandwidthTest::read_link() {
  const auto& address = device_.info().pci_address;
  const Metric* rate = find("h2d_pinned_rate");
  if (!address || !rate) return {};
  const double copies = std::ceil(rate->value * kLinkReadMs / 1e3 / static_cast<double>(bytes_));
  for (int i = 0; i < static_cast<int>(std::clamp(copies, 1.0, 1000.0)); ++i) {
    auto done = device_.copy_to_device({}, a_->address(), pinned_->buffer.data(), bytes_);
    if (!done) return done;
  }
  // While those run.
  const LinkFacts seen = read_link_facts(host_, *address);
  if (auto done = device_.synchronize({}); !done) return done;
  const double raw = raw_link_rate(seen.now).value_or(0);
  if (!link_ || raw > raw_link_rate(link_->now).value_or(0)) link_ = seen;
  return {};
}

Result<void> BandwidthTest::measure_latency() {
  const auto median_ms = [&](auto work) -> Result<double> {
    std::vector<double> samples;
    for (int i = 0; i < kLatencySamples; ++i) {
      const auto start = Clock::now();
      if (auto done = work(); !done) return std::unexpected(done.error());
      if (auto done = device_.synchronize({}); !done) return std::unexpected(done.error());
      samples.push_back(elapsed_ms(start));
    }
    std::nth_element(samples.begin(), samples.begin() + kLatencySamples / 2, samples.end());
    return samples[kLatencySamples / 2];
  };
  const auto add = [&](const char* name, auto work) -> Result<void> {
    auto ms = median_ms(work);
    if (!ms) return std::unexpected(ms.error());
    if (Metric* metric = find(name))
      metric->value = std::min(metric->value, *ms);
    else
      verdict_.metrics.push_back({name, *ms, "ms", {}, {}});
    return {};
  };
  void* word = pinned_->buffer.data();
  if (auto done =
          add("h2d_latency", [&] { return device_.copy_to_device({}, a_->address(), word, 8); });
      !done)
    return done;
  if (auto done =
          add("d2h_latency", [&] { return device_.copy_to_host({}, word, a_->address(), 8); });
      !done)
    return done;
  pinned_->filled = false;
  return add("kernel_round_trip", [&] { return checker_->fill(a_->address(), 0, 0); });
}

// Sets the thresholds that can be derived here; what stays below one is listed.
void BandwidthTest::judge_rates() {
  const DeviceInfo& info = device_.info();
  const bool shared = options_.reserve_free_bytes > 0;
  const bool slice = info.uuid && info.uuid->starts_with("MIG-");
  const auto hold = [&](Metric& metric, double threshold, std::string source) {
    metric.threshold = threshold;
    metric.threshold_source = std::move(source);
    if (metric.value < threshold)
      below_.push_back(fmt::format("{} is {}, below {}: {}", metric.name, format_rate(metric.value),
                                   format_rate(threshold), *metric.threshold_source));
  };
  if (shared) {
    note("rates are not judged: others may use this GPU");
    return;
  }
  const auto raw = link_ ? raw_link_rate(link_->now) : std::nullopt;
  if (info.integrated.value_or(false)) {
    note("rates are not judged: the device shares the host's memory");
    return;
  }
  if (!raw)
    note("pinned rates are not judged: the link's generation and width are hidden");
  else if (slice || bytes_ < kLeastJudgedBytes)
    note(slice ? "rates are not judged: a slice of a GPU has a share of each"
               : "pinned rates are not judged: too little was copied at once");
  else
    for (const char* name : {"h2d_pinned_rate", "d2h_pinned_rate"})
      if (Metric* metric = find(name))
        hold(*metric, kLeastOfLink * *raw,
             fmt::format("{} of the {} that {} carries, as read under load", kLeastOfLink,
                         format_rate(*raw), describe_link(link_->now)));
  Metric* copy = find("dram_copy_rate");
  if (!copy || slice) return;
  const std::uint64_t cached = kLeastCacheMultiple * info.l2_cache_bytes.value_or(0);
  if (!info.memory_bus_bits || !info.memory_clock_khz) {
    note("the copy rate is not judged: bus width and memory clock are not told");
  } else if (a_->bytes() < std::max(cached, kLeastJudgedBytes)) {
    note("the copy rate is not judged: the caches hold what was copied");
  } else {
    const double most =
        *info.memory_bus_bits / 8.0 * 2 * (static_cast<double>(*info.memory_clock_khz) * 1e3);
    hold(*copy, kLeastOfMemory * most,
         fmt::format("{} of {} bits x 2 x {:.0f} MHz = {}", kLeastOfMemory, *info.memory_bus_bits,
                     static_cast<double>(*info.memory_clock_khz) / 1e3, format_rate(most)));
  }
}

void BandwidthTest::conclude() {
  if (hooks_.cancelled()) return set(VerdictStatus::inconclusive, "interrupted");
  if (options_.all_together)
    return set(VerdictStatus::passed,
               "measured while the other GPUs copied as well; this is reported and not judged");
  verdict_.metrics.push_back({"verified_bytes", static_cast<double>(verified_bytes_), "B", {}, {}});
  std::string reason = fmt::format("{} arrived as sent, each word unique to its place",
                                   format_bytes(verified_bytes_));
  if (effort_.timed) {
    judge_rates();
    for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
             {"h2d_pinned_rate", "; host to device {}"},
             {"d2h_pinned_rate", ", device to host {}"},
             {"dram_copy_rate", ", device copy {}"}})
      if (const Metric* metric = find(name))
        reason += fmt::format(fmt::runtime(text), format_rate(metric->value));
    if (link_ && link_->reduced())
      notes_.insert(notes_.begin(),
                    fmt::format("the link runs at {} under load, where both ends "
                                "can do {}",
                                describe_link(link_->now), describe_link(link_->most)));
  }
  if (!below_.empty()) {
    reason = "data arrived as sent, but " + join(below_, "; ");
    set(VerdictStatus::failed, std::move(reason));
  } else {
    set(VerdictStatus::passed, std::move(reason));
  }
  if (!notes_.empty()) verdict_.reason += "; " + join(notes_, "; ");
}

}  // namespace

Verdict test_bandwidth(Device& device, Host& host, const TestOptions& options,
                       const TestHooks& hooks) {
  return BandwidthTest(device, host, options, hooks).run();
}

Verdict test_bandwidth(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return test_bandwidth(device, *make_live_host(), options, hooks);
}

}  // namespace gpuready
