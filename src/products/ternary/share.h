// Divides work over an array among threads that last for the call.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuready::ternary {

// Calls work(begin, end) for pieces of at most `grain` that make up [0, count), on up to `threads`
// threads (0: as many as this process has CPUs), the caller's own included. What `work` throws on
// any of them is thrown here, and Cancelled where this thread was asked to stop (stop.h).
void share(std::size_t count, std::size_t grain, unsigned threads,
           const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace gpuready::ternary
