/* The C interface of gpuready/ternary_device.h: ternary (1.58-bit) weights on the best device of
 * this machine. Caller-owned memory, opaque handles, no exceptions; every function may be called
 * from any thread. Products and quantisations on one engine are made one after the other, each by
 * all the threads that it is worth; a second engine works at the same time, by the same threads
 * where both have one pool_run. In a process that was forked later an engine without a GPU works on
 * the caller's thread; one with a GPU gives GPUREADY_UNSUPPORTED. Sizes are numbers of elements
 * and are all checked: nothing is read or written beyond them. A struct begins with `size`, which
 * the caller sets to sizeof. A smaller size is refused; of a larger one, which a newer header has,
 * what this library does not know must be zero in options, and is set to zero in results. Fields
 * and enums whose value does not exist are refused.
 *
 * Weights are N x K (rows x cols), activations M x K, products M x N, all row-major. Formats are
 * named as in docs/ternary.md: "tq2_0", "i2_s-x86"; "I2_S" by itself is ambiguous, which is an
 * error. */
#ifndef GPUREADY_TERNARY_C_H
#define GPUREADY_TERNARY_C_H

#include <stddef.h>
#include <stdint.h>

#include "gpuready/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gpuready_ternary_rule {
  GPUREADY_TERNARY_RULE_OF_FORMAT = 0,
  GPUREADY_TERNARY_RULE_ABSMEAN = 1 /* BitNet b1.58 */
} gpuready_ternary_rule;

/* Of values; f16 and bf16 are given as their 16 bits. */
typedef enum gpuready_ternary_type {
  GPUREADY_TERNARY_F32 = 0,
  GPUREADY_TERNARY_F16 = 1,
  GPUREADY_TERNARY_BF16 = 2
} gpuready_ternary_type;

typedef struct gpuready_ternary_engine gpuready_ternary_engine;
typedef struct gpuready_ternary_weights gpuready_ternary_weights;

/* Zeros, and a null `target`, leave a choice to the environment and the defaults that
 * ternary_device.h tells. */
typedef struct gpuready_ternary_options {
  size_t size;
  const char* target;         /* "auto", "cpu", "cuda", "cuda:0", "cuda:GPU-...", "vulkan" */
  int32_t strict;             /* 1: yes, -1: no, 0: as the environment says */
  int32_t force_cpu_fallback; /* the same */
  uint64_t memory_limit_bytes, expected_bytes;
  uint32_t threads; /* of the CPU's part, at most GPUREADY_TERNARY_THREADS_MAX; 0: all CPUs */
  /* Number of consecutive errors after which the device is not used: 0 is 3, -1 is never. */
  int32_t breaker_errors;
  /* Calls on the CPU, or time, after which it is tried again: 0 is 1000 and 30000. */
  uint64_t breaker_retry_calls, breaker_cool_down_ms;
  const char* tier; /* of the CPU's part: "scalar", "avx2", ...; null: the best */
  /* Threads of the caller's for the CPU's part, in place of the library's own; null: none. Calls
   * task(argument, index) once for each index below `count` (at most pool_threads), on any threads,
   * at once or one after the other, and returns when all are done. While it waits, neither it nor
   * its threads may begin or wait for another call on the same engine. */
  void (*pool_run)(void* pool_context, unsigned count, void (*task)(void* argument, unsigned index),
                   void* argument);
  void* pool_context;
  uint32_t pool_threads;
} gpuready_ternary_options;

enum { GPUREADY_TERNARY_TEXT_MAX = 256, GPUREADY_TERNARY_THREADS_MAX = 1024 };

typedef struct gpuready_ternary_stats {
  size_t size;
  uint64_t total_operations, quantization_operations, matmul_operations;
  double total_time_ms, quantization_time_ms, matmul_time_ms;
  uint64_t gpu_operations, cpu_operations, failed_operations, fallback_count;
  double gpu_efficiency; /* -1 before the first operation */
  int32_t gpu_effective; /* 1: more than 80% of the operations ran on the GPU */
  int32_t device_lost;   /* 0 or 1 */
  int32_t breaker;       /* 0 closed, 1 open, 2 half-open */
  int32_t memory_known;  /* 1: the next two are the host's; 0: the system does not tell */
  uint64_t memory_used_bytes, memory_total_bytes;
  int32_t device_memory_known; /* 1: the next two are the device's, as its driver told last */
  uint64_t device_memory_used_bytes, device_memory_total_bytes;
  uint64_t device_weights_bytes, host_weights_bytes, device_errors, breaker_trips;
  double avg_quantization_time_ms, avg_matmul_time_ms; /* -1 before the first of that kind */
  char device_type[GPUREADY_TERNARY_TEXT_MAX];         /* "cuda", "vulkan", "cpu" */
  char device_name[GPUREADY_TERNARY_TEXT_MAX];
  char target_device[GPUREADY_TERNARY_TEXT_MAX];  /* "auto" */
  char last_gpu_error[GPUREADY_TERNARY_TEXT_MAX]; /* "" when there was none */
  char last_cpu_error[GPUREADY_TERNARY_TEXT_MAX];
  char last_fallback_reason[GPUREADY_TERNARY_TEXT_MAX];
} gpuready_ternary_stats;

