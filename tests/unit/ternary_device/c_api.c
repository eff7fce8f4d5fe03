/* The C interface, used from C. Exits with the line of the first expectation that broke. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuready/ternary_c.h"

#define EXPECT(what)                                                        \
  do {                                                                      \
    if (!(what)) {                                                          \
      fprintf(stderr, "line %d: %s; last error: \"%s\"\n", __LINE__, #what, \
              gpuready_last_error());                                       \
      return 1;                                                             \
    }                                                                       \
  } while (0)

enum { N = 3, K = 256, M = 2 };

static float weight_values[N * K];
static int8_t codes[N * K];

static int products(gpuready_ternary_engine* engine, const gpuready_ternary_weights* weights) {
  int8_t rows[M * K];
  int32_t sums[M * N];
  float values[M * K], out[M * N];
  for (int i = 0; i < M * K; ++i) rows[i] = (int8_t)(i * 37 % 255 - 127);
  EXPECT(gpuready_ternary_multiply_i32(engine, weights, rows, M * K, M, sums, M * N) ==
         GPUREADY_OK);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      int32_t sum = 0;
      for (int k = 0; k < K; ++k) sum += codes[n * K + k] * rows[m * K + k];
      EXPECT(sums[m * N + n] == sum);
    }
  /* Values that are codes already, the greatest being 127: steps are 1. */
  for (int i = 0; i < M * K; ++i) values[i] = rows[i];
  values[0] = values[K] = 127;
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, M * K, M, out, M * N) ==
         GPUREADY_OK);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += (float)codes[n * K + k] * values[m * K + k];
      EXPECT(out[m * N + n] == 0.5f * sum); /* the weights' scale */
    }
  return 0;
}

static int bad_input(gpuready_ternary_engine* engine, const gpuready_ternary_weights* weights) {
  float values[K] = {0}, out[N] = {7, 7, 7};
  gpuready_ternary_weights* none = NULL;
  EXPECT(gpuready_ternary_multiply_f32(NULL, weights, values, K, 1, out, N) ==
         GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_multiply_f32(engine, NULL, values, K, 1, out, N) ==
         GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K - 1, 1, out, N) ==
         GPUREADY_WRONG_SIZE);
  EXPECT(strlen(gpuready_last_error()) > 10);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, 1, out, N - 1) ==
         GPUREADY_WRONG_SIZE);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, -1, out, N) ==
         GPUREADY_WRONG_SIZE);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, INT64_MAX, out, N) ==
         GPUREADY_WRONG_SIZE);
  values[3] = NAN;
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, 1, out, N) ==
         GPUREADY_NOT_FINITE);
  EXPECT(out[0] == 7 && out[1] == 7 && out[2] == 7);
  EXPECT(gpuready_ternary_weights_from_f32(engine, values, K, 1, K, "I2_S", 0, &none) ==
         GPUREADY_AMBIGUOUS_FORMAT);
  EXPECT(strstr(gpuready_last_error(), "i2_s-x86") != NULL);
  EXPECT(gpuready_ternary_weights_from_f32(engine, values, K, 1, K, "q4_0", 0, &none) ==
         GPUREADY_UNKNOWN_FORMAT);
  EXPECT(gpuready_ternary_weights_from_bytes(engine, "tq2_0", 1, K, "short", 5, NULL, 0, &none) !=
         GPUREADY_OK);
  EXPECT(none == NULL);
  gpuready_ternary_options options = {sizeof options, "tpu", 0, 0, 0, 0, 0};
  gpuready_ternary_engine* other = NULL;
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  EXPECT(other == NULL);
  options.size = 0;
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  for (int status = 0; status <= GPUREADY_UNSUPPORTED_TIER; ++status)
    EXPECT(strcmp(gpuready_status_text((gpuready_status)status), "unknown status") != 0);
  return 0;
}

