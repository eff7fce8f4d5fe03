/* The C interface of gpuready/cuda_pool.h: memory of an NVIDIA GPU that is kept and handed out
 * again, on a caller's CUDA context. A stream is a CUstream or a cudaStream_t (null: the legacy
 * default stream). What cuda_pool.h says of streams, captures, threads and forks holds here too. */
#ifndef GPUREADY_CUDA_POOL_C_H
#define GPUREADY_CUDA_POOL_C_H

#include <stddef.h>
#include <stdint.h>

#include "gpuready/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuready_cuda_pool gpuready_cuda_pool;

typedef struct gpuready_cuda_pool_stats {
  size_t size; /* sizeof(gpuready_cuda_pool_stats) */
  uint64_t in_use_bytes, in_use_blocks, cached_bytes, cached_blocks;
  uint64_t peak_in_use_bytes, peak_held_bytes; /* the most ever */
  uint64_t requested_bytes;                    /* by those who use blocks now */
  uint64_t hits, misses, refused, waits;
} gpuready_cuda_pool_stats;

/* `context` is a CUcontext; null: the calling thread's current one. `limit_bytes` of device memory,
 * in use and cached together, and `most_cached_bytes`, beyond which blocks that come back are
 * released: 0 for none. */
GPUREADY_API gpuready_status gpuready_cuda_pool_create(void* context, uint64_t limit_bytes,
                                                       uint64_t most_cached_bytes,
                                                       gpuready_cuda_pool** pool);
/* Releases what is cached, and takes every block back that is in use still. */
GPUREADY_API void gpuready_cuda_pool_destroy(gpuready_cuda_pool* pool); /* null is allowed */
/* For work on `stream`; at a multiple of 256. */
GPUREADY_API gpuready_status gpuready_cuda_pool_allocate(gpuready_cuda_pool* pool, size_t bytes,
                                                         void* stream, void** address);
/* Given back in the order of its stream's work; null is allowed. What the pool did not give is
 * GPUREADY_BAD_ARGUMENT. */
GPUREADY_API gpuready_status gpuready_cuda_pool_free(gpuready_cuda_pool* pool, void* address);
/* Work on another stream uses the block too. */
GPUREADY_API gpuready_status gpuready_cuda_pool_used_on(gpuready_cuda_pool* pool, void* address,
                                                        void* stream);
/* Waits for the stream; what was given back there is then free for every stream. */
GPUREADY_API gpuready_status gpuready_cuda_pool_synchronize(gpuready_cuda_pool* pool, void* stream);
/* Releases cached blocks until at most `keep_bytes` are cached; `released` may be null. */
GPUREADY_API gpuready_status gpuready_cuda_pool_trim(gpuready_cuda_pool* pool, uint64_t keep_bytes,
                                                     uint64_t* released);
GPUREADY_API gpuready_status gpuready_cuda_pool_get_stats(gpuready_cuda_pool* pool,
                                                          gpuready_cuda_pool_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