/* `options` may be null. */
GPUREADY_API gpuready_status gpuready_ternary_engine_create(const gpuready_ternary_options* options,
                                                            gpuready_ternary_engine** engine);
/* Why the device that was asked for, a GPU whose driver fails, or a better CPU tier was not taken:
 * sets *count to how many reasons there are, and writes the one with this index, cut to fit, where
 * there is one. `text` may be null when capacity is 0. */
GPUREADY_API gpuready_status gpuready_ternary_fallback(gpuready_ternary_engine* engine,
                                                       size_t index, char* text, size_t capacity,
                                                       size_t* count);
/* Null is allowed. Weights may outlive their engine; they keep its device open. */
GPUREADY_API void gpuready_ternary_engine_destroy(gpuready_ternary_engine* engine);

/* Bytes that rows x cols weights take in a format, and how many f32 scales lie beside them. */
GPUREADY_API gpuready_status gpuready_ternary_encoded_size(const char* format, int64_t rows,
                                                           int64_t cols, size_t* bytes,
                                                           size_t* scales);
/* Quantises `count` = rows * cols values of a type. `bytes` and `scales` must have exactly the
 * sizes that gpuready_ternary_encoded_size() tells; `scales` may be null where that is 0. */
GPUREADY_API gpuready_status gpuready_ternary_quantise(
    gpuready_ternary_engine* engine, const void* values, gpuready_ternary_type type, size_t count,
    int64_t rows, int64_t cols, const char* format, gpuready_ternary_rule rule, void* bytes,
    size_t byte_count, float* scales, size_t scale_count);
/* The same of f32 values. */
GPUREADY_API gpuready_status gpuready_ternary_quantise_f32(
    gpuready_ternary_engine* engine, const float* values, size_t count, int64_t rows, int64_t cols,
    const char* format, gpuready_ternary_rule rule, void* bytes, size_t byte_count, float* scales,
    size_t scale_count);

/* Quantises and loads. */
GPUREADY_API gpuready_status gpuready_ternary_weights_from_values(
    gpuready_ternary_engine* engine, const void* values, gpuready_ternary_type type, size_t count,
    int64_t rows, int64_t cols, const char* format, gpuready_ternary_rule rule,
    gpuready_ternary_weights** weights);
GPUREADY_API gpuready_status gpuready_ternary_weights_from_f32(
    gpuready_ternary_engine* engine, const float* values, size_t count, int64_t rows, int64_t cols,
    const char* format, gpuready_ternary_rule rule, gpuready_ternary_weights** weights);
/* Loads bytes of a format, of any alignment; `scales` where the format keeps them beside. */
GPUREADY_API gpuready_status gpuready_ternary_weights_from_bytes(
    gpuready_ternary_engine* engine, const char* format, int64_t rows, int64_t cols,
    const void* bytes, size_t byte_count, const float* scales, size_t scale_count,
    gpuready_ternary_weights** weights);
/* Loads rows x cols codes of -1, 0 and +1 with scales of a type: one a row where `group` is 0, else
 * one for each `group` (32, 64, 128 or 256) weights of a row, the last may have fewer,
 * row-major. Weights with scales by group, also those of files, have no
 * gpuready_ternary_multiply_i32(). */
GPUREADY_API gpuready_status gpuready_ternary_weights_from_codes(
    gpuready_ternary_engine* engine, const int8_t* codes, size_t code_count, int64_t rows,
    int64_t cols, const void* scales, gpuready_ternary_type scale_type, size_t scale_count,
    int64_t group, gpuready_ternary_weights** weights);
GPUREADY_API void gpuready_ternary_weights_destroy(gpuready_ternary_weights* weights);
/* Each may be null but `weights`; on_device is 0 or 1. */
GPUREADY_API gpuready_status gpuready_ternary_weights_info(const gpuready_ternary_weights* weights,
                                                           int64_t* rows, int64_t* cols,
                                                           int32_t* on_device);

