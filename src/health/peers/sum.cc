#include "health/peers/sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "device/cuda/nccl.h"
#include "health/event_timer.h"
#include "kernel_abi/memory_mix.h"

namespace gpuready {
namespace {

// What the thread and who waits for it share; it outlives both.
template <class T>
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<T> value;
};

// Runs `work` on a thread that is left behind when it does not come back in time.
template <class T>
std::optional<T> within(double limit_ms, const std::function<bool()>& alive,
                        std::function<T()> work) {
  auto shared = std::make_shared<Shared<T>>();
  std::thread([shared, work = std::move(work)]() mutable {
    auto value = work();
    work = nullptr;  // what it holds must not outlive who waits
    const std::lock_guard lock(shared->mutex);
    shared->value.emplace(std::move(value));
    shared->changed.notify_all();
  }).detach();
  const auto start = Clock::now();
  std::unique_lock lock(shared->mutex);
  while (!shared->changed.wait_for(lock, std::chrono::milliseconds(100),
                                   [&] { return shared->value.has_value(); })) {
    if (elapsed_ms(start) > limit_ms || !alive()) return std::nullopt;
  }
  return std::move(shared->value);
}

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b, bool halves) {
  if (!halves) return a + b;
  return ((a >> 32) + (b >> 32)) << 32 | static_cast<std::uint32_t>(a + b);
}

// By the threads of this processor.
std::uint64_t predicted_sum(std::uint64_t words, std::uint64_t a, std::uint64_t b, bool halves) {
  std::atomic<std::uint64_t> all{0};
  on_every_thread(words, [&](CpuSlice slice) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = slice.index; i < words; i += slice.count)
      sum += sum_of(mix_word(i + a, 0), mix_word(i + b, 0), halves);
    all += sum;
  });
  return all;
}

struct Addresses {
  std::array<Device*, 2> devices;
  std::array<DeviceAddress, 2> sources, targets;
};

// One sum into memory that is being filled with other words: the GPUs are busy with that while
// NCCL starts its kernels, so that the time is the sum's alone.
Result<double> one_sum(NcclGroup& group, const Addresses& at, EventTimer& timer,
                       std::uint64_t bytes, bool halves) {
  TRY(timer.start());
  TRY(group.sum(at.sources, at.targets, bytes / (halves ? 4 : 8),
                halves ? NcclType::int32 : NcclType::int64));
  const double ms = TRY(timer.stop_ms());
  for (Device* device : at.devices) TRY(device->synchronize({}));
  return ms;
}

}  // namespace

Result<PeerSumOutcome> test_peer_sum(const PeerSide& first, const PeerSide& second,
                                     std::uint64_t bytes, std::uint64_t timed_bytes,
                                     TransferSalts& salts, const std::optional<CopyEffort>& effort,
                                     double limit_ms, const std::function<bool()>& alive,
                                     std::size_t max_reported, Verdict& verdict) {
  using enum VerdictStatus;
  const Addresses at{
      {first.device, second.device}, {first.source, second.source}, {first.target, second.target}};
  const PeerSumOutcome given_up{
      timed_out, fmt::format("NCCL did not come back within {:.0f} s", limit_ms / 1e3), true};
  const auto ended = [](const Error& error) {
    return PeerSumOutcome{inconclusive, "the sum through NCCL: " + error.message, false};
  };
  using Made = Result<std::shared_ptr<NcclGroup>>;
  auto made = within<Made>(limit_ms, alive, [at]() -> Made {
    auto group = TRY(NcclGroup::make(at.devices));
    return std::shared_ptr<NcclGroup>(std::move(group));
  });
  if (!made) return given_up;
  if (!*made) {
    const ErrorKind kind = made->error().kind;
    if (kind != ErrorKind::not_found && kind != ErrorKind::unsupported) return ended(made->error());
    return PeerSumOutcome{passed, "no sum through NCCL: " + made->error().message, false};
  }
  std::shared_ptr<NcclGroup> group = std::move(**made);

  auto timer = std::make_shared<EventTimer>(TRY(EventTimer::make(*first.device, StreamId{})));
  const std::array<const PeerSide*, 2> sides = {&first, &second};
  for (const bool halves : {false, true}) {
    const bool timed = effort && !halves;
    const std::uint64_t size = timed ? timed_bytes : bytes, words = size / 8;
    const std::array<std::uint64_t, 2> salt = {salts.next(), salts.next()};
    const auto filled = [&](const PeerSide& side, std::uint64_t of) -> Result<bool> {
      return judge_transfer(verdict, "filled for the sum", TRY(side.checker->finish()), words,
                            transfer_sum(words, of), max_reported);
    };
    for (std::size_t i = 0; i < sides.size(); ++i) {
      TRY(sides[i]->checker->fill(sides[i]->source, words, salt[i]));
      if (!TRY(filled(*sides[i], salt[i]))) return PeerSumOutcome{failed, {}, false};
    }
    const std::uint64_t sum = predicted_sum(words, salt[0], salt[1], halves);
    double least_ms = 0;
    for (int run = 0; run <= (timed ? effort->copies : 0); ++run) {
      const std::array<std::uint64_t, 2> other = {salts.next(), salts.next()};
      for (std::size_t i = 0; i < sides.size(); ++i)
        TRY(sides[i]->checker->fill(sides[i]->target, words, other[i]));
      auto ms = within<Result<double>>(limit_ms, alive,
                                       [=] { return one_sum(*group, at, *timer, size, halves); });
      if (!ms) return given_up;
      if (!*ms) return ended(ms->error());
      if (run > 0) least_ms = run == 1 ? **ms : std::min(least_ms, **ms);
      for (std::size_t i = 0; i < sides.size(); ++i) {
        if (!TRY(filled(*sides[i], other[i]))) return PeerSumOutcome{failed, {}, false};
        const auto outcome =
            TRY(sides[i]->checker->check_sum(sides[i]->target, words, salt[0], salt[1], halves));
        const std::string what =
            fmt::format("sum of {} through NCCL, {} GPU", halves ? "int32" : "int64",
                        i == 0 ? "first" : "second");
        if (!judge_transfer(verdict, what, outcome, words, sum, max_reported))
          return PeerSumOutcome{failed, {}, false};
      }
    }
    // Over two GPUs each byte of the result crosses the link once each way.
    if (least_ms > 0)
      verdict.metrics.push_back(
          {"all_reduce_rate", static_cast<double>(size) / (least_ms / 1e3), "B/s", {}, {}});
  }
  const std::string version = group->version();
  const auto closed = within<bool>(limit_ms, alive, [group = std::move(group)]() mutable {
    group.reset();
    return true;
  });
  return PeerSumOutcome{
      passed, fmt::format("sums of int64 and int32 through NCCL {} are exact", version), !closed};
}

}  // namespace gpuready
