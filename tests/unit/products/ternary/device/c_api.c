/* The C interface, used from C. Exits with the line of the first expectation that broke. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* bf16 is the upper half of f32, and these values need no more. */
static int halves(gpuready_ternary_engine* engine, const gpuready_ternary_weights* weights) {
  float values[K], out[N], same[N];
  uint16_t bf16[K];
  gpuready_ternary_weights* from_halves = NULL;
  for (int i = 0; i < K; ++i) {
    uint32_t bits;
    values[i] = (float)(i % 64);
    memcpy(&bits, &values[i], 4);
    bf16[i] = (uint16_t)(bits >> 16);
  }
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, 1, out, N) == GPUREADY_OK);
  EXPECT(gpuready_ternary_multiply(engine, weights, bf16, GPUREADY_TERNARY_BF16, K, 1, same, N) ==
         GPUREADY_OK);
  EXPECT(memcmp(out, same, sizeof out) == 0);
  EXPECT(gpuready_ternary_weights_from_values(engine, bf16, GPUREADY_TERNARY_BF16, K, 1, K, "tq2_0",
                                              GPUREADY_TERNARY_RULE_ABSMEAN,
                                              &from_halves) == GPUREADY_OK);
  char reason[64] = "?";
  EXPECT(gpuready_ternary_weights_fallback(from_halves, reason, sizeof reason) == GPUREADY_OK);
  EXPECT(reason[0] == 0);
  size_t count = 9;
  EXPECT(gpuready_ternary_fallback(engine, 0, reason, sizeof reason, &count) == GPUREADY_OK);
  EXPECT(count == 0 && reason[0] == 0);
  gpuready_ternary_weights_destroy(from_halves);
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
  gpuready_ternary_options options = {.size = sizeof options, .target = "tpu"};
  gpuready_ternary_engine* other = NULL;
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  EXPECT(other == NULL);
  options.target = "cpu";
  /* Sizes that end within a field, or that nobody set. */
  for (size_t size = 0; size < sizeof options; ++size) {
    options.size = size;
    EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  }
  options.size = (size_t)-1;
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  /* A newer header's struct: what is not known here must be zero. */
  struct {
    gpuready_ternary_options known;
    int32_t more[4];
  } newer = {.known = {.size = sizeof newer, .target = "cpu", .threads = 1}};
  EXPECT(gpuready_ternary_engine_create(&newer.known, &other) == GPUREADY_OK);
  gpuready_ternary_engine_destroy(other);
  newer.more[1] = 1;
  EXPECT(gpuready_ternary_engine_create(&newer.known, &other) == GPUREADY_UNSUPPORTED);
  options.size = sizeof options;
  options.strict = 7;
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_BAD_ARGUMENT);
  options.strict = 0;
  options.tier = "mmx";
  EXPECT(gpuready_ternary_engine_create(&options, &other) == GPUREADY_UNSUPPORTED_TIER);
  EXPECT(other == NULL);
  values[3] = 0;
  EXPECT(gpuready_ternary_weights_from_f32(engine, values, K, 1, K, "tq2_0",
                                           (gpuready_ternary_rule)7,
                                           &none) == GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_multiply(engine, weights, values, (gpuready_ternary_type)3, K, 1, out,
                                   N) == GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_multiply(engine, weights, values, GPUREADY_TERNARY_F16, (size_t)-1, 1,
                                   out, N) == GPUREADY_TOO_LARGE);
  for (int status = 0; status <= GPUREADY_UNSUPPORTED_TIER; ++status)
    EXPECT(strcmp(gpuready_status_text((gpuready_status)status), "unknown status") != 0);
  return 0;
}

