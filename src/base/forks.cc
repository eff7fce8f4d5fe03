#include "base/forks.h"

#include <pthread.h>

#include <atomic>

namespace gpuready {
namespace {

std::atomic<unsigned> forks{0};

// Never unregistered: the handler lives as long as the library, which the C library knows.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned fork_count() { return forks.load(std::memory_order_relaxed); }

}  // namespace gpuready
