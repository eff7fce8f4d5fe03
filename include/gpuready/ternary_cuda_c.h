/* The C interface of gpuready/ternary_cuda.h: ternary products on a caller's CUDA context and
 * streams. Device memory in, device memory out, asynchronous; no CUDA header is needed. A stream is
 * a CUstream or a cudaStream_t (null: the legacy default stream), an address of the device is what
 * cudaMalloc() or a tensor's data_ptr() returned. What ternary_cuda.h says of captures, threads and
 * lifetimes holds here too. */
#ifndef GPUREADY_TERNARY_CUDA_C_H
#define GPUREADY_TERNARY_CUDA_C_H

#include "gpuready/ternary_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuready_ternary_cuda gpuready_ternary_cuda;
typedef struct gpuready_ternary_cuda_weights gpuready_ternary_cuda_weights;
typedef struct gpuready_ternary_cuda_activations gpuready_ternary_cuda_activations;

typedef enum gpuready_ternary_output {
  GPUREADY_TERNARY_OUT_INT32 = 0,
  GPUREADY_TERNARY_OUT_F32 = 1,
  GPUREADY_TERNARY_OUT_BF16 = 2,
  GPUREADY_TERNARY_OUT_F16 = 3
} gpuready_ternary_output;

/* `context` is a CUcontext; null: the calling thread's current one. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_create(void* context,
                                                          gpuready_ternary_cuda** engine);
GPUREADY_API void gpuready_ternary_cuda_destroy(
    gpuready_ternary_cuda* engine); /* null is allowed */

/* `count` packed weights, stacked: their rows follow each other, and all but the last have rows in
 * whole sixteens. Complete when it returns; the packed form is needed no longer. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_load(
    gpuready_ternary_cuda* engine, const gpuready_ternary_packed* const* stacked, size_t count,
    gpuready_ternary_cuda_weights** weights);
/* Gives the device's memory back, so not while a stream still uses it or captures. */
GPUREADY_API void gpuready_ternary_cuda_weights_destroy(gpuready_ternary_cuda_weights* weights);
/* Each may be null but `weights`. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_weights_info(
    const gpuready_ternary_cuda_weights* weights, int64_t* rows, int64_t* cols, size_t* bytes);

/* Room for up to m rows of quantised activations of k columns. */
GPUREADY_API gpuready_status
gpuready_ternary_cuda_activations_create(gpuready_ternary_cuda* engine, int64_t m, int64_t k,
                                         gpuready_ternary_cuda_activations** activations);
GPUREADY_API void gpuready_ternary_cuda_activations_destroy(
    gpuready_ternary_cuda_activations* activations);

/* Bytes that a product of m rows with n x k weights needs beside its operands; 0 for most shapes.
 */
GPUREADY_API gpuready_status gpuready_ternary_cuda_workspace(gpuready_ternary_cuda* engine,
                                                             int64_t n, int64_t k, int64_t m,
                                                             size_t* bytes);
/* Loads the code for such a product; the first product does it else, which a capture forbids. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_prepare(gpuready_ternary_cuda* engine, int64_t n,
                                                           int64_t k, int64_t m);
/* The kernel of such a product, "int8-wgmma", cut to fit. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_kernel(gpuready_ternary_cuda* engine, int64_t n,
                                                          int64_t k, int64_t m, char* text,
                                                          size_t capacity);

/* Asynchronous on `stream`: int8 codes of m rows of values. `bytes` is what they take. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_quantise(
    gpuready_ternary_cuda* engine, void* stream, const void* values, gpuready_ternary_type type,
    size_t bytes, gpuready_ternary_cuda_activations* into, int64_t m);
/* Asynchronous: out[m][n] of the first m rows that were quantised. `out_bytes` is what it takes. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_multiply(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const gpuready_ternary_cuda_activations* activations, int64_t m, void* out,
    gpuready_ternary_output out_type, size_t out_bytes, void* workspace, size_t workspace_bytes);
/* Both, by one kernel where that is quicker; the content of `room` afterwards is undefined. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_multiply_values(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, int64_t m, void* out, gpuready_ternary_output out_type,
    size_t out_bytes, void* workspace, size_t workspace_bytes);
/* gpuready_ternary_cuda_multiply() with what is added to the f32 products before they are rounded
 * to the output's type (not int32): `bias` has n values, `residual` m x n, and may be `out` where
 * both have one type. Either may be null. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_multiply_add(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const gpuready_ternary_cuda_activations* activations, int64_t m, const void* bias,
    gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type residual_type,
    void* out, gpuready_ternary_output out_type, size_t out_bytes, void* workspace,
    size_t workspace_bytes);
/* The same of values, as gpuready_ternary_cuda_multiply_values(). */
GPUREADY_API gpuready_status gpuready_ternary_cuda_multiply_values_add(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, int64_t m, const void* bias,
    gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type residual_type,
    void* out, gpuready_ternary_output out_type, size_t out_bytes, void* workspace,
    size_t workspace_bytes);
/* Rows of activations that are sorted by expert: the first rows[0] meet weights[0], and so on.
 * `rows` is host memory. */
GPUREADY_API gpuready_status gpuready_ternary_cuda_multiply_grouped(
    gpuready_ternary_cuda* engine, void* stream,
    const gpuready_ternary_cuda_weights* const* weights, const int64_t* rows, size_t groups,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, void* out, gpuready_ternary_output out_type,
    size_t out_bytes, void* workspace, size_t workspace_bytes);
/* Waits for the stream; GPUREADY_NOT_FINITE where one of the m rows held a NaN or an infinity. */
GPUREADY_API gpuready_status
gpuready_ternary_cuda_check(gpuready_ternary_cuda* engine, void* stream,
                            const gpuready_ternary_cuda_activations* activations, int64_t m);

#ifdef __cplusplus
}
#endif

#endif
