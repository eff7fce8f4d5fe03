#include "health/peers/test_peers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/peers/rules.h"
#include "health/peers/run.h"
#include "health/peers/sum.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kMostSumBytes = 64 * MiB;  // the host predicts each word's sum
constexpr std::uint64_t kTimedSumBytes = 512 * MiB;
constexpr std::uint64_t kLeastJudgedBytes = 64 * MiB;
constexpr double kPcieMost = 130e9;  // no PCIe x16 up to generation 6 carries more one way
constexpr double kSumLimitMs = 60'000;

struct Effort {
  std::uint64_t bytes;  // of each of two buffers on either GPU
  std::optional<CopyEffort> copies;
};
constexpr ByLevel<Effort> kEfforts = {
    {{16 * MiB, {}}, {2 * GiB, CopyEffort{40, 3}}, {2 * GiB, CopyEffort{100, 10}}}};

// The GPU that acts reads or writes the memory of the other.
constexpr std::array<PeerTransfer, 6> kTransfers = {{
    {PeerWay::loads, "peer loads", {}},
    {PeerWay::stores, "peer stores", {}},
    {PeerWay::push_engine, "copy to peer", "peer_write_rate"},
    {PeerWay::pull_engine, "copy from peer", "peer_read_rate"},
    {PeerWay::push_kernel, "copy to peer, by kernel", "peer_kernel_write_rate"},
    {PeerWay::pull_kernel, "copy from peer, by kernel", "peer_kernel_read_rate"},
}};

}  // namespace

Result<void> PeersTest::steps() {
  if (!begin("access")) return interrupted(), Result<void>{};
  for (auto step : {&PeersTest::reach, &PeersTest::set_up})
    if (auto good = (this->*step)(); !good || !*good)
      return good ? Result<void>{} : std::unexpected(good.error());
  const auto start = Clock::now();
  do {
    auto good = TRY(round());
    if (!good) return {};
    if (hooks_.partial) hooks_.partial(verdict_);
  } while (elapsed_ms(start) < options_.duration_s.value_or(0) * 1e3);
  if (!begin("sum through NCCL")) return interrupted(), Result<void>{};
  if (auto good = sum(); !good || !*good)
    return good ? Result<void>{} : std::unexpected(good.error());
  conclude();
  return {};
}

// Both ways are granted, or the verdict says why not.
Result<bool> PeersTest::reach() {
  // Between GPUs that NVLink joins, no access is a fault; elsewhere the platform may not have it.
  const auto refused = [&](std::string why) {
    return set(nvlink_told() ? VerdictStatus::failed : VerdictStatus::not_supported,
               nvlink_told() ? why + ", though NVLink joins them" : std::move(why));
  };
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    Device& device = *sides_[i].device;
    Device& peer = *sides_[1 - i].device;
    const char* which = i == 0 ? "the first" : "the second";
    auto can = TRY(device.can_access_peer(peer));
    if (!can)
      return refused(
          fmt::format("the driver grants {} GPU no access to the other's memory "
                      "(cuDeviceCanAccessPeer)",
                      which));
    if (auto enabled = device.enable_peer_access(peer); !enabled) {
      if (device.fault_of(enabled.error()) != DeviceFault::none)
        return std::unexpected(enabled.error());
      return refused(fmt::format("{} GPU gets no access to the other's memory: {}", which,
                                 enabled.error().message));
    }
  }
  auto facts = sides_[0].device->peer_facts(*sides_[1].device);
  if (facts) facts_ = *facts;
  return true;
}

Result<bool> PeersTest::set_up() {
  const Effort& effort = at_level(kEfforts, options_.level);
  std::uint64_t bytes = effort.bytes;
  for (PeerGpu& side : sides_) {
    bytes = std::min(bytes, TRY(memory_share(*side.device, options_)).take_bytes / 2);
  }
  bytes_ = bytes / 4096 * 4096;
  if (bytes_ < kPeerCounters * 8)
    return set(VerdictStatus::not_tested, "out of memory: too little of it may be taken on both");
  effort_ = effort.copies;
  // Each way, and both at once.
  draw_fault(FaultClass::peer_copy, 2 * kTransfers.size() + (effort_ ? 2 : 0));
  for (PeerGpu& side : sides_)
    if (auto done = set_up(side); !done) return std::unexpected(done.error());
  return true;
}