/* Why the weights are on the CPU though the engine has a GPU, cut to fit; "" when they are not. */
GPUREADY_API gpuready_status gpuready_ternary_weights_fallback(
    const gpuready_ternary_weights* weights, char* text, size_t capacity);

/* out (M x N) from `activation_count` = M x K values of a type, which are quantised to int8 a row
 * each. */
GPUREADY_API gpuready_status gpuready_ternary_multiply(gpuready_ternary_engine* engine,
                                                       const gpuready_ternary_weights* weights,
                                                       const void* activations,
                                                       gpuready_ternary_type type,
                                                       size_t activation_count, int64_t m,
                                                       float* out, size_t out_count);
/* The same from f32 values. */
GPUREADY_API gpuready_status gpuready_ternary_multiply_f32(gpuready_ternary_engine* engine,
                                                           const gpuready_ternary_weights* weights,
                                                           const float* activations,
                                                           size_t activation_count, int64_t m,
                                                           float* out, size_t out_count);
/* The same into `out_bytes` of a type (M x N elements, aligned to one), with what is added to the
 * f32 product before it is rounded to that type: bias[n], then residual[m][n], each sum rounded to
 * f32. Either may be null; the residual may be `out` where both have one type. */
GPUREADY_API gpuready_status gpuready_ternary_multiply_add(
    gpuready_ternary_engine* engine, const gpuready_ternary_weights* weights,
    const void* activations, gpuready_ternary_type type, size_t activation_count, int64_t m,
    const void* bias, gpuready_ternary_type bias_type, const void* residual,
    gpuready_ternary_type residual_type, void* out, gpuready_ternary_type out_type,
    size_t out_bytes);
/* Exact sums of codes: out[m][n] = sum over k of w[n][k] * activations[m][k]. */
GPUREADY_API gpuready_status gpuready_ternary_multiply_i32(gpuready_ternary_engine* engine,
                                                           const gpuready_ternary_weights* weights,
                                                           const int8_t* activations,
                                                           size_t activation_count, int64_t m,
                                                           int32_t* out, size_t out_count);

/* ---- Packed weights: what the CPU's kernels read and ternary_cuda_c.h loads -------------------
 */

typedef struct gpuready_ternary_packed gpuready_ternary_packed;
typedef enum gpuready_ternary_form {
  GPUREADY_TERNARY_TWO_BIT = 0,
  GPUREADY_TERNARY_THREE_TRITS = 1 /* smaller; docs/performance-ternary.md: where quicker */
} gpuready_ternary_form;

/* Here and below `threads` (at most GPUREADY_TERNARY_THREADS_MAX) work, only for the call; 0: as
 * many as this process has CPUs. The bytes do not depend on their number. */
/* From bytes of a format, of any alignment; `scales` where the format keeps them beside. */
GPUREADY_API gpuready_status gpuready_ternary_pack(const char* format, int64_t rows, int64_t cols,
                                                   const void* bytes, size_t byte_count,
                                                   const float* scales, size_t scale_count,
                                                   gpuready_ternary_form form, uint32_t threads,
                                                   gpuready_ternary_packed** packed);
/* From `count` = rows * cols values, quantised to a format. */
GPUREADY_API gpuready_status gpuready_ternary_pack_values(
    const void* values, gpuready_ternary_type type, size_t count, int64_t rows, int64_t cols,
    const char* format, gpuready_ternary_rule rule, gpuready_ternary_form form, uint32_t threads,
    gpuready_ternary_packed** packed);
GPUREADY_API void gpuready_ternary_packed_destroy(gpuready_ternary_packed* packed);
/* Each may be null but `packed`; saved_bytes is the size of the saved form. */
GPUREADY_API gpuready_status gpuready_ternary_packed_info(const gpuready_ternary_packed* packed,
                                                          int64_t* rows, int64_t* cols,
                                                          size_t* bytes, size_t* saved_bytes);
/* The saved form, which a file can hold: the same on every CPU. */
GPUREADY_API gpuready_status gpuready_ternary_packed_save(const gpuready_ternary_packed* packed,
                                                          void* to, size_t saved_bytes);
/* Weights in a saved form, without a copy: `saved` begins at a multiple of 64 (a mapped file does)
 * and stays as it is until the handle, and all that was made of it but what is on a GPU, is
 * destroyed. With `trust` 0 all of it is read once and checked, so that any file may be given; with
 * 1 only the header, sums and scales. */
