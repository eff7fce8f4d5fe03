#include "ternary/share.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "ternary/compute.h"
#include "ternary/stop.h"
#include "ternary/workers.h"

namespace gpuready::ternary {

void share(std::size_t count, std::size_t grain, unsigned threads,
           const std::function<void(std::size_t begin, std::size_t end)>& work) {
  const std::size_t pieces = (count + grain - 1) / grain;
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex thrown_mutex;
  const StopSignal stop = StopSignal::of_this_thread();
  const auto serve = [&]() noexcept {
    const DefaultRounding rounding;
    try {
      for (std::size_t piece;
           !stop.requested() && (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
        work(piece * grain, std::min(count, (piece + 1) * grain));
      }
    } catch (...) {
      next.store(pieces, std::memory_order_relaxed);  // the others stop after their piece
      const std::lock_guard lock(thrown_mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> others;  // a thread begins when it is there: none waits for the last
  if (pieces > 1) {
    const unsigned usable = threads == 0 ? usable_cpus() : threads;
    others.reserve(std::min<std::size_t>(usable, pieces));
    for (std::size_t thread = 1; thread < std::min<std::size_t>(usable, pieces); ++thread) {
      try {
        others.emplace_back(serve);
      } catch (const std::exception&) {
        break;  // a limit on threads or memory: work with those that there are
      }
    }
  }
  serve();
  others.clear();  // waits for them
  if (thrown) std::rethrow_exception(thrown);
  if (stop.requested()) throw Cancelled();
}

}  // namespace gpuready::ternary