Result<void> PeersTest::set_up(PeerGpu& side) {
  side.checker.emplace(TRY(TransferChecker::make(*side.device)));
  TRY(prepare_copy_kernel(*side.device));
  side.timer.emplace(TRY(EventTimer::make(*side.device, StreamId{})));
  for (auto* buffer : {&side.source, &side.target}) {
    buffer->emplace(TRY(DeviceBuffer::make(*side.device, bytes_)));
  }
  return {};
}

Result<bool> PeersTest::round() {
  begin_round();
  for (const bool back : {false, true}) {
    PeerGpu& actor = sides_[back ? 1 : 0];
    PeerGpu& other = sides_[back ? 0 : 1];
    for (const PeerTransfer& how : kTransfers) {
      if (!begin(how.what)) return interrupted();
      if (!TRY(transfer(actor, other, how, back))) return false;
    }
  }
  if (!begin("peer atomics")) return interrupted();
  const bool have = TRY(have_atomics());
  for (PeerGpu& owner : sides_)
    if (have && !TRY(atomics(owner))) return false;
  if (!effort_) return true;
  for (const bool by_kernel : {false, true}) {
    if (!begin("both ways")) return interrupted();
    if (!TRY(both_ways(by_kernel))) return false;
  }
  return true;
}

Result<bool> PeersTest::sum() {
  const auto side = [](PeerGpu& of) {
    return PeerSide{of.device, &*of.checker, of.source->address(), of.target->address()};
  };
  const auto alive = [this] { return begin("sum through NCCL"); };
  auto outcome =
      TRY(test_peer_sum(side(sides_[0]), side(sides_[1]), std::min(bytes_, kMostSumBytes),
                        std::min(bytes_, kTimedSumBytes), salts_, effort_, kSumLimitMs, alive,
                        options_.max_reported, verdict_));
  abandoned_ = outcome.abandoned;
  if (hooks_.cancelled()) return interrupted();
  if (outcome.status == VerdictStatus::failed) return false;
  if (outcome.status != VerdictStatus::passed)
    return set(outcome.status, outcome.note + "; loads, stores and copies were good before");
  notes_.push_back(outcome.note);
  return true;
}

std::string PeersTest::path() const {
  if (options_.peer_path) return *options_.peer_path;
  // PCIe carries no more than this, and NVLink is what else there is.
  if (best_rate_ > kPcieMost) return "NVLink, by its rate";
  if (best_rate_ > 0 && !facts_.native_atomics.value_or(true)) return "PCIe, as it has no atomics";
  return "an unknown path";
}

// Small copies measure their start, and others may use the links too.
std::vector<std::string> PeersTest::judge_rates() {
  if (bytes_ < kLeastJudgedBytes || options_.reserve_free_bytes > 0) return {};
  return judge_peer_rates(verdict_.metrics,
                          {device_.info().compute_capability.value_or(0), options_.peer_links});
}

void PeersTest::conclude() {
  const auto below = judge_rates();
  set_metric("verified_bytes", static_cast<double>(verified_bytes_), "B");
  std::string reason =
      fmt::format("loads, stores{} and copies from each to the other over {}: {} arrived as sent",
                  atomics_tested_ ? ", atomics" : "", path(), format_bytes(verified_bytes_));
  if (best_rate_ > 0) reason += fmt::format(", up to {} one way", format_rate(best_rate_));
  for (const std::string& note : notes_) reason += "; " + note;
  if (below.empty()) return static_cast<void>(set(VerdictStatus::passed, std::move(reason)));
  set(VerdictStatus::failed, "data arrived as sent, but " + join(below, "; "));
}

// A thread in NCCL still uses the memory of both: it goes with the process.
void PeersTest::finish() {
  if (abandoned_) new std::array<PeerGpu, 2>(std::move(sides_));
}

Verdict test_peers(Device& first, Device& second, const TestOptions& options,
                   const TestHooks& hooks) {
  return PeersTest(first, second, options, hooks).run();
}

}  // namespace gpuready
