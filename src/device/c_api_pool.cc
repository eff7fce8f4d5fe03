// The C interface over cuda_pool.h. Nothing is thrown across it.
#include "gpuready/cuda_pool_c.h"

#include <map>
#include <mutex>

#include "base/c_api/c_status.h"
#include "gpuready/cuda_pool.h"

using namespace gpuready;

struct gpuready_cuda_pool {
  CudaPool pool;
  std::mutex mutex = {};
  std::map<void*, CudaBlock> blocks = {};  // in use
};

namespace {

Result<std::map<void*, CudaBlock>::iterator> block_at(gpuready_cuda_pool& pool, void* address) {
  const auto found = pool.blocks.find(address);
  if (found == pool.blocks.end())
    return fail(ErrorKind::bad_input, "the pool gave no block at this address, or has it back");
  return found;
}

gpuready_cuda_pool_stats to_c(const PoolStats& from) {
  return {sizeof(gpuready_cuda_pool_stats),
          from.in_use_bytes,
          from.in_use_blocks,
          from.cached_bytes,
          from.cached_blocks,
          from.peak_in_use_bytes,
          from.peak_held_bytes,
          from.requested_bytes,
          from.hits,
          from.misses,
          from.refused,
          from.waits};
}

}  // namespace

extern "C" {

gpuready_status gpuready_cuda_pool_create(void* context, uint64_t limit_bytes,
                                          uint64_t most_cached_bytes, gpuready_cuda_pool** pool) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    *pool = nullptr;
    *pool =
        new gpuready_cuda_pool{TRY(CudaPool::create(context, {limit_bytes, most_cached_bytes}))};
    return {};
  });
}

void gpuready_cuda_pool_destroy(gpuready_cuda_pool* pool) { delete pool; }

gpuready_status gpuready_cuda_pool_allocate(gpuready_cuda_pool* pool, size_t bytes, void* stream,
                                            void** address) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr || address == nullptr) return null_pointer("an argument");
    *address = nullptr;
    auto block = TRY(pool->pool.allocate(bytes, stream));
    void* const at = block.address();
    const std::lock_guard lock(pool->mutex);
    pool->blocks.emplace(at, std::move(block));
    *address = at;
    return {};
  });
}

gpuready_status gpuready_cuda_pool_free(gpuready_cuda_pool* pool, void* address) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    if (address == nullptr) return {};
    const std::lock_guard lock(pool->mutex);
    pool->blocks.erase(TRY(block_at(*pool, address)));
    return {};
  });
}

gpuready_status gpuready_cuda_pool_used_on(gpuready_cuda_pool* pool, void* address, void* stream) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    const std::lock_guard lock(pool->mutex);
    TRY(block_at(*pool, address))->second.used_on(stream);
    return {};
  });
}

gpuready_status gpuready_cuda_pool_synchronize(gpuready_cuda_pool* pool, void* stream) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    return pool->pool.synchronize(stream);
  });
}

gpuready_status gpuready_cuda_pool_trim(gpuready_cuda_pool* pool, uint64_t keep_bytes,
                                        uint64_t* released) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    const std::uint64_t bytes = TRY(pool->pool.trim(keep_bytes));
    if (released != nullptr) *released = bytes;
    return {};
  });
}

gpuready_status gpuready_cuda_pool_get_stats(gpuready_cuda_pool* pool,
                                             gpuready_cuda_pool_stats* stats) {
  return c_call([&]() -> Result<void> {
    if (pool == nullptr) return null_pointer("pool");
    return give_struct("gpuready_cuda_pool_stats", to_c(pool->pool.stats()), stats);
  });
}

}  // extern "C"