/* cuInit fails: an automatic engine works on the CPU and says why; a strict one fails. */
static int broken_driver(const char* why) {
  gpuready_ternary_options options = {.size = sizeof options, .target = "auto", .threads = 1};
  gpuready_ternary_engine* engine = NULL;
  char text[256] = "";
  size_t count = 0;
  EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_OK);
  EXPECT(gpuready_ternary_fallback(engine, 0, text, sizeof text, &count) == GPUREADY_OK);
  EXPECT(count >= 1);
  EXPECT(strstr(text, why) != NULL);
  gpuready_ternary_engine_destroy(engine);
  engine = NULL;
  options.strict = 1;
  EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_NO_GPU);
  EXPECT(engine == NULL && strstr(gpuready_last_error(), why) != NULL);
  /* What is not to be had of the CPU is an error too, also where the environment names it. */
  options.target = "cpu";
  setenv("GPUREADY_TERNARY_TIER",
#if defined(__x86_64__)
         "neon",
#else
         "avx2",
#endif
         1);
  EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_UNSUPPORTED_TIER);
  setenv("GPUREADY_TERNARY_TIER", "\033[2J", 1);
  EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_UNSUPPORTED_TIER);
  EXPECT(strchr(gpuready_last_error(), '\033') == NULL);
  return 0;
}

// Codes with a scale for each 64 weights of a row: 1, 2, 3 and 4, which f16 and f32 both are.
static int scales_by_group(gpuready_ternary_engine* engine) {
  static const uint16_t halves[4] = {0x3C00, 0x4000, 0x4200, 0x4400};
  uint16_t f16[4 * N];
  float f32[4 * N], x[K], out[N], same[N];
  int32_t sums[N];
  gpuready_ternary_weights *weights = NULL, *from_f16 = NULL, *none = NULL;
  for (int i = 0; i < 4 * N; ++i) f16[i] = halves[i % 4], f32[i] = (float)(i % 4 + 1);
  for (int i = 0; i < K; ++i) x[i] = 127;  // a step of 1
  EXPECT(gpuready_ternary_weights_from_codes(engine, codes, N * K, N, K, f32, GPUREADY_TERNARY_F32,
                                             4 * N, 64, &weights) == GPUREADY_OK);
  EXPECT(gpuready_ternary_weights_from_codes(engine, codes, N * K, N, K, f16, GPUREADY_TERNARY_F16,
                                             4 * N, 64, &from_f16) == GPUREADY_OK);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, x, K, 1, out, N) == GPUREADY_OK);
  EXPECT(gpuready_ternary_multiply_f32(engine, from_f16, x, K, 1, same, N) == GPUREADY_OK);
  for (int n = 0; n < N; ++n) {
    int value = 0;
    for (int k = 0; k < K; ++k) value += 127 * codes[n * K + k] * (k / 64 + 1);
    EXPECT(out[n] == (float)value && same[n] == (float)value);
  }
  EXPECT(gpuready_ternary_multiply_i32(engine, weights, codes, K, 1, sums, N) ==
         GPUREADY_NOT_REPRESENTABLE);
  EXPECT(gpuready_ternary_weights_from_codes(engine, codes, N * K, N, K, f32, GPUREADY_TERNARY_F32,
                                             4 * N, 48, &none) == GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_weights_from_codes(engine, codes, N * K, N, K, f32, GPUREADY_TERNARY_F32,
                                             4 * N - 1, 64, &none) == GPUREADY_WRONG_SIZE);
  EXPECT(gpuready_ternary_weights_from_codes(engine, codes, N * K, N, K, f32,
                                             (gpuready_ternary_type)7, 4 * N, 64,
                                             &none) == GPUREADY_BAD_ARGUMENT);
  EXPECT(gpuready_ternary_weights_from_codes(engine, NULL, N * K, N, K, f32, GPUREADY_TERNARY_F32,
                                             4 * N, 64, &none) == GPUREADY_BAD_ARGUMENT);
  EXPECT(none == NULL);
  gpuready_ternary_weights_destroy(weights);
  gpuready_ternary_weights_destroy(from_f16);
  return 0;
}

