// Memory of a device that is kept and handed out again: drivers take tens of microseconds to give
// memory and wait for the whole device to take it back.
//
// A block that was given back on a stream is reused at once for work on that stream, which runs
// after the work that used it; for another stream only once the first was synchronized, by
// DevicePool::synchronize() or by the pool itself when it would else have to ask the driver in
// vain.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "device/device.h"

namespace gpuready {

struct DevicePoolOptions {
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

// A block that nobody gave back.
struct PoolLeak {
  DeviceAddress address = 0;
  std::uint64_t bytes = 0;  // as asked for
  std::string file, function;
  unsigned line = 0;
};
std::string to_string(const PoolLeak& leak);

namespace detail {
struct PoolState;
}

// Gives itself back. Must not outlive the device; may outlive the pool.
class PoolBlock {
 public:
  PoolBlock() = default;
  PoolBlock(PoolBlock&& other) noexcept;
  PoolBlock& operator=(PoolBlock&& other) noexcept;
  ~PoolBlock() { reset(); }

  DeviceAddress address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }  // as asked for
  StreamId stream() const { return stream_; }
  explicit operator bool() const { return address_ != 0; }
  // Work on another stream uses the block too: once it is given back, nobody gets it before that
  // stream was synchronized.
  void used_on(StreamId stream);
  void reset();  // gives it back now

 private:
  friend class DevicePool;
  std::shared_ptr<detail::PoolState> pool_;
  DeviceAddress address_ = 0;
  std::uint64_t bytes_ = 0;
  StreamId stream_;
};

// Any thread may call; each call waits for the others.
class DevicePool {
 public:
  explicit DevicePool(Device& device, const DevicePoolOptions& options = {});
  // Releases what is cached. What is in use still is released when its owner drops it.
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // At least `bytes`, for work on `stream`. too_large: the limit; else the device's error. The
  // caller's place in the source is what leaks() names.
  Result<PoolBlock> allocate(std::uint64_t bytes, StreamId stream = {},
                             std::source_location site = std::source_location::current());
  // Waits for the stream; what was given back there is then free for every stream.
  Result<void> synchronize(StreamId stream);
  // Releases cached blocks, the largest first, until at most `keep_bytes` are cached. Blocks that a
  // stream may use still wait for it. Returns the bytes released.
  Result<std::uint64_t> trim(std::uint64_t keep_bytes = 0);

  PoolStats stats() const;
  std::vector<PoolLeak> leaks() const;  // all that is in use now, in order of allocation

 private:
  std::shared_ptr<detail::PoolState> state_;
};

// The size of the block that serves a request: quarter steps between powers of two up to 2 MiB,
// then whole 2 MiB, so that at most a fifth of a small block and 2 MiB of a large one are idle.
std::uint64_t pool_block_bytes(std::uint64_t bytes);

}  // namespace gpuready
