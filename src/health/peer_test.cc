#include "health/peer_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/random.h"
#include "health/bandwidth_check.h"
#include "health/bandwidth_rate.h"
#include "health/peer_sum.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kCounters = 1024, kAddsEach = 256;  // each GPU's, on every counter
constexpr std::uint64_t kMostSumBytes = 64 * MiB;           // the host predicts each word's sum
constexpr double kPcieMost = 130e9;  // no PCIe x16 up to generation 6 carries more one way
constexpr double kSumLimitMs = 60'000;
constexpr std::uint64_t kFullEffortBytes = 64 * MiB;  // less is timed for less long
constexpr double kFastLink = 20e9;  // bytes a second, from which longer launches are short enough

struct Effort {
  std::uint64_t bytes;  // of each of two buffers on either GPU
  bool timed;
  RateEffort rate;
};
constexpr Effort effort_of(Level level) {
  switch (level) {
    case Level::quick:
      return {16 * MiB, false, {}};
    case Level::standard:
      return {512 * MiB, true, {20, 3}};
    case Level::thorough:
      break;
  }
  return {GiB, true, {60, 10}};
}

// One GPU of the pair.
struct Side {
  Device* device;
  std::optional<TransferChecker> checker;
  std::optional<StreamTimer> timer;
  std::optional<DeviceBuffer> source, target;
};

enum class How { loads, stores, push_engine, pull_engine, push_kernel, pull_kernel };
struct PeerTransfer {
  How how;
  std::string_view what, metric;  // of the acting GPU; no metric: not timed
};
// The GPU that acts reads or writes the memory of the other.
constexpr std::array<PeerTransfer, kPeerTransfers / 2> kTransfers = {{
    {How::loads, "peer loads", {}},
    {How::stores, "peer stores", {}},
    {How::push_engine, "copy to peer", "peer_write_rate"},
    {How::pull_engine, "copy from peer", "peer_read_rate"},
    {How::push_kernel, "copy to peer, by kernel", "peer_kernel_write_rate"},
    {How::pull_kernel, "copy from peer, by kernel", "peer_kernel_read_rate"},
}};

class PeersTest {
 public:
  PeersTest(Device& first, Device& second, const TestOptions& options, const TestHooks& hooks)
      : sides_{{{&first, {}, {}, {}, {}}, {&second, {}, {}, {}, {}}}},
        options_(options),
        hooks_(hooks),
        effort_(effort_of(options.level)),
        salts_(options.seed ? *options.seed : random_u64()) {
    verdict_ = begin_verdict("peers", first, options);
    verdict_.peer_uuid = second.info().uuid;
  }

  Verdict run() {
    const auto start = Clock::now();
    if (auto done = steps(); !done && verdict_.status != VerdictStatus::failed)
      conclude_with_error(verdict_, *sides_[0].device, done.error(), phase_);
    if (abandoned_) new std::array<Side, 2>(std::move(sides_));  // goes with the process
    verdict_.duration_ms = elapsed_ms(start);
    return std::move(verdict_);
  }

 private:
  void set(VerdictStatus status, std::string reason) {
    verdict_.status = status;
    verdict_.reason = std::move(reason);
  }
  bool report(std::string_view phase) {
    phase_ = phase;
    if (hooks_.progress) hooks_.progress({phase_, steps_done_++, 0});
    return !hooks_.cancelled();
  }
  bool interrupted() {
    set(VerdictStatus::inconclusive, fmt::format("interrupted before {}", phase_));
    return false;
  }
  void add_rate(const std::string& name, double rate) {
    if (rate <= 0) return;
    best_rate_ = std::max(best_rate_, rate);
    for (Metric& metric : verdict_.metrics)
      if (metric.name == name) {
        metric.value = std::max(metric.value, rate);
        return;
      }
    verdict_.metrics.push_back({name, rate, "B/s", {}, {}});
  }
  bool judge(std::string_view what, const TransferOutcome& outcome, std::uint64_t words,
             std::uint64_t salt) {
    verified_bytes_ += outcome.words * 8;
    return judge_transfer(verdict_, what, outcome, words, words / 2 * (words - 1) + words * salt,
                          options_.max_reported);
  }
  bool nvlink_told() const { return options_.peer_path && options_.peer_path->starts_with("NV"); }

  Result<void> steps();
  Result<bool> reach();
  Result<bool> set_up();
  Result<bool> round();
  Result<bool> transfer(Side& actor, Side& other, const PeerTransfer& how, bool back,
                        const std::optional<TransferFault>& fault);
  Result<void> copy(Side& actor, Side& other, How how, std::uint64_t bytes, StreamId stream = {});
  Result<bool> atomics(Side& owner);
  Result<void> both_ways(bool by_kernel);
  Result<bool> sum();
  std::string path() const;
  void conclude();

