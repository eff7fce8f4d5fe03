#include "bench/native/host_stack.h"

#include <cstring>

#include "base/clock.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kCacheBytes = 256u << 20;  // more than any CPU's caches

}  // namespace

Result<std::vector<double>> HostStack::block(std::uint64_t iterations, std::uint64_t count) {
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto start = Clock::now();
    for (std::uint64_t j = 0; j < iterations; ++j) TRY(iterate());
    samples.push_back(elapsed_ms(start) / static_cast<double>(iterations));
  }
  return samples;
}

Result<double> HostStack::cold_sample_ms() {
  cache_.resize(kCacheBytes);
  std::memset(cache_.data(), ++flushes_, cache_.size());
  return TRY(block(1, 1))[0];
}

}  // namespace gpuready::bench
