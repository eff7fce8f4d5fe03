// Work of independent parts on the CPUs that this process may use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace gpuready {

// Calls work(0) to work(count - 1), each once and in no order, on the caller's thread and up to
// `most_threads` - 1 others. `work` does not throw.
template <class Work>
void in_parallel(std::size_t count, unsigned most_threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto serve = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t threads = std::min<std::size_t>(
      count, std::clamp(std::thread::hardware_concurrency(), 1u, most_threads));
  std::vector<std::jthread> others;  // joined at the end
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(serve);
  } catch (const std::system_error&) {
    // No more threads are allowed: those that there are do the work.
  }
  serve();
}

}  // namespace gpuready
