#include "health/bandwidth/test_bandwidth.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/bandwidth/rules.h"
#include "health/bandwidth/run.h"
#include "health/bandwidth/together.h"

namespace gpuready {
namespace {

constexpr std::size_t kDeviceCopies = 2;
constexpr std::size_t kLinkTransfers = 4;  // both ways, while the link is read, latency in and out

struct Effort {
  std::uint64_t host_bytes, device_bytes;  // of each buffer
  std::optional<CopyEffort> copies;
};
constexpr ByLevel<Effort> kEfforts = {{{16 * MiB, 64 * MiB, {}},
                                       {512 * MiB, 4 * GiB, CopyEffort{100, 3}},
                                       {GiB, 4 * GiB, CopyEffort{250, 10}}}};

constexpr std::array<std::pair<const char*, const char*>, 3> kReportedRates = {
    {{"h2d_pinned_rate", "; host to device "},
     {"d2h_pinned_rate", ", device to host "},
     {"dram_copy_rate", ", device copy "}}};

}  // namespace

Result<void> BandwidthTest::steps() {
  if (!begin("start")) return {};
  if (!TRY(set_up())) return {};
  if (options_.all_together) {
    phase_ = "all together";
    if (TRY(together())) conclude();
    return {};
  }
  const auto start = Clock::now();
  do {
    if (!TRY(round())) return {};
  } while (elapsed_ms(start) < options_.duration_s.value_or(0) * 1e3);
  conclude();
  return {};
}

// Two buffers of the host's memory are taken; both together at most a quarter of what is free, and
// no more than this test's share of what the machine or the container has.
std::uint64_t BandwidthTest::host_bytes_to_take() const {
  std::uint64_t bytes = at_level(kEfforts, options_.level).host_bytes;
  if (options_.max_host_bytes) bytes = std::min(bytes, *options_.max_host_bytes / 2);
  if (const auto meminfo = host_.read_file("/proc/meminfo"))
    for (const auto line : lines(*meminfo))
      if (const auto rest = after_prefix(line, "MemAvailable:"))
        if (const auto kib = parse_uint(rest->substr(0, rest->rfind(' '))))
          bytes = std::min(bytes, *kib * KiB / 8);
  return bytes;
}

Result<bool> BandwidthTest::set_up() {
  const Effort& effort = at_level(kEfforts, options_.level);
  const std::uint64_t may = TRY(memory_share(device_, options_)).take_bytes;
  const std::uint64_t device_bytes = std::min(effort.device_bytes, may / 2) / 4096 * 4096;
  bytes_ = std::min(host_bytes_to_take(), device_bytes) / 4096 * 4096;
  if (bytes_ == 0)
    return set(
        VerdictStatus::not_tested,
        fmt::format("out of memory: {} of the device's memory may be taken", format_bytes(may)));
  effort_ = effort.copies;
  if (effort_) nodes_ = memory_nodes(host_);
  if (nodes_.size() < 2) nodes_.clear();
  draw_fault(FaultClass::copy,
             options_.all_together ? kSharedSlots
             : effort_ ? kHostTransfers + kDeviceCopies + 2 * nodes_.size() + kLinkTransfers
                       : kHostTransfers + kDeviceCopies);

  checker_.emplace(TRY(TransferChecker::make(device_)));
  TRY(prepare_copy_kernel(device_));
  timer_.emplace(TRY(EventTimer::make(device_, StreamId{})));
  for (auto* buffer : {&a_, &b_}) buffer->emplace(TRY(DeviceBuffer::make(device_, device_bytes)));
  pinned_.emplace(Pages{TRY(HostBuffer::pinned(device_, bytes_))});
  if (!options_.all_together) pageable_.emplace(Pages{TRY(HostBuffer::pageable(bytes_))});
  return true;
}

// Every transfer once.
Result<bool> BandwidthTest::round() {
  begin_round();
  for (const HostTransfer& how : kHostTransferTable) {
    if (!begin(how.what)) return interrupted();
    if (!TRY(transfer(how, how.pinned ? *pinned_ : *pageable_, phase_, how.metric))) return false;
    if (hooks_.partial) hooks_.partial(verdict_);
  }
  for (const bool by_kernel : {false, true}) {
    if (!begin(by_kernel ? "device copy, by kernel" : "device copy")) return interrupted();
    if (!TRY(copy_in_device(by_kernel))) return false;
  }
  return effort_ ? measure_link() : Result<bool>(true);
}

void BandwidthTest::conclude() {
  const auto conclude_as = [&](VerdictStatus status, std::string reason) {
    if (!notes_.empty()) reason += "; " + join(notes_, "; ");
    set(status, std::move(reason));
  };
  if (hooks_.cancelled()) {
    set(VerdictStatus::inconclusive, "interrupted");
    return;
  }
  set_metric("verified_bytes", static_cast<double>(verified_bytes_), "B");
  std::string reason = fmt::format("{} arrived as sent, each word unique to its place",
                                   format_bytes(verified_bytes_));
  if (options_.all_together) {
    set(VerdictStatus::passed,
        reason + "; rates while the other GPUs copied as well are reported and not judged");
    return;
  }
  if (!effort_) return conclude_as(VerdictStatus::passed, std::move(reason));
  const RateJudgement judged =
      judge_rates(verdict_.metrics, {device_.info(),
                                     options_.reserve_free_bytes > 0,
                                     link_,
                                     options_.real_link,
                                     bytes_,
                                     a_->bytes(),
                                     {options_.link_generation, options_.link_width},
                                     options_.link_excuse});
  for (const auto& [name, text] : kReportedRates)
    if (const Metric* metric = find_metric(name)) reason += text + format_rate(metric->value);
  notes_.insert(notes_.end(), judged.notes.begin(), judged.notes.end());
  if (judged.below.empty() && !judged.unclear.empty())
    return conclude_as(VerdictStatus::inconclusive,
                       "data arrived as sent, but " + join(judged.unclear, "; "));
  if (judged.below.empty()) return conclude_as(VerdictStatus::passed, std::move(reason));
  conclude_as(VerdictStatus::failed, "data arrived as sent, but " + join(judged.below, "; "));
}

Verdict test_bandwidth(Device& device, Host& host, const TestOptions& options,
                       const TestHooks& hooks) {
  return BandwidthTest(device, host, options, hooks).run();
}

Verdict test_bandwidth(Device& device, const TestOptions& options, const TestHooks& hooks) {
  return test_bandwidth(device, *make_live_host(), options, hooks);
}

}  // namespace gpuready
