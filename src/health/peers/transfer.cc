// The transfers of the peers test, each of them checked and, where that is asked for, timed.
#include <fmt/format.h>

#include <algorithm>

#include "health/peers/run.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kAddsEach = 256;  // each GPU's, on every counter
constexpr double kFastLink = 20e9;  // bytes a second, from which longer launches are short enough

}  // namespace

Result<void> PeersTest::copy(PeerGpu& actor, PeerGpu& other, PeerWay way, std::uint64_t bytes,
                             StreamId stream) {
  // A launch is to stay short on a slow link, and a fast one loses to its ends.
  const std::uint64_t piece = best_rate_ > kFastLink ? bytes : kLinkPieceBytes;
  switch (way) {
    case PeerWay::push_engine:
      return actor.device->copy_to_peer(stream, *other.device, other.target->address(),
                                        actor.source->address(), bytes);
    case PeerWay::pull_engine:
      return actor.device->copy_from_peer(stream, actor.target->address(), *other.device,
                                          other.source->address(), bytes);
    case PeerWay::push_kernel:
      return copy_by_kernel(*actor.device, stream, other.target->address(), actor.source->address(),
                            bytes, piece);
    case PeerWay::pull_kernel:
      return copy_by_kernel(*actor.device, stream, actor.target->address(), other.source->address(),
                            bytes, piece);
    case PeerWay::loads:
    case PeerWay::stores:
      break;
  }
  return fail(ErrorKind::bad_input, "no copy");
}

Result<bool> PeersTest::transfer(PeerGpu& actor, PeerGpu& other, const PeerTransfer& how,
                                 bool back) {
  const std::string what =
      fmt::format("{}, {}", how.what, back ? "second GPU to first" : "first GPU to second");
  if (how.way == PeerWay::loads || how.way == PeerWay::stores) {
    // The other's memory: one of the two fills it, and the other one checks it.
    const DeviceAddress address = other.source->address();
    const TransferMemory near(*other.checker, address),
        far(*actor.checker, address, *other.checker);
    const bool loads = how.way == PeerWay::loads;
    const Lane lane{what, loads ? near : far, loads ? far : near, bytes_ / 8};
    begin_transfer(1);
    return copy_checked({&lane, 1}, [] { return Result<void>{}; });
  }
  const bool push = how.way == PeerWay::push_engine || how.way == PeerWay::push_kernel;
  PeerGpu& sender = push ? actor : other;
  PeerGpu& receiver = push ? other : actor;
  const Lane lane{what, TransferMemory(*sender.checker, sender.source->address()),
                  TransferMemory(*receiver.checker, receiver.target->address())};
  const std::string metric = std::string(how.metric) + (back ? "_back" : "");
  auto good = measure(metric, *actor.timer, lane, bytes_,
                      [&](std::uint64_t bytes) { return copy(actor, other, how.way, bytes, {}); });
  TRY(actor.device->synchronize({}));
  if (const Metric* rate = find_metric(metric)) best_rate_ = std::max(best_rate_, rate->value);
  return good;
}

// Each GPU writes to the other; by the clock of the host, from the first to the last.
Result<bool> PeersTest::both_ways(bool by_kernel) {
  const PeerWay way = by_kernel ? PeerWay::push_kernel : PeerWay::push_engine;
  const std::uint64_t bytes = bytes_in_time(best_rate_, bytes_);
  std::vector<DeviceStream> streams;
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    PeerGpu& other = sides_[1 - i];
    streams.push_back(TRY(DeviceStream::make(*sides_[i].device)));
    lanes.push_back({fmt::format("{} GPU to {}, both ways", i == 0 ? "first" : "second",
                                 i == 0 ? "second" : "first"),
                     TransferMemory(*sides_[i].checker, sides_[i].source->address()),
                     TransferMemory(*other.checker, other.target->address()), bytes / 8});
  }
  begin_transfer(static_cast<std::uint64_t>(effort_->copies));
  for (int i = 0; i < effort_->copies; ++i) {
    const bool good = TRY(copy_checked(lanes, [&]() -> Result<void> {
      const auto start = Clock::now();
      for (std::size_t side = 0; side < sides_.size(); ++side)
        TRY(copy(sides_[side], sides_[1 - side], way, bytes, streams[side].id()));
      for (std::size_t side = 0; side < sides_.size(); ++side)
        TRY(sides_[side].device->synchronize(streams[side].id()));
      add_rate(by_kernel ? "peer_kernel_both_ways_rate" : "peer_both_ways_rate",
               2 * static_cast<double>(bytes) / (std::max(elapsed_ms(start), 1e-6) / 1e3));
      return {};
    }));
    if (!good) return false;
  }
  return true;
}

// False where there are none to test, and says so.
Result<bool> PeersTest::have_atomics() {
  const auto none = [&](std::string_view why) {
    if (notes_.empty()) notes_.emplace_back(why);
    return false;
  };
  if (!facts_.native_atomics.value_or(false))
    return none("the link carries no atomics of the GPUs");
  for (PeerGpu& side : sides_)
    if (auto ready = side.device->prepare(kPeerAtomics); !ready) {
      if (ready.error().kind != ErrorKind::unsupported) return std::unexpected(ready.error());
      return none("atomics not tested: " + ready.error().message);
    }
  return true;
}

// Both GPUs add to the same counters in one GPU's memory at the same time. No add may be lost, and
// no two of one counter may have seen the same value.
Result<bool> PeersTest::atomics(PeerGpu& owner) {
  const std::vector<std::uint64_t> zeros(kPeerCounters);
  std::vector<std::uint64_t> counters(kPeerCounters);
  const DeviceAddress address = owner.target->address();
  TRY(owner.device->copy_to_device({}, address, zeros.data(), kPeerCounters * 8));
  TRY(owner.device->synchronize({}));
  for (PeerGpu& side : sides_)
    if (auto done = side.checker->start_atomics(address, kPeerCounters, kAddsEach); !done)
      return std::unexpected(done.error());
  std::uint64_t adds = 0, seen = 0;
  for (PeerGpu& side : sides_) {
    auto outcome = TRY(side.checker->finish());
    adds += outcome.words;
    seen += outcome.sum;
  }
  TRY(owner.device->copy_to_host({}, counters.data(), address, kPeerCounters * 8));
  TRY(owner.device->synchronize({}));

  constexpr std::uint64_t kTotal = 2 * kAddsEach;
  const std::string what = fmt::format("peer atomics in the memory of the {} GPU",
                                       &owner == &sides_[0] ? "first" : "second");
  TransferOutcome outcome{kPeerCounters, 0, 0, {}};
  for (std::uint64_t i = 0; i < kPeerCounters; ++i) {
    if (counters[i] == kTotal) continue;
    ++outcome.bad_words;
    outcome.bad.push_back({i, kTotal, counters[i]});
  }
  if (!judge_transfer(verdict_, what, outcome, kPeerCounters, 0, options_.max_reported))
    return false;
  constexpr std::uint64_t kAdds = kPeerCounters * kTotal, kSeen = kAdds * (kTotal - 1) / 2;
  if (adds != kAdds || seen != kSeen)
    return set(VerdictStatus::failed,
               fmt::format("{}: {} adds of {}, which saw values that sum up to {} and not {}", what,
                           adds, kAdds, seen, kSeen));
  atomics_tested_ = true;
  return true;
}

}  // namespace gpuready
