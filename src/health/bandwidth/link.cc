// What the bandwidth test measures of a link besides one copy after the other.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "health/bandwidth/run.h"
#include "health/bandwidth/together.h"

namespace gpuready {
namespace {

constexpr double kLinkReadMs = 60;  // of copies, while the link is read
constexpr int kLatencySamples = 200;

}  // namespace

// False ends the test; the verdict is then set.
Result<bool> BandwidthTest::measure_link() {
  if (!begin("NUMA nodes")) return interrupted();
  if (auto good = nodes(); !good || !*good) return good;
  using Step = Result<void> (BandwidthTest::*)();
  for (const auto& [phase, step] :
       {std::pair<const char*, Step>{"both ways", &BandwidthTest::both_ways},
        {"link under load", &BandwidthTest::read_link},
        {"latency", &BandwidthTest::measure_latency}}) {
    if (!begin(phase)) return interrupted();
    if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
  }
  return true;
}

Result<void> BandwidthTest::both_ways() {
  pinned_->filled = false;
  auto both = copy_both_ways(device_, pinned_->buffer, a_->address(), bytes_,
                             rate_effort_->batch_ms * rate_effort_->batches);
  if (!both) return std::unexpected(both.error());
  add_rate("both_ways_rate", both->rate);
  add_rate("h2d_of_both_ways_rate", both->to_device_rate);
  add_rate("d2h_of_both_ways_rate", both->to_host_rate);
  return {};
}

Result<void> BandwidthTest::read_link() {
  const auto& address = device_.info().pci_address;
  const Metric* rate = find_metric("h2d_pinned_rate");
  if (!address || !rate) return {};
  const double copies = std::ceil(rate->value * kLinkReadMs / 1e3 / static_cast<double>(bytes_));
  for (int i = 0; i < static_cast<int>(std::clamp(copies, 1.0, 1000.0)); ++i)
    if (auto done = copy(kHostTransferTable.front(), *pinned_, bytes_); !done) return done;
  // While those run.
  const LinkFacts seen = read_link_facts(host_, *address);
  if (auto done = device_.synchronize({}); !done) return done;
  const double raw = raw_link_rate(seen.now).value_or(0);
  if (!link_ || raw > raw_link_rate(link_->now).value_or(0)) link_ = seen;
  return {};
}

// Medians; of several rounds the least.
Result<void> BandwidthTest::measure_latency() {
  const auto measure = [&](const char* name, auto work) -> Result<void> {
    std::vector<double> samples_ms;
    for (int i = 0; i < kLatencySamples; ++i) {
      const auto start = Clock::now();
      if (auto done = work(); !done) return done;
      if (auto done = device_.synchronize({}); !done) return done;
      samples_ms.push_back(elapsed_ms(start));
    }
    const double middle = median(std::move(samples_ms));
    const Metric* before = find_metric(name);
    set_metric(name, before ? std::min(before->value, middle) : middle, "ms");
    return {};
  };
  pinned_->filled = false;
  void* word = pinned_->buffer.data();
  const DeviceAddress device = a_->address();
  auto done = measure("h2d_latency", [&] { return device_.copy_to_device({}, device, word, 8); });
  if (done)
    done = measure("d2h_latency", [&] { return device_.copy_to_host({}, word, device, 8); });
  if (done) done = measure("kernel_round_trip", [&] { return checker_->fill(device, 0, 0); });
  return done;
}

}  // namespace gpuready
