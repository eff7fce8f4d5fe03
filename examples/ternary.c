/* Ternary weights through the C interface: packs 3 x 256 weights, multiplies one row of
 * activations, and tells which kernel did it and what was counted. cc ternary.c $(pkg-config
 * --cflags --libs gpuready) */
#include <stdio.h>

#include "gpuready/ternary_c.h"

enum { ROWS = 3, COLS = 256 };

static int failed(const char* what) {
  printf("%s: %s\n", what, gpuready_last_error());
  return 1;
}

int main(void) {
  float values[ROWS * COLS];
  int8_t activations[COLS];
  int32_t out[ROWS];
  for (int i = 0; i < ROWS * COLS; ++i) values[i] = 0.5f * (float)(i % 3 - 1);
  for (int i = 0; i < COLS; ++i) activations[i] = (int8_t)(i / 2);

  gpuready_ternary_engine* engine = NULL;
  gpuready_ternary_weights* weights = NULL;
  if (gpuready_ternary_engine_create(NULL, &engine) != GPUREADY_OK) return failed("no engine");
  if (gpuready_ternary_weights_from_f32(engine, values, ROWS * COLS, ROWS, COLS, "tq2_0",
                                        GPUREADY_TERNARY_RULE_OF_FORMAT, &weights) != GPUREADY_OK)
    return failed("no weights");
  if (gpuready_ternary_multiply_i32(engine, weights, activations, COLS, 1, out, ROWS) !=
      GPUREADY_OK)
    return failed("no product");
  printf("product: %d %d %d\n", (int)out[0], (int)out[1], (int)out[2]);

  char kernel[GPUREADY_TERNARY_TEXT_MAX];
  gpuready_ternary_stats stats = {.size = sizeof stats};
  if (gpuready_ternary_active_kernel(engine, kernel, sizeof kernel) != GPUREADY_OK ||
      gpuready_ternary_get_stats(engine, &stats) != GPUREADY_OK)
    return failed("no statistics");
  printf("kernel: %s on %s (%s)\n", kernel, stats.device_type, stats.device_name);
  printf("operations: %d quantised, %d multiplied, %d fallbacks\n",
         (int)stats.quantization_operations, (int)stats.matmul_operations,
         (int)stats.fallback_count);

  gpuready_ternary_weights_destroy(weights);
  gpuready_ternary_engine_destroy(engine);
  return 0;
}
