#include "ternary/workers.h"

#include <algorithm>
#include <exception>

#include "ternary/compute.h"
#include "ternary/cpu_quota.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace gpuready::ternary {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// About 20 us, a little more than it takes to wake a sleeping thread.
constexpr int kSpins = 1000;

}  // namespace

Workers::Workers(unsigned threads) {
  for (unsigned index = 1; index < threads; ++index) {
    try {
      threads_.emplace_back([this, index] { serve(index); });
    } catch (const std::exception&) {
      break;  // a limit on threads or memory: work with those that there are
    }
  }
}

Workers::~Workers() {
  stop_ = true;
  {
    const std::lock_guard lock(mutex_);
    round_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::serve(unsigned index) {
  const DefaultRounding rounding;  // a thread begins with its maker's
  std::uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin) {
      pause();
    }
    if (round_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return round_.load() != seen; });
      sleeping_.fetch_sub(1);
    }
    if (stop_) return;
    seen = round_.load(std::memory_order_acquire);
    if (index < parts_) (*work_)(index);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }
}

bool Workers::run(unsigned parts, const std::function<void(unsigned)>& work) {
  if (pool_ && parts > 1) {
    struct Round {
      const std::function<void(unsigned)>& work;
      std::atomic<unsigned> done{0};
    } round{work};
    pool_->run(
        pool_->context, parts,
        [](void* argument, unsigned index) {
          const DefaultRounding rounding;  // of a thread that is not ours
          auto& of = *static_cast<Round*>(argument);
          of.work(index);
          of.done.fetch_add(1, std::memory_order_release);
        },
        &round);
    return round.done.load(std::memory_order_acquire) == parts;
  }
  if (parts > 1) {
    parts_ = parts;
    work_ = &work;
    unfinished_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
    // A thread counts itself as sleeping before it looks at the round for the last time, and the
    // round is raised before the sleepers are counted: one of the two sees the other.
    round_.fetch_add(1);
    if (sleeping_.load() != 0) {
      {
        const std::lock_guard lock(mutex_);
      }
      wake_.notify_all();
    }
  }
  work(0);
  if (parts > 1) {
    for (int spin = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  return true;
}

unsigned usable_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return std::min(static_cast<unsigned>(count), cpus_of_quota());
  }
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? count : 1;
}

}  // namespace gpuready::ternary
