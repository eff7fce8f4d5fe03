// Memory of any executor's device that is kept and handed out again, as cuda_pool.h says it of CUDA
// contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "gpuready/cuda_pool.h"

namespace gpuready {

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
  // Work on another stream uses the block too: once it is given back, no one gets it before that
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
  explicit DevicePool(Device& device, const PoolOptions& options = {});
  // Releases what is cached. What is in use still is released when its owner drops it.
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // At least `bytes`, for work on `stream`. too_large: the limit; else the device's error. The
  // caller's place in the source is what leaks() names.
  Result<PoolBlock> allocate(std::uint64_t bytes, StreamId stream = {},
                             CallSite site = CallSite::here());
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