int main(void) {
  const gpuready_ternary_options options = {sizeof options, "cpu", 0, 0, 0, 0, 1};
  gpuready_ternary_engine* engine = NULL;
  gpuready_ternary_weights *weights = NULL, *from_bytes = NULL;
  for (int i = 0; i < N * K; ++i) {
    codes[i] = (int8_t)(i * 7 % 3 - 1);
    weight_values[i] = 0.5f * (float)codes[i];
  }
  EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_OK);
  EXPECT(gpuready_ternary_weights_from_f32(engine, weight_values, N * K, N, K, "tq2_0",
                                           GPUREADY_TERNARY_RULE_OF_FORMAT,
                                           &weights) == GPUREADY_OK);
  int64_t rows = 0, cols = 0;
  int32_t on_device = 9;
  EXPECT(gpuready_ternary_weights_info(weights, &rows, &cols, &on_device) == GPUREADY_OK);
  EXPECT(rows == N && cols == K && on_device == 0);
  if (products(engine, weights) != 0) return 1;

  size_t bytes = 0, scales = 0;
  EXPECT(gpuready_ternary_encoded_size("i2_s-bitnet-rs", N, K, &bytes, &scales) == GPUREADY_OK);
  EXPECT(bytes == N * K / 4 && scales == N * K / 32);
  EXPECT(gpuready_ternary_encoded_size("tq2_0", N, K, &bytes, &scales) == GPUREADY_OK);
  EXPECT(bytes == N * 66 && scales == 0);
  void* encoded = malloc(bytes);
  EXPECT(gpuready_ternary_quantise_f32(engine, weight_values, N * K, N, K, "tq2_0", 0, encoded,
                                       bytes - 1, NULL, 0) == GPUREADY_WRONG_SIZE);
  EXPECT(gpuready_ternary_quantise_f32(engine, weight_values, N * K, N, K, "tq2_0", 0, encoded,
                                       bytes, NULL, 0) == GPUREADY_OK);
  EXPECT(gpuready_ternary_weights_from_bytes(engine, "tq2_0", N, K, encoded, bytes, NULL, 0,
                                             &from_bytes) == GPUREADY_OK);
  free(encoded);
  if (products(engine, from_bytes) != 0 || bad_input(engine, weights) != 0) return 1;

  gpuready_ternary_stats stats;
  memset(&stats, 0x55, sizeof stats);
  stats.size = sizeof stats;
  EXPECT(gpuready_ternary_get_stats(engine, &stats) == GPUREADY_OK);
  EXPECT(stats.matmul_operations == 4 && stats.quantization_operations == 2);
  EXPECT(stats.gpu_operations == 0 && stats.cpu_operations == 6 && stats.fallback_count == 0);
  EXPECT(stats.memory_known == 1 && stats.memory_used_bytes > 0);
  EXPECT(strcmp(stats.device_type, "cpu") == 0 && strcmp(stats.target_device, "cpu") == 0);
  /* A smaller struct is none of any version, and nothing is written to it. */
  memset(&stats, 0x55, sizeof stats);
  stats.size = offsetof(gpuready_ternary_stats, matmul_operations);
  EXPECT(gpuready_ternary_get_stats(engine, &stats) == GPUREADY_BAD_ARGUMENT);
  EXPECT(stats.total_operations == 0x5555555555555555u);
  char text[512], cut[4];
  EXPECT(gpuready_ternary_summary(engine, text, sizeof text) == GPUREADY_OK);
  EXPECT(strstr(text, "4 products") != NULL);
  EXPECT(gpuready_ternary_active_kernel(engine, text, sizeof text) == GPUREADY_OK);
  EXPECT(strlen(text) >= 3);
  EXPECT(gpuready_ternary_active_kernel(engine, cut, sizeof cut) == GPUREADY_OK);
  EXPECT(strlen(cut) == 3);
  puts(text);

  gpuready_ternary_engine_destroy(engine);
  gpuready_ternary_weights_destroy(weights);
  gpuready_ternary_weights_destroy(from_bytes);
  gpuready_ternary_weights_destroy(NULL);
  return 0;
}