GPUREADY_API gpuready_status gpuready_ternary_packed_view(const void* saved, size_t saved_bytes,
                                                          int32_t trust, uint32_t threads,
                                                          gpuready_ternary_packed** packed);
/* Loads packed weights into an engine, which shares them. */
GPUREADY_API gpuready_status gpuready_ternary_weights_from_packed(
    gpuready_ternary_engine* engine, const gpuready_ternary_packed* packed,
    gpuready_ternary_weights** weights);

/* ---- GGUF files, read where they lie in memory (ternary_gguf.h) -------------------------------
 */

typedef struct gpuready_ternary_gguf gpuready_ternary_gguf;

/* `bytes` (a mapped file, say) stay as they are until the handle is destroyed. */
GPUREADY_API gpuready_status gpuready_ternary_gguf_read(const void* bytes, size_t size,
                                                        gpuready_ternary_gguf** file);
GPUREADY_API void gpuready_ternary_gguf_destroy(gpuready_ternary_gguf* file);
GPUREADY_API gpuready_status gpuready_ternary_gguf_count(const gpuready_ternary_gguf* file,
                                                         size_t* tensors);
GPUREADY_API gpuready_status gpuready_ternary_gguf_find(const gpuready_ternary_gguf* file,
                                                        const char* name, size_t* index);
/* The name is cut to fit; each pointer may be null, `name` when capacity is 0. `type` is ggml's
 * number. */
GPUREADY_API gpuready_status gpuready_ternary_gguf_tensor(const gpuready_ternary_gguf* file,
                                                          size_t index, char* name, size_t capacity,
                                                          int64_t* rows, int64_t* cols,
                                                          uint32_t* type);
/* Packs a tensor's weights, which need the file no longer. `layout` names a format where the type
 * stands for several ("i2_s-x86"), else it may be null. */
GPUREADY_API gpuready_status gpuready_ternary_gguf_pack(const gpuready_ternary_gguf* file,
                                                        size_t index, const char* layout,
                                                        gpuready_ternary_form form,
                                                        uint32_t threads,
                                                        gpuready_ternary_packed** packed);

GPUREADY_API gpuready_status gpuready_ternary_get_stats(gpuready_ternary_engine* engine,
                                                        gpuready_ternary_stats* stats);

/* The products that one kernel computed, on this host's clock, with copies and failed tries. */
typedef struct gpuready_ternary_kernel_stats {
  size_t size;
  uint64_t calls;
  double time_ms;
  char kernel[GPUREADY_TERNARY_TEXT_MAX]; /* "avx512-vnni" */
} gpuready_ternary_kernel_stats;

/* Sets *count to how many kernels computed products, and fills `stats` with the one with this
 * index, where there is one; else only its `size` stays. */
GPUREADY_API gpuready_status gpuready_ternary_get_kernel_stats(gpuready_ternary_engine* engine,
                                                               size_t index,
                                                               gpuready_ternary_kernel_stats* stats,
                                                               size_t* count);
/* Texts are cut to fit and end with NUL: the kernel of the last product ("avx512-vnni"), and one
 * line of statistics. */
GPUREADY_API gpuready_status gpuready_ternary_active_kernel(gpuready_ternary_engine* engine,
                                                            char* text, size_t capacity);
GPUREADY_API gpuready_status gpuready_ternary_summary(gpuready_ternary_engine* engine, char* text,
                                                      size_t capacity);

/* ---- Ending calls early ----------------------------------------------------------------------
 */

/* One request to stop, which any thread makes, for the calls of the threads that use it. */
typedef struct gpuready_ternary_cancel gpuready_ternary_cancel;

GPUREADY_API gpuready_status gpuready_ternary_cancel_create(gpuready_ternary_cancel** cancel);
/* Null is allowed. Threads that still use it can no longer be asked to stop. */
GPUREADY_API void gpuready_ternary_cancel_destroy(gpuready_ternary_cancel* cancel);
/* From now on this thread's calls of this header return GPUREADY_CANCELLED when the request is
 * made: a call that begins later at once, one that is under way between two pieces of its work, and
 * one that waits for an engine when its turn comes. What it writes to is then undefined; engines
 * work on. A GPU ends the product that it has begun. Null: this thread is no longer asked. */
GPUREADY_API gpuready_status gpuready_ternary_cancel_use(gpuready_ternary_cancel* cancel);
/* Makes the request. It stays: later calls need another one. */
GPUREADY_API gpuready_status gpuready_ternary_cancel_request(gpuready_ternary_cancel* cancel);

#ifdef __cplusplus
}
#endif

#endif
