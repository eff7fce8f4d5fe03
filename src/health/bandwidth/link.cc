// What the bandwidth test measures of a link besides one copy after the other.
#include <algorithm>

#include "base/statistics.h"
#include "health/bandwidth/run.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kMostReadCopies = 8;  // while the link is read
constexpr std::uint64_t kLatencySamples = 200;

}  // namespace

// False ends the test; the verdict is then set.
Result<bool> BandwidthTest::measure_link() {
  using Step = Result<bool> (BandwidthTest::*)();
  for (const auto& [phase, step] :
       {std::pair<const char*, Step>{"NUMA nodes", &BandwidthTest::nodes},
        {"both ways", &BandwidthTest::both_ways},
        {"link under load", &BandwidthTest::read_link},
        {"latency", &BandwidthTest::measure_latency}}) {
    if (!begin(phase)) return interrupted();
    if (!TRY((this->*step)())) return false;
  }
  return true;
}

// From the first half of the pinned memory into the GPU's, and from there into the second half.
Lane BandwidthTest::lane_in(std::uint64_t bytes) {
  fill(*pinned_);
  return {"host to device, both ways", TransferMemory(pinned_->buffer.data()), on_device(),
          bytes / 8, pinned_->holds};
}
Lane BandwidthTest::lane_out(std::uint64_t bytes) {
  auto* memory = static_cast<unsigned char*>(pinned_->buffer.data());
  return {"device to host, both ways", on_device(half_bytes()),
          TransferMemory(memory + half_bytes()), bytes / 8};
}
Result<void> BandwidthTest::copy_in(StreamId stream, std::uint64_t bytes) {
  return device_.copy_to_device(stream, a_->address(), pinned_->buffer.data(), bytes);
}
Result<void> BandwidthTest::copy_out(StreamId stream, std::uint64_t bytes) {
  auto* memory = static_cast<unsigned char*>(pinned_->buffer.data());
  return device_.copy_to_host(stream, memory + half_bytes(), a_->address() + half_bytes(), bytes);
}

// Two streams at once: by the host's clock from the first byte to the last, and each way by its own
// events.
Result<bool> BandwidthTest::both_ways() {
  const Metric* rate = find_metric("h2d_pinned_rate");
  const std::uint64_t bytes = rate ? bytes_in_time(rate->value, half_bytes()) : half_bytes();
  const auto in = TRY(DeviceStream::make(device_)), out = TRY(DeviceStream::make(device_));
  auto in_timer = TRY(EventTimer::make(device_, in.id()));
  auto out_timer = TRY(EventTimer::make(device_, out.id()));
  begin_transfer(static_cast<std::uint64_t>(effort_->copies));
  bool good = true;
  for (int i = 0; good && i < effort_->copies; ++i) {
    const Lane lanes[] = {lane_in(bytes), lane_out(bytes)};
    good = TRY(copy_checked(lanes, [&]() -> Result<void> {
      const auto start = Clock::now();
      TRY(in_timer.start());
      TRY(out_timer.start());
      TRY(copy_in(in.id(), bytes));
      TRY(copy_out(out.id(), bytes));
      const double in_ms = TRY(in_timer.stop_ms()), out_ms = TRY(out_timer.stop_ms());
      const auto rate_in = [&](double ms) {
        return static_cast<double>(bytes) / (std::max(ms, 1e-6) / 1e3);
      };
      add_rate("both_ways_rate", 2 * rate_in(elapsed_ms(start)));
      add_rate("h2d_of_both_ways_rate", rate_in(in_ms));
      add_rate("d2h_of_both_ways_rate", rate_in(out_ms));
      return {};
    }));
  }
  pinned_->holds.reset();
  return good;
}

// While copies run, each into a part of the GPU's memory of its own.
Result<bool> BandwidthTest::read_link() {
  const auto& address = device_.info().pci_address;
  const Metric* rate = find_metric("h2d_pinned_rate");
  begin_transfer(1);
  fill(*pinned_);
  const std::uint64_t bytes = rate ? bytes_in_time(rate->value, bytes_) : bytes_;
  const std::uint64_t copies = std::clamp<std::uint64_t>(a_->bytes() / bytes, 1, kMostReadCopies);
  std::vector<Lane> lanes;
  for (std::uint64_t i = 0; i < copies; ++i)
    lanes.push_back({"host to device, while the link was read",
                     TransferMemory(pinned_->buffer.data()), on_device(i * bytes), bytes / 8,
                     pinned_->holds});
  return copy_checked(lanes, [&]() -> Result<void> {
    for (std::uint64_t i = 0; i < copies; ++i)
      TRY(device_.copy_to_device({}, a_->address() + i * bytes, pinned_->buffer.data(), bytes));
    const LinkFacts seen = address ? read_link_facts(host_, *address) : LinkFacts{};
    TRY(device_.synchronize({}));
    const double raw = raw_link_rate(seen.now).value_or(0);
    if (address && (!link_ || raw > raw_link_rate(link_->now).value_or(0))) link_ = seen;
    return {};
  });
}

// Of several rounds the least.
void BandwidthTest::set_least(const char* name, double ms) {
  const Metric* before = find_metric(name);
  set_metric(name, before ? std::min(before->value, ms) : ms, "ms");
}

Result<bool> BandwidthTest::measure_latency() {
  for (const auto& [name, to_device] :
       {std::pair("h2d_latency", true), std::pair("d2h_latency", false)})
    if (!TRY(latency(name, to_device))) return false;
  return kernel_round_trip();
}

// The median of copies of a word, each of another one.
Result<bool> BandwidthTest::latency(const char* name, bool to_device) {
  auto* host = static_cast<std::uint64_t*>(pinned_->buffer.data());
  const DeviceAddress device = a_->address();
  begin_transfer(1);
  pinned_->holds.reset();
  const std::uint64_t words = std::min(kLatencySamples, bytes_ / 8 / 2 * 2);
  const TransferMemory pages(host);
  const Lane lane{phase_, to_device ? pages : on_device(), to_device ? on_device() : pages, words};
  return copy_checked({&lane, 1}, [&]() -> Result<void> {
    std::vector<double> samples_ms;
    for (std::uint64_t i = 0; i < words; ++i) {
      const auto start = Clock::now();
      TRY(to_device ? device_.copy_to_device({}, device + 8 * i, host + i, 8)
                    : device_.copy_to_host({}, host + i, device + 8 * i, 8));
      TRY(device_.synchronize({}));
      samples_ms.push_back(elapsed_ms(start));
    }
    set_least(name, median(std::move(samples_ms)));
    return {};
  });
}

Result<bool> BandwidthTest::kernel_round_trip() {
  std::vector<double> samples_ms;
  const std::uint64_t salt = salts_.next();
  const TransferOutcome outcome =
      TRY(checker_->round_trips(a_->address(), kLatencySamples, salt, samples_ms));
  set_least("kernel_round_trip", median(std::move(samples_ms)));
  return judge_transfer(verdict_, "launches of a kernel", outcome, 2 * kLatencySamples,
                        kLatencySamples * transfer_sum(2, salt), options_.max_reported);
}

}  // namespace gpuready
