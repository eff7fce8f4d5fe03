#include "health/bandwidth/test_bandwidth.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/bandwidth/rules.h"
#include "health/bandwidth/run.h"
#include "health/bandwidth/together.h"

namespace gpuready {
namespace {

struct Effort {
  std::uint64_t host_bytes, device_bytes;  // of each buffer
  std::optional<RateEffort> rate;
};
constexpr ByLevel<Effort> kEfforts = {{{16 * MiB, 64 * MiB, {}},
                                       {512 * MiB, 4 * GiB, RateEffort{40, 3}},
                                       {GiB, 4 * GiB, RateEffort{100, 10}}}};

constexpr std::array<std::pair<const char*, const char*>, 3> kTold = {
    {{"h2d_pinned_rate", "; host to device "},
     {"d2h_pinned_rate", ", device to host "},
     {"dram_copy_rate", ", device copy "}}};

}  // namespace

Result<void> BandwidthTest::steps() {
  if (!begin("start")) return {};
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
  auto may = memory_to_take(device_, options_);
  if (!may) return std::unexpected(may.error());
  const std::uint64_t device_bytes = std::min(effort.device_bytes, *may / 2) / 4096 * 4096;
  bytes_ = std::min(host_bytes_to_take(), device_bytes) / 4096 * 4096;
  if (bytes_ == 0)
    return set(
        VerdictStatus::not_tested,
        fmt::format("out of memory: {} of the device's memory may be taken", format_bytes(*may)));
  rate_effort_ = effort_for(effort.rate, bytes_);
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

// Every transfer once.
Result<bool> BandwidthTest::round() {
  for (std::size_t i = 0; i < kHostTransferTable.size(); ++i) {
    const HostTransfer& how = kHostTransferTable[i];
    if (!begin(how.what)) return interrupted();
    const bool here = fault_ && fault_->transfer == i;
    auto good = transfer(how, how.pinned ? *pinned_ : *pageable_, how.what, how.metric,
                         here ? fault_ : std::nullopt);
    if (!good || !*good) return good;
    if (hooks_.partial) hooks_.partial(verdict_);
  }
  for (const bool by_kernel : {false, true}) {
    if (!begin(by_kernel ? "device copy, by kernel" : "device copy")) return interrupted();
    auto good = copy_in_device(by_kernel);
    if (!good || !*good) return good;
  }
  return rate_effort_ ? measure_link() : Result<bool>(true);
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
  if (options_.all_together) {
    set(VerdictStatus::passed,
        "measured while the other GPUs copied as well; this is reported and not judged");
    return;
  }
  set_metric("verified_bytes", static_cast<double>(verified_bytes_), "B");
  std::string reason = fmt::format("{} arrived as sent, each word unique to its place",
                                   format_bytes(verified_bytes_));
  if (!rate_effort_) return conclude_as(VerdictStatus::passed, std::move(reason));
  const RateJudgement judged =
      judge_rates(verdict_.metrics,
                  {device_.info(), options_.reserve_free_bytes > 0, link_, bytes_, a_->bytes()});
  for (const auto& [name, text] : kTold)
    if (const Metric* metric = find_metric(name)) reason += text + format_rate(metric->value);
  if (link_ && link_->reduced())
    notes_.insert(notes_.begin(),
                  fmt::format("the link runs at {} under load, where both ends can do {}",
                              describe_link(link_->now), describe_link(link_->most)));
  notes_.insert(notes_.end(), judged.notes.begin(), judged.notes.end());
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
