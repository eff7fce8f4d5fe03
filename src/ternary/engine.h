// What stands behind CpuEngine, and its products.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "ternary/kernels.h"
#include "ternary/packed.h"
#include "ternary/workers.h"

namespace gpuready::ternary {

// What one thread keeps between calls.
struct Scratch {
  AlignedArray<std::uint8_t> quads;  // of two panels
  std::size_t quads_bytes = 0;
  AlignedArray<std::int32_t> sums;  // [pairs][padded rows][32]
  std::size_t sums_rows = 0;

  bool reserve(std::size_t bytes, std::size_t rows) {
    if (bytes > quads_bytes) {
      quads.reset(static_cast<std::uint8_t*>(allocate_aligned(bytes)));
      quads_bytes = quads ? bytes : 0;
    }
    if (rows > sums_rows) {
      sums.reset(static_cast<std::int32_t*>(allocate_aligned(rows * 32 * sizeof(std::int32_t))));
      sums_rows = sums ? rows : 0;
    }
    return quads_bytes >= bytes && sums_rows >= rows;
  }
};

// Where a thread's share of the panels begins that nobody has taken.
struct alignas(64) Share {
  std::atomic<std::size_t> next{0};
};

struct Output {
  kernels::OutputType type = kernels::kInt32;
  void* data = nullptr;
  std::size_t element_bytes = 4;
};

namespace detail {

struct CpuEngine {
  Tier tier = Tier::scalar;
  const kernels::Table* table = nullptr;
  std::vector<std::string> fallbacks;
  Workers workers;
  std::vector<Scratch> scratch;  // a thread each
  std::vector<Share> shares;     // likewise

  explicit CpuEngine(unsigned threads)
      : workers(threads), scratch(workers.count()), shares(workers.count()) {}
};

}  // namespace detail

// The product of weights and activations, whose sizes are checked here, into `out_size` elements.
Result<void> multiply_any(detail::CpuEngine& engine, const detail::CpuWeights& w,
                          const detail::ActivationRows& y, const Output& output,
                          std::size_t out_size);

}  // namespace gpuready::ternary