/* Products and a load in a forked process, whose status is 0 when all are right. */
static int works_in_a_forked_process(const gpuready_ternary_options* options) {
  gpuready_ternary_engine* engine = NULL;
  gpuready_ternary_weights *weights = NULL, *again = NULL;
  EXPECT(gpuready_ternary_engine_create(options, &engine) == GPUREADY_OK);
  EXPECT(gpuready_ternary_weights_from_f32(engine, weight_values, N * K, N, K, "tq2_0",
                                           GPUREADY_TERNARY_RULE_OF_FORMAT,
                                           &weights) == GPUREADY_OK);
  if (products(engine, weights) != 0) return 1;
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(20);
    if (products(engine, weights) != 0 ||
        gpuready_ternary_weights_from_f32(engine, weight_values, N * K, N, K, "tq2_0",
                                          GPUREADY_TERNARY_RULE_OF_FORMAT, &again) != GPUREADY_OK ||
        products(engine, again) != 0)
      _exit(1);
    gpuready_ternary_weights_destroy(again);
    gpuready_ternary_weights_destroy(weights);
    gpuready_ternary_engine_destroy(engine);
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  if (products(engine, weights) != 0) return 1;
  gpuready_ternary_weights_destroy(weights);
  gpuready_ternary_engine_destroy(engine);
  return 0;
}

/* Where no GPU is, as the variable says that no driver is asked. */
static int forks(void) {
  gpuready_ternary_options options = {.size = sizeof options, .target = "cpu", .threads = 2};
  EXPECT(works_in_a_forked_process(&options) == 0);
  setenv("GPUREADY_FAKE", "none", 1);
  options.target = "auto";
  EXPECT(works_in_a_forked_process(&options) == 0);
  EXPECT(works_in_a_forked_process(NULL) == 0);
  unsetenv("GPUREADY_FAKE");
  options.force_cpu_fallback = 1;
  EXPECT(works_in_a_forked_process(&options) == 0);
  setenv("GPUREADY_TERNARY_FORCE_CPU", "1", 1);
  EXPECT(works_in_a_forked_process(NULL) == 0);
  unsetenv("GPUREADY_TERNARY_FORCE_CPU");
  return 0;
}

static int too_many_threads(void) {
  const uint32_t counts[] = {GPUREADY_TERNARY_THREADS_MAX + 1, UINT32_MAX};
  gpuready_ternary_engine* engine = NULL;
  gpuready_ternary_packed* packed = NULL;
  for (int i = 0; i < 2; ++i) {
    const gpuready_ternary_options options = {
        .size = sizeof options, .target = "cpu", .threads = counts[i]};
    EXPECT(gpuready_ternary_engine_create(&options, &engine) == GPUREADY_BAD_ARGUMENT);
    EXPECT(strstr(gpuready_last_error(), "at most 1024") != NULL);
    EXPECT(gpuready_ternary_pack_values(weight_values, GPUREADY_TERNARY_F32, N * K, N, K, "tq2_0",
                                        GPUREADY_TERNARY_RULE_ABSMEAN, GPUREADY_TERNARY_TWO_BIT,
                                        counts[i], &packed) == GPUREADY_BAD_ARGUMENT);
    EXPECT(strstr(gpuready_last_error(), "at most 1024") != NULL);
    EXPECT(engine == NULL && packed == NULL);
  }
  return 0;
}

static int cancelled_calls(gpuready_ternary_engine* engine,
                           const gpuready_ternary_weights* weights) {
  gpuready_ternary_cancel *cancel = NULL, *other = NULL;
  gpuready_ternary_packed* packed = NULL;
  float values[K] = {1}, out[N];
  EXPECT(gpuready_ternary_cancel_create(&cancel) == GPUREADY_OK);
  EXPECT(gpuready_ternary_cancel_create(&other) == GPUREADY_OK);
  EXPECT(gpuready_ternary_cancel_use(cancel) == GPUREADY_OK);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, 1, out, N) == GPUREADY_OK);
  EXPECT(gpuready_ternary_cancel_request(cancel) == GPUREADY_OK);
  EXPECT(gpuready_ternary_multiply_f32(engine, weights, values, K, 1, out, N) ==
         GPUREADY_CANCELLED);
  EXPECT(gpuready_ternary_pack_values(weight_values, GPUREADY_TERNARY_F32, N * K, N, K, "tq2_0",
                                      GPUREADY_TERNARY_RULE_ABSMEAN, GPUREADY_TERNARY_TWO_BIT, 1,
                                      &packed) == GPUREADY_CANCELLED);
  EXPECT(packed == NULL && strlen(gpuready_last_error()) > 10);
  EXPECT(gpuready_ternary_cancel_use(other) == GPUREADY_OK);
  gpuready_ternary_cancel_destroy(other); /* while it is used */
  if (products(engine, weights) != 0) return 1;
  EXPECT(gpuready_ternary_cancel_use(NULL) == GPUREADY_OK);
  gpuready_ternary_cancel_destroy(cancel);
  gpuready_ternary_cancel_destroy(NULL);
  EXPECT(gpuready_ternary_cancel_request(NULL) == GPUREADY_BAD_ARGUMENT);
  return products(engine, weights);
}

