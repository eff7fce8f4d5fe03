/* gpuready's C interface. Plain structs, caller-owned memory, no exceptions; every function may be
 * called from any thread. A struct begins with `size`, which the caller sets to sizeof: newer
 * versions of the library fill no more than that. Text is UTF-8, cut to fit, and ends with NUL.
 *
 * Vendors' libraries run in child processes of the helper executable: GPUREADY_HELPER, else the
 * gpuready beside this program, of this installation, or in PATH. The machine is inspected once in
 * a process, by the first call that needs it, and kept until gpuready_refresh(). */
#ifndef GPUREADY_GPUREADY_H
#define GPUREADY_GPUREADY_H

#include <stddef.h>
#include <stdint.h>

#include "gpuready/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GPUREADY_ABI_VERSION = 1,
  GPUREADY_NAME_MAX = 128,
  GPUREADY_VERSION_MAX = 32,
  GPUREADY_UUID_MAX = 64,
  GPUREADY_ERROR_MAX = 512
};

typedef struct gpuready_gpu_info {
  size_t size;
  int32_t cuda, metal, rocm, vulkan, opengl, wgpu; /* 0 or 1 */
  int32_t faked;                                   /* claimed by GPUREADY_FAKE: cannot execute */
  char cuda_version[GPUREADY_VERSION_MAX];         /* "" when not known */
  char rocm_version[GPUREADY_VERSION_MAX];
  char vulkan_version[GPUREADY_VERSION_MAX];
} gpuready_gpu_info;

typedef struct gpuready_cuda_device {
  size_t size;
  int32_t device_id; /* CUDA's ordinal in this environment */
  int32_t compute_capability_major, compute_capability_minor;
  int32_t multiprocessor_count, max_threads_per_block;
  int32_t supports_fp16, supports_bf16, supports_fp8; /* 0 or 1 */
  int32_t warp_size, max_threads_per_multiprocessor, max_blocks_per_multiprocessor;
  int64_t max_grid_x;
  uint64_t total_memory_bytes, max_shared_memory_per_block_bytes;
  uint64_t shared_memory_per_multiprocessor_bytes;
  char name[GPUREADY_NAME_MAX];
  char uuid[GPUREADY_UUID_MAX]; /* "" when not known */
} gpuready_cuda_device;

typedef struct gpuready_launch_params {
  size_t size;
  int32_t block_x, block_y, blocks_per_multiprocessor;
  int64_t grid_x, grid_y;
  uint64_t shared_memory_bytes;
} gpuready_launch_params;

/* The ABI's version: compare with GPUREADY_ABI_VERSION. */
GPUREADY_API int32_t gpuready_abi_version(void);

/* Discards the inspection: the next call that needs the machine inspects it again. */
GPUREADY_API void gpuready_refresh(void);

/* 1 when any backend is available, else 0. Takes milliseconds and starts no driver where files
 * decide (gpu_info.h). */
GPUREADY_API int32_t gpuready_gpu_available(void);
GPUREADY_API gpuready_status gpuready_get_gpu_info(gpuready_gpu_info* info);
/* "Available GPU backends: CUDA 12.1, ROCm 6.0" into text[0..capacity). */
GPUREADY_API gpuready_status gpuready_summary(const gpuready_gpu_info* info, char* text,
                                              size_t capacity);
/* GPUREADY_OK, or GPUREADY_NO_GPU with gpuready_last_error() "No GPU backend detected. ...". */
GPUREADY_API gpuready_status gpuready_preflight_check(void);
/* Fills at most `capacity` devices and sets *count to how many there are; `devices` may be null
 * when capacity is 0. Each element's `size` must be set. */
GPUREADY_API gpuready_status gpuready_list_cuda_devices(gpuready_cuda_device* devices,
                                                        size_t capacity, size_t* count);
/* From the device's limits; a null device stands for CUDA device 0. */
GPUREADY_API gpuready_status gpuready_optimal_launch_params(int64_t rows, int64_t cols,
                                                            const gpuready_cuda_device* device,
                                                            gpuready_launch_params* params);

/* The machine, or the machine with its findings, as a JSON document: what `gpuready detect --full
 * --json -` and `gpuready doctor --json -` write (schema/report.schema.json, docs/fields.md). *json
 * becomes UTF-8 text that ends with NUL, which the caller frees with gpuready_free(); null after an
 * error. */
GPUREADY_API gpuready_status gpuready_inspect_json(char** json);
GPUREADY_API gpuready_status gpuready_diagnose_json(char** json);
GPUREADY_API void gpuready_free(void* memory); /* null is allowed */

#ifdef __cplusplus
}
#endif

#endif
