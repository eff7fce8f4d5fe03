// The transfers of the peers test, each of them checked and, where that is asked for, timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "health/peers/run.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kAddsEach = 256;  // each GPU's, on every counter
constexpr double kFastLink = 20e9;  // bytes a second, from which longer launches are short enough

}  // namespace

Result<void> PeersTest::fill(PeerGpu& side, const DeviceBuffer& buffer, std::uint64_t salt) {
  if (auto done = side.checker->fill(buffer.address(), bytes_ / 8, salt); !done) return done;
  return side.device->synchronize({});
}

Result<bool> PeersTest::check(PeerGpu& side, const DeviceBuffer& buffer, std::string_view what,
                              std::uint64_t salt, const std::optional<TransferFault>& fault) {
  const std::uint64_t words = bytes_ / 8;
  auto outcome = side.checker->check(buffer.address(), words, salt, fault);
  if (!outcome) return std::unexpected(outcome.error());
  verified_bytes_ += outcome->words * 8;
  return judge_transfer(verdict_, what, *outcome, words, transfer_sum(words, salt),
                        options_.max_reported);
}

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

// Before each, the receiving memory is given another transfer's words by its own GPU; after each,
// the GPU that received checks every word.
Result<bool> PeersTest::transfer(PeerGpu& actor, PeerGpu& other, const PeerTransfer& how, bool back,
                                 const std::optional<TransferFault>& fault) {
  const std::uint64_t salt = salts_.next(), stale = salts_.next();
  const std::string what =
      fmt::format("{}, {}", how.what, back ? "second GPU to first" : "first GPU to second");
  if (how.way == PeerWay::loads) {
    if (auto done = fill(other, *other.source, salt); !done) return std::unexpected(done.error());
    return check(actor, *other.source, what, salt, fault);
  }
  if (how.way == PeerWay::stores) {
    if (auto done = fill(other, *other.target, stale); !done) return std::unexpected(done.error());
    if (auto done = fill(actor, *other.target, salt); !done) return std::unexpected(done.error());
    return check(other, *other.target, what, salt, fault);
  }
  const bool push = how.way == PeerWay::push_engine || how.way == PeerWay::push_kernel;
  PeerGpu& sender = push ? actor : other;
  PeerGpu& receiver = push ? other : actor;
  if (auto done = fill(sender, *sender.source, salt); !done) return std::unexpected(done.error());
  if (auto done = fill(receiver, *receiver.target, stale); !done)
    return std::unexpected(done.error());
  auto rate = best_rate(*actor.timer, static_cast<double>(bytes_), rate_effort_,
                        [&] { return copy(actor, other, how.way, bytes_, {}); });
  if (!rate) return std::unexpected(rate.error());
  best_rate_ = std::max(best_rate_, *rate);
  add_rate(std::string(how.metric) + (back ? "_back" : ""), *rate);
  if (auto done = actor.device->synchronize({}); !done) return std::unexpected(done.error());
  return check(receiver, *receiver.target, what, salt, fault);
}

// Each GPU writes to the other; by the clock of the host, from the first to the last.
Result<void> PeersTest::both_ways(bool by_kernel) {
  const PeerWay way = by_kernel ? PeerWay::push_kernel : PeerWay::push_engine;
  std::vector<DeviceStream> streams;
  for (PeerGpu& side : sides_) {
    auto stream = DeviceStream::make(*side.device);
    if (!stream) return std::unexpected(stream.error());
    streams.push_back(std::move(*stream));
  }
  const auto copies = [&](int count) -> Result<double> {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i)
      for (std::size_t side = 0; side < sides_.size(); ++side)
        if (auto done = copy(sides_[side], sides_[1 - side], way, bytes_, streams[side].id());
            !done)
          return std::unexpected(done.error());
    for (std::size_t side = 0; side < sides_.size(); ++side)
      if (auto done = sides_[side].device->synchronize(streams[side].id()); !done)
        return std::unexpected(done.error());
    return std::max(elapsed_ms(start), 1e-6);
  };
  auto ms = copies(1);
  if (ms) ms = copies(1);
  if (!ms) return std::unexpected(ms.error());
  const int count =
      static_cast<int>(std::clamp(std::ceil(2 * rate_effort_->batch_ms / *ms), 1.0, 1000.0));
  for (int batch = 0; batch < rate_effort_->batches; ++batch) {
    ms = copies(count);
    if (!ms) return std::unexpected(ms.error());
    add_rate(by_kernel ? "peer_kernel_both_ways_rate" : "peer_both_ways_rate",
             2 * static_cast<double>(bytes_) * count / (*ms / 1e3));
  }
  return {};
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
  if (auto done = owner.device->copy_to_device({}, address, zeros.data(), kPeerCounters * 8); !done)
    return std::unexpected(done.error());
  if (auto done = owner.device->synchronize({}); !done) return std::unexpected(done.error());
  for (PeerGpu& side : sides_)
    if (auto done = side.checker->start_atomics(address, kPeerCounters, kAddsEach); !done)
      return std::unexpected(done.error());
  std::uint64_t adds = 0, seen = 0;
  for (PeerGpu& side : sides_) {
    auto outcome = side.checker->finish();
    if (!outcome) return std::unexpected(outcome.error());
    adds += outcome->words;
    seen += outcome->sum;
  }
  if (auto done = owner.device->copy_to_host({}, counters.data(), address, kPeerCounters * 8);
      !done)
    return std::unexpected(done.error());
  if (auto done = owner.device->synchronize({}); !done) return std::unexpected(done.error());

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