  std::array<Side, 2> sides_;
  const TestOptions& options_;
  const TestHooks& hooks_;
  Effort effort_;
  Verdict verdict_;
  TransferSalts salts_;
  std::string_view phase_ = "start";
  std::uint64_t steps_done_ = 0, verified_bytes_ = 0, bytes_ = 0;
  double best_rate_ = 0;
  bool atomics_tested_ = false, abandoned_ = false;
  PeerFacts facts_;
  std::optional<TransferFault> fault_;
  std::vector<std::string> notes_;
};

Result<void> PeersTest::steps() {
  if (!report("access")) return interrupted(), Result<void>{};
  for (auto step : {&PeersTest::reach, &PeersTest::set_up})
    if (auto good = (this->*step)(); !good || !*good)
      return good ? Result<void>{} : std::unexpected(good.error());
  const auto start = Clock::now();
  do {
    auto good = round();
    if (!good) return std::unexpected(good.error());
    if (!*good) return {};
    if (hooks_.partial) hooks_.partial(verdict_);
  } while (elapsed_ms(start) < options_.duration_s.value_or(0) * 1e3);
  if (!report("sum through NCCL")) return interrupted(), Result<void>{};
  if (auto good = sum(); !good || !*good)
    return good ? Result<void>{} : std::unexpected(good.error());
  conclude();
  return {};
}

// Both ways are granted, or the verdict says why not.
Result<bool> PeersTest::reach() {
  // Between GPUs that NVLink joins, no access is a fault; elsewhere the platform may not have it.
  const auto refused = [&](std::string why) {
    set(nvlink_told() ? VerdictStatus::failed : VerdictStatus::not_supported,
        nvlink_told() ? why + ", though NVLink joins them" : std::move(why));
    return false;
  };
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    Device& device = *sides_[i].device;
    Device& peer = *sides_[1 - i].device;
    const char* which = i == 0 ? "the first" : "the second";
    auto can = device.can_access_peer(peer);
    if (!can) return std::unexpected(can.error());
    if (!*can)
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
  std::uint64_t bytes = effort_.bytes;
  for (Side& side : sides_) {
    auto memory = side.device->memory();
    if (!memory) return std::unexpected(memory.error());
    std::uint64_t may =
        memory->free_bytes - std::min(memory->free_bytes, options_.reserve_free_bytes);
    may -= may / 64;
    bytes = std::min(bytes, std::min(may, options_.max_bytes.value_or(may)) / 2);
  }
  bytes_ = bytes / 4096 * 4096;
  if (bytes_ < kCounters * 8) {
    set(VerdictStatus::not_tested, "out of memory: too little of it may be taken on both");
    return false;
  }
  effort_.rate.batch_ms *=
      std::clamp(static_cast<double>(bytes_) / static_cast<double>(kFullEffortBytes), 0.02, 1.0);
  if (options_.inject && options_.inject->kind == FaultClass::peer_copy)
    fault_ = place_transfer_fault(options_.inject->seed, kPeerTransfers, bytes_ / 8);
  for (Side& side : sides_) {
    auto checker = TransferChecker::make(*side.device);
    if (!checker) return std::unexpected(checker.error());
    side.checker.emplace(std::move(*checker));
    if (auto ready = prepare_copy_kernel(*side.device); !ready)
      return std::unexpected(ready.error());
    auto timer = StreamTimer::make(*side.device, StreamId{});
    if (!timer) return std::unexpected(timer.error());
    side.timer.emplace(std::move(*timer));
    for (auto* buffer : {&side.source, &side.target}) {
      auto made = DeviceBuffer::make(*side.device, bytes_);
      if (!made) return std::unexpected(made.error());
      buffer->emplace(std::move(*made));
    }
  }
  return true;
}

Result<bool> PeersTest::round() {
  std::size_t number = 0;
  for (const bool back : {false, true}) {
    Side& actor = sides_[back ? 1 : 0];
    Side& other = sides_[back ? 0 : 1];
    for (const PeerTransfer& how : kTransfers) {
      if (!report(how.what)) return interrupted();
      const bool here = fault_ && fault_->transfer == number++;
      auto good = transfer(actor, other, how, back, here ? fault_ : std::nullopt);
      if (!good || !*good) return good;
    }
  }
  if (!report("peer atomics")) return interrupted();
  for (Side& owner : sides_)
    if (auto good = atomics(owner); !good || !*good) return good;
  if (!effort_.timed) return true;
  for (const bool by_kernel : {false, true}) {
    if (!report("both ways")) return interrupted();
    if (auto done = both_ways(by_kernel); !done) return std::unexpected(done.error());
  }
  return true;
}

