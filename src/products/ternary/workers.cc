#include "ternary/workers.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "base/cpu/cpus.h"
#include "ternary/compute.h"
#include "ternary/cpu_quota.h"

namespace gpuready::ternary {
namespace {

using SteadyClock = std::chrono::steady_clock;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

constexpr int kPausesPerLook = 16;       // at the clock
constexpr int kPausesBeforeYield = 500;  // for a thread that is at work

}  // namespace

ThreadCosts& thread_costs() {
  static ThreadCosts costs;
  return costs;
}

Workers::Workers(unsigned threads) {
  if (threads < 2) return;
  seats_ = std::make_unique<Seat[]>(threads - 1);
  // Spinning takes a core from no one only where each thread has one, and time from no quota.
  if (threads <= count_of_affinity() && cpus_of_quota() == std::numeric_limits<unsigned>::max()) {
    spin_ = std::chrono::nanoseconds(static_cast<std::int64_t>(thread_costs().spin_ns));
  }
  for (unsigned index = 1; index < threads; ++index) {
    try {
      seats_[index - 1].thread = std::thread([this, index] { serve(index); });
      ++others_;
    } catch (const std::exception&) {
      break;  // a limit on threads or memory: work with those that there are
    }
  }
}

Workers::~Workers() {
  for (unsigned i = 0; i < others_; ++i) {
    seats_[i].state.store(kStop);
    seats_[i].state.notify_one();
    seats_[i].thread.join();
  }
}

void Workers::serve(unsigned index) {
  const DefaultRounding rounding;  // a thread begins with its maker's
  std::atomic<std::uint32_t>& state = seats_[index - 1].state;
  auto awake_since = SteadyClock::now();
  for (unsigned pauses = 0;; ++pauses) {
    std::uint32_t seen = state.load(std::memory_order_acquire);
    if (seen == kStop) return;
    if (seen == kPosted) {
      if (!state.compare_exchange_strong(seen, kBusy, std::memory_order_acquire)) continue;
      task_(index);
      state.store(kAwake, std::memory_order_release);
      awake_since = SteadyClock::now();
      pauses = 0;
    } else if (pauses % kPausesPerLook == 0 && SteadyClock::now() - awake_since >= spin_) {
      if (!state.compare_exchange_strong(seen, kAsleep)) continue;
      state.wait(kAsleep);
      awake_since = SteadyClock::now();
    } else {
      pause();
    }
  }
}

// Its thread will see it, now or when it wakes.
void Workers::post(Seat& seat) {
  std::uint32_t awake = kAwake;
  if (seat.state.compare_exchange_strong(awake, kPosted)) return;
  const auto start = SteadyClock::now();
  seat.state.store(kPosted);
  seat.state.notify_one();
  // A system call, of 2 us on some machines and 20 on others. One that was interrupted says little.
  const std::chrono::duration<double, std::nano> took = SteadyClock::now() - start;
  wake_ns_ += (std::min(took.count(), 3 * thread_costs().wake_ns) - wake_ns_) / 8;
}

unsigned Workers::worth(double ns) {
  const ThreadCosts& costs = thread_costs();
  const double most = static_cast<double>(count());
  const unsigned wanted =
      static_cast<unsigned>(std::clamp(ns / std::max(costs.share_ns, 1e-3), 1.0, most));
  timed_ = wanted > 1 && !pool_;
  if (!timed_) return wanted;
  if (SteadyClock::now() - ended_ < spin_) return wanted;
  double left = ns * costs.wake_share;
  unsigned parts = 1;
  for (; parts < wanted; ++parts) {
    if (seats_[parts - 1].state.load(std::memory_order_relaxed) == kAsleep) left -= wake_ns_;
    if (left < 0) break;
  }
  return parts;
}

bool Workers::run_by_pool(unsigned parts, Task task) {
  struct Round {
    Task task;
    std::atomic<unsigned> done{0};
  } round{task};
  pool_->run(
      pool_->context, parts,
      [](void* argument, unsigned index) {
        const DefaultRounding rounding;  // of a thread that is not ours
        auto& of = *static_cast<Round*>(argument);
        of.task(index);
        of.done.fetch_add(1, std::memory_order_release);
      },
      &round);
  return round.done.load(std::memory_order_acquire) == parts;
}

bool Workers::run(unsigned parts, Task task) {
  if (pool_ && parts > 1) return run_by_pool(parts, task);
  task_ = task;
  for (unsigned index = 1; index < parts; ++index) post(seats_[index - 1]);
  task(0);
  for (unsigned index = 1; index < parts; ++index) {
    std::atomic<std::uint32_t>& state = seats_[index - 1].state;
    std::uint32_t seen = kPosted;
    if (state.compare_exchange_strong(seen, kAwake, std::memory_order_acquire)) {
      task(index);  // its thread is late, and finds nothing when it comes
      continue;
    }
    for (int pauses = 0; state.load(std::memory_order_acquire) == kBusy; ++pauses) {
      if (pauses < kPausesBeforeYield) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  if (std::exchange(timed_, false)) ended_ = SteadyClock::now();
  return true;
}

Result<void> check_threads(unsigned threads) {
  if (threads <= kMostThreads) return {};
  return fail(ErrorKind::bad_input, "threads is " + std::to_string(threads) + "; at most " +
                                        std::to_string(kMostThreads) +
                                        ", or 0 for as many as this process may use");
}

unsigned usable_cpus() { return std::min(count_of_affinity(), cpus_of_quota()); }

}  // namespace gpuready::ternary
