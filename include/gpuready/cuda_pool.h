// Memory of an NVIDIA GPU that is kept and handed out again, on a caller's CUDA context: drivers
// take tens of microseconds to give memory and wait for the whole device to take it back.
//
//   auto pool = CudaPool::create();                       // on this thread's context
//   {
//     auto block = pool->allocate(bytes, stream);         // Result<CudaBlock>
//     engine->multiply(stream, weights, x, room, rows, y, {block->address(), block->bytes()});
//   }                                                     // given back, in the stream's order
//
// A block that was given back on a stream is reused at once for work on that stream, which runs
// after the work that used it; for another stream only once the first was synchronized, by
// CudaPool::synchronize() or by the pool itself when it would else have to ask the driver in vain.
//
// Every function may be called from any thread, whatever its current context is, and leaves that as
// it was; calls on one pool wait for each other. allocate() may ask the driver and wait, so it
// belongs outside a graph's capture, as the end of a block does. The context must outlive the pool
// and its blocks. In a process that was forked later each call is an `unsupported` error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuready/result.h"

namespace gpuready {
namespace detail {
struct CudaPoolState;
struct CudaPoolBlock;
}  // namespace detail

inline namespace v0 {

struct PoolOptions {
  std::uint64_t limit_bytes = 0;  // of device memory, in use and cached together; 0: none
  // Beyond this a block that comes back is released instead of kept; 0: everything is kept.
  std::uint64_t most_cached_bytes = 0;
};

// Bytes are those of the blocks, which are at least what was asked for.
struct PoolStats {
  std::uint64_t in_use_bytes = 0, in_use_blocks = 0;
  std::uint64_t cached_bytes = 0, cached_blocks = 0;
  std::uint64_t peak_in_use_bytes = 0;  // the most ever in use at once
  std::uint64_t peak_held_bytes = 0;    // the most ever taken from the device
  std::uint64_t requested_bytes = 0;    // by those who use blocks now
  std::uint64_t hits = 0;               // served from the cache
  std::uint64_t misses = 0;             // served by the device
  std::uint64_t refused = 0;            // by the limit or by the device
  std::uint64_t waits = 0;              // streams that were synchronized for a block
};

// The source location of a call, as std::source_location, which clang 15 lacks.
struct CallSite {
  const char* file = "";
  const char* function = "";
  unsigned line = 0;
  static constexpr CallSite here(const char* file = __builtin_FILE(),
                                 const char* function = __builtin_FUNCTION(),
                                 unsigned line = __builtin_LINE()) {
    return {file, function, line};
  }
};

// A block that was never given back.
struct PoolLeak {
  std::uint64_t address = 0;  // of the device
  std::uint64_t bytes = 0;    // as asked for
  std::string file, function;
  unsigned line = 0;
};
std::string to_string(const PoolLeak& leak);

// Device memory, at a multiple of 256. Gives itself back; may outlive the pool.
class CudaBlock {
 public:
  CudaBlock();
  CudaBlock(CudaBlock&&) noexcept;
  CudaBlock& operator=(CudaBlock&&) noexcept;
  ~CudaBlock();

  void* address() const;      // null: no block
  std::size_t bytes() const;  // as asked for
  // Work on another stream uses the block too: once it is given back, it is not reused before that
  // stream was synchronized.
  void used_on(void* stream);
  void reset();  // gives it back now

 private:
  friend class CudaPool;
  std::unique_ptr<detail::CudaPoolBlock> block_;
};

class CudaPool {
 public:
  // `context` is a CUcontext; null: the calling thread's current one. Errors: no_device and device
  // where the driver does not start; bad_input where there is no context.
  static Result<CudaPool> create(void* context = nullptr, const PoolOptions& options = {});

  // At least `bytes`, for work on `stream`, a CUstream or cudaStream_t; null: the legacy default
  // stream. too_large: the limit; device_memory: the device has no more. The caller's place in the
  // source is what leaks() names.
  Result<CudaBlock> allocate(std::size_t bytes, void* stream,
                             CallSite site = CallSite::here()) const;
  // Waits for the stream; what was given back there is then free for every stream.
  Result<void> synchronize(void* stream) const;
  // Releases cached blocks, the largest first, until at most `keep_bytes` are cached. Blocks that a
  // stream may use still wait for it. Returns the bytes released.
  Result<std::uint64_t> trim(std::uint64_t keep_bytes = 0) const;

  PoolStats stats() const;
  std::vector<PoolLeak> leaks() const;  // all that is in use now, in order of allocation

 private:
  explicit CudaPool(std::shared_ptr<detail::CudaPoolState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::CudaPoolState> state_;
};

}  // namespace v0
}  // namespace gpuready