Result<void> PeersTest::copy(Side& actor, Side& other, How how, std::uint64_t bytes,
                             StreamId stream) {
  // A launch is to stay short on a slow link, and a fast one loses to its ends.
  const std::uint64_t piece = best_rate_ > kFastLink ? bytes : kLinkPieceBytes;
  switch (how) {
    case How::push_engine:
      return actor.device->copy_to_peer(stream, *other.device, other.target->address(),
                                        actor.source->address(), bytes);
    case How::pull_engine:
      return actor.device->copy_from_peer(stream, actor.target->address(), *other.device,
                                          other.source->address(), bytes);
    case How::push_kernel:
      return copy_by_kernel(*actor.device, stream, other.target->address(), actor.source->address(),
                            bytes, piece);
    case How::pull_kernel:
      return copy_by_kernel(*actor.device, stream, actor.target->address(), other.source->address(),
                            bytes, piece);
    case How::loads:
    case How::stores:
      break;
  }
  return fail(ErrorKind::bad_input, "no copy");
}

// Before each, the receiving memory is given another transfer's words by its own GPU; after each,
// the GPU that received checks every word.
Result<bool> PeersTest::transfer(Side& actor, Side& other, const PeerTransfer& how, bool back,
                                 const std::optional<TransferFault>& fault) {
  const std::uint64_t words = bytes_ / 8, salt = salts_.next(), stale = salts_.next();
  const std::string what =
      fmt::format("{}, {}", how.what, back ? "second GPU to first" : "first GPU to second");
  const auto fill = [&](Side& side, const DeviceBuffer& buffer,
                        std::uint64_t with) -> Result<void> {
    if (auto done = side.checker->fill(buffer.address(), words, with); !done) return done;
    return side.device->synchronize({});
  };
  const auto check = [&](Side& side, const DeviceBuffer& buffer) -> Result<bool> {
    auto outcome = side.checker->check(buffer.address(), words, salt, fault);
    if (!outcome) return std::unexpected(outcome.error());
    return judge(what, *outcome, words, salt);
  };
  if (how.how == How::loads) {
    if (auto done = fill(other, *other.source, salt); !done) return std::unexpected(done.error());
    auto outcome = actor.checker->check(other.source->address(), words, salt, fault);
    if (!outcome) return std::unexpected(outcome.error());
    return judge(what, *outcome, words, salt);
  }
  if (how.how == How::stores) {
    if (auto done = fill(other, *other.target, stale); !done) return std::unexpected(done.error());
    if (auto done = fill(actor, *other.target, salt); !done) return std::unexpected(done.error());
    return check(other, *other.target);
  }
  const bool push = how.how == How::push_engine || how.how == How::push_kernel;
  Side& sender = push ? actor : other;
  Side& receiver = push ? other : actor;
  if (auto done = fill(sender, *sender.source, salt); !done) return std::unexpected(done.error());
  if (auto done = fill(receiver, *receiver.target, stale); !done)
    return std::unexpected(done.error());
  if (effort_.timed) {
    auto rate = best_rate(*actor.timer, static_cast<double>(bytes_), effort_.rate,
                          [&] { return copy(actor, other, how.how, bytes_); });
    if (!rate) return std::unexpected(rate.error());
    add_rate(std::string(how.metric) + (back ? "_back" : ""), *rate);
  } else {
    if (auto done = copy(actor, other, how.how, bytes_); !done)
      return std::unexpected(done.error());
    if (auto done = actor.device->synchronize({}); !done) return std::unexpected(done.error());
  }
  return check(receiver, *receiver.target);
}

