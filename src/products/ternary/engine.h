// What stands behind CpuEngine, and its products.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/forks.h"
#include "base/result.h"
#include "ternary/cpu/kernels.h"
#include "ternary/packed.h"
#include "ternary/reading.h"
#include "ternary/stop.h"
#include "ternary/workers.h"

namespace gpuready::ternary {

// What one thread keeps between calls.
struct Scratch {
  AlignedArray<std::uint8_t> quads;  // of two panels
  std::size_t quads_bytes = 0;
  AlignedArray<std::int32_t> sums;  // [pairs][padded rows][32]
  std::size_t sums_rows = 0;
  AlignedArray<float> values;  // likewise, where scales are by group
  std::size_t values_rows = 0;

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
  bool reserve_values(std::size_t rows) {
    if (rows > values_rows) {
      values.reset(static_cast<float*>(allocate_aligned(rows * 32 * sizeof(float))));
      values_rows = values ? rows : 0;
    }
    return values_rows >= rows;
  }
};

// Where a thread's share of the panels begins that no one has taken.
struct alignas(64) Share {
  std::atomic<std::size_t> next{0};
};

struct Output {
  kernels::OutputType type = kernels::kInt32;
  void* data = nullptr;
  std::size_t element_bytes = 4;
  const Addends* addends = nullptr;  // sizes are checked

  // Whether results go by way of f32 values and kernels::StoreArgs.
  bool stored() const { return type == kernels::kFloat16 || addends != nullptr; }
};

namespace detail {

struct CpuEngine {
  Tier tier = Tier::scalar;
  const kernels::Table* table = nullptr;
  std::vector<std::string> fallbacks;
  std::unique_ptr<Workers> workers;
  // What follows is of the call that holds the mutex, as are the workers.
  std::mutex mutex;
  std::vector<Scratch> scratch;  // a thread each
  std::vector<Share> shares;     // likewise
  ReadingChoice reading;
  unsigned made_at_fork = fork_count();

  explicit CpuEngine(std::unique_ptr<Workers> w)
      : workers(std::move(w)), scratch(workers->count()), shares(workers->count()) {}
  // In a forked process the threads are gone and whoever held the mutex is too: a call works
  // without threads, with memory of its own, and what belongs to the threads is never touched or
  // freed.
  bool forked() const { return made_at_fork != fork_count(); }
  ~CpuEngine() {
    if (forked()) (void)workers.release();
  }
};

// What one call works with.
struct Crew {
  Workers* workers;  // null: only the caller's thread
  std::span<Scratch> scratch;
  std::span<Share> shares;
  ReadingChoice* reading;
  StopSignal stop = StopSignal::of_this_thread();

  unsigned count() const { return workers == nullptr ? 1 : workers->count(); }
  template <class Work>
  bool run(unsigned parts, const Work& work) const {  // as Workers::run
    if (workers != nullptr) return workers->run(parts, work);
    work(0u);
    return true;
  }
  unsigned worth(double ns) const { return workers == nullptr ? 1 : workers->worth(ns); }
};

}  // namespace detail

// Of what Crew::run said.
inline Result<void> all_done(bool done, const StopSignal& stop) {
  if (stop.requested()) return cancelled();
  if (done) return {};
  return fail(ErrorKind::bad_input, "the thread pool did not run each of its tasks once");
}

// About how long one thread works on the product with this many rows of activations (cost.cc). It
// decides how many threads work on it, and never what comes out.
double product_ns(Tier tier, const detail::CpuWeights& w, std::size_t rows);
double quantise_ns(FloatType type, std::size_t rows, std::size_t cols);  // of activations

// Quantises rows of values (Activations::quantise) by the engine's threads, or without an engine by
// the caller's.
Result<std::shared_ptr<detail::ActivationRows>> quantise_rows(detail::CpuEngine* engine,
                                                              const FloatView& values,
                                                              std::int64_t rows, std::int64_t cols);

// The product of weights and activations, whose sizes are checked here, into `out_size` elements.
// By one thread after the other.
Result<void> multiply_any(detail::CpuEngine& engine, const detail::CpuWeights& w,
                          const detail::ActivationRows& y, const Output& output,
                          std::size_t out_size);

}  // namespace gpuready::ternary