static int kernels_of(gpuready_ternary_engine* engine) {
  gpuready_ternary_kernel_stats stats = {.size = sizeof stats};
  size_t count = 0;
  EXPECT(gpuready_ternary_get_kernel_stats(engine, 0, &stats, &count) == GPUREADY_OK);
  EXPECT(count == 1 && stats.calls == 4 && stats.time_ms > 0);
  EXPECT(strcmp(stats.kernel, "scalar") == 0);
  EXPECT(gpuready_ternary_get_kernel_stats(engine, 1, &stats, &count) == GPUREADY_OK);
  EXPECT(count == 1 && stats.calls == 0 && stats.kernel[0] == 0);
  stats.size = 8;
  EXPECT(gpuready_ternary_get_kernel_stats(engine, 0, &stats, &count) == GPUREADY_BAD_ARGUMENT);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return broken_driver(argv[1]);
  const gpuready_ternary_options options = {
      .size = sizeof options, .target = "cpu", .threads = 1, .tier = "scalar"};
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
  if (products(engine, from_bytes) != 0) return 1;

  gpuready_ternary_stats stats;
  memset(&stats, 0x55, sizeof stats);
  stats.size = sizeof stats;
  EXPECT(gpuready_ternary_get_stats(engine, &stats) == GPUREADY_OK);
  EXPECT(stats.matmul_operations == 4 && stats.quantization_operations == 2);
  EXPECT(stats.gpu_operations == 0 && stats.cpu_operations == 6 && stats.fallback_count == 0);
  EXPECT(stats.memory_known == 1 && stats.memory_used_bytes > 0);
  EXPECT(strcmp(stats.device_type, "cpu") == 0 && strcmp(stats.target_device, "cpu") == 0);
  EXPECT(stats.avg_matmul_time_ms >= 0 && stats.device_memory_known == 0);
  if (kernels_of(engine) != 0) return 1;
  if (halves(engine, weights) != 0 || bad_input(engine, weights) != 0) return 1;
  /* A smaller struct is none of any version, and nothing is written to it. */
  memset(&stats, 0x55, sizeof stats);
  stats.size = offsetof(gpuready_ternary_stats, matmul_operations);
  EXPECT(gpuready_ternary_get_stats(engine, &stats) == GPUREADY_BAD_ARGUMENT);
  EXPECT(stats.total_operations == 0x5555555555555555u);
  char text[512], cut[4];
  EXPECT(gpuready_ternary_summary(engine, text, sizeof text) == GPUREADY_OK);
  EXPECT(strstr(text, "6 products") != NULL);
  EXPECT(gpuready_ternary_active_kernel(engine, text, sizeof text) == GPUREADY_OK);
  EXPECT(strlen(text) >= 3);
  EXPECT(gpuready_ternary_active_kernel(engine, cut, sizeof cut) == GPUREADY_OK);
  EXPECT(strlen(cut) == 3);
  puts(text);

  if (scales_by_group(engine) != 0 || too_many_threads() != 0 || forks() != 0 ||
      cancelled_calls(engine, weights) != 0)
    return 1;
  gpuready_ternary_engine_destroy(engine);
  gpuready_ternary_weights_destroy(weights);
  gpuready_ternary_weights_destroy(from_bytes);
  gpuready_ternary_weights_destroy(NULL);
  return 0;
}