// Both GPUs add to the same counters in one GPU's memory at the same time. No add may be lost, and
// no two of one counter may have seen the same value.
Result<bool> PeersTest::atomics(Side& owner) {
  if (!facts_.native_atomics.value_or(false)) {
    if (notes_.empty()) notes_.push_back("the link carries no atomics of the GPUs");
    return true;
  }
  for (Side& side : sides_)
    if (auto ready = side.device->prepare(kPeerAtomics); !ready) {
      if (ready.error().kind != ErrorKind::unsupported) return std::unexpected(ready.error());
      if (notes_.empty()) notes_.push_back("atomics not tested: " + ready.error().message);
      return true;
    }
  const std::vector<std::uint64_t> zeros(kCounters);
  std::vector<std::uint64_t> counters(kCounters);
  const DeviceAddress address = owner.target->address();
  if (auto done = owner.device->copy_to_device({}, address, zeros.data(), kCounters * 8); !done)
    return std::unexpected(done.error());
  if (auto done = owner.device->synchronize({}); !done) return std::unexpected(done.error());
  for (Side& side : sides_)
    if (auto done = side.checker->start_atomics(address, kCounters, kAddsEach); !done)
      return std::unexpected(done.error());
  std::uint64_t adds = 0, seen = 0;
  for (Side& side : sides_) {
    auto outcome = side.checker->finish();
    if (!outcome) return std::unexpected(outcome.error());
    adds += outcome->words;
    seen += outcome->sum;
  }
  if (auto done = owner.device->copy_to_host({}, counters.data(), address, kCounters * 8); !done)
    return std::unexpected(done.error());
  if (auto done = owner.device->synchronize({}); !done) return std::unexpected(done.error());

  constexpr std::uint64_t kTotal = 2 * kAddsEach;
  const std::string what = fmt::format("peer atomics in the memory of the {} GPU",
                                       &owner == &sides_[0] ? "first" : "second");
  TransferOutcome outcome{kCounters, 0, 0, {}};
  for (std::uint64_t i = 0; i < kCounters; ++i) {
    if (counters[i] == kTotal) continue;
    ++outcome.bad_words;
    outcome.bad.push_back({i, kTotal, counters[i]});
  }
  if (!judge_transfer(verdict_, what, outcome, kCounters, 0, options_.max_reported)) return false;
  if (adds != kCounters * kTotal || seen != kCounters * (kTotal * (kTotal - 1) / 2)) {
    set(VerdictStatus::failed,
        fmt::format("{}: {} adds of {}, which saw values that sum up to {} and not {}", what, adds,
                    kCounters * kTotal, seen, kCounters * (kTotal * (kTotal - 1) / 2)));
    return false;
  }
  atomics_tested_ = true;
  return true;
}

// Each GPU writes to the other; by the clock of the host, from the first to the last.
Result<void> PeersTest::both_ways(bool by_kernel) {
  const How how = by_kernel ? How::push_kernel : How::push_engine;
  std::vector<OwnStream> streams;
  for (Side& side : sides_) {
    auto stream = OwnStream::make(*side.device);
    if (!stream) return std::unexpected(stream.error());
    streams.push_back(std::move(*stream));
  }
  const auto copies = [&](int count) -> Result<double> {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i)
      for (std::size_t side = 0; side < sides_.size(); ++side)
        if (auto done = copy(sides_[side], sides_[1 - side], how, bytes_, streams[side].id());
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
      static_cast<int>(std::clamp(std::ceil(2 * effort_.rate.batch_ms / *ms), 1.0, 1000.0));
  for (int batch = 0; batch < effort_.rate.batches; ++batch) {
    ms = copies(count);
    if (!ms) return std::unexpected(ms.error());
    const double rate = 2 * static_cast<double>(bytes_) * count / (*ms / 1e3);
    const double one_way = best_rate_;
    add_rate(by_kernel ? "peer_kernel_both_ways_rate" : "peer_both_ways_rate", rate);
    best_rate_ = one_way;
  }
  return {};
}

Result<bool> PeersTest::sum() {
  const auto side = [](Side& of) {
    return PeerSide{of.device, &*of.checker, of.source->address(), of.target->address()};
  };
  const auto alive = [this] { return report("sum through NCCL"); };
  auto outcome =
      test_peer_sum(side(sides_[0]), side(sides_[1]), std::min(bytes_, kMostSumBytes), bytes_,
                    salts_, effort_.timed ? std::optional(effort_.rate) : std::nullopt, kSumLimitMs,
                    alive, options_.max_reported, verdict_);
  if (!outcome) return std::unexpected(outcome.error());
  abandoned_ = outcome->abandoned;
  if (hooks_.cancelled()) return interrupted();
  if (outcome->status == VerdictStatus::failed) return false;
  if (outcome->status != VerdictStatus::passed) {
    set(outcome->status, outcome->note + "; loads, stores and copies were good before");
    return false;
  }
  notes_.push_back(outcome->note);
  return true;
}

std::string PeersTest::path() const {
  if (options_.peer_path) return *options_.peer_path;
  // PCIe carries no more than this, and NVLink is what else there is.
  if (best_rate_ > kPcieMost) return "NVLink, by its rate";
  if (best_rate_ > 0 && !facts_.native_atomics.value_or(true)) return "PCIe, as it has no atomics";
  return "a path that is not told";
}

void PeersTest::conclude() {
  verdict_.metrics.push_back({"verified_bytes", static_cast<double>(verified_bytes_), "B", {}, {}});
  std::string reason =
      fmt::format("loads, stores{} and copies from each to the other over {}: {} arrived as sent",
                  atomics_tested_ ? ", atomics" : "", path(), format_bytes(verified_bytes_));
  if (best_rate_ > 0) reason += fmt::format(", up to {} one way", format_rate(best_rate_));
  for (const std::string& note : notes_) reason += "; " + note;
  set(VerdictStatus::passed, std::move(reason));
}

}  // namespace

Verdict test_peers(Device& first, Device& second, const TestOptions& options,
                   const TestHooks& hooks) {
  return PeersTest(first, second, options, hooks).run();
}

}  // namespace gpuready
