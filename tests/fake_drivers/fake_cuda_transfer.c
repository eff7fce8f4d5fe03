/* What the kernels of the bandwidth and peers tests must do, written down a second time, as
 * docs/bandwidth-test.md says. */
#include <string.h>

#include "fake_cuda.h"

typedef uint64_t word_t;

static word_t load(uint64_t address) {
  word_t value;
  memcpy(&value, (const void*)(uintptr_t)address, 8);
  return value;
}
static void store(uint64_t address, word_t value) { memcpy((void*)(uintptr_t)address, &value, 8); }

static void run_fill(const void* params) {
  uint64_t p[4]; /* target, words, salt, results */
  memcpy(p, params, sizeof p);
  uint64_t* results = (uint64_t*)(uintptr_t)p[3];
  for (uint64_t i = 0; i < p[1]; ++i) {
    store(p[0] + 8 * i, fake_pattern_word(i + p[2]));
    results[0] += 1;
    results[1] += i + p[2];
  }
}

/* results: words, sum, bad, first bad, recorded, 3 unused, entries of 3 */
static void note(uint64_t* results, uint64_t index, word_t expected, word_t actual) {
  results[2] += 1;
  if (index < results[3]) results[3] = index;
  const uint64_t slot = results[4]++;
  if (slot >= 256) return;
  uint64_t* entry = results + 8 + 3 * slot;
  entry[0] = index, entry[1] = expected, entry[2] = actual;
}

static void run_check(const void* params) {
  uint64_t p[4]; /* base, words, salt, results */
  memcpy(p, params, sizeof p);
  uint64_t* results = (uint64_t*)(uintptr_t)p[3];
  for (uint64_t i = 0; i < p[1]; ++i) {
    const word_t actual = load(p[0] + 8 * i), expected = fake_pattern_word(i + p[2]);
    results[0] += 1;
    results[1] += fake_position_of(actual);
    if (actual != expected) note(results, i, expected, actual);
  }
}

static void run_check_sum(const void* params) {
  uint64_t p[6]; /* base, words, salt a, salt b, halves, results */
  memcpy(p, params, sizeof p);
  uint64_t* results = (uint64_t*)(uintptr_t)p[5];
  for (uint64_t i = 0; i < p[1]; ++i) {
    const word_t a = fake_pattern_word(i + p[2]), b = fake_pattern_word(i + p[3]);
    const word_t low = (a % 4294967296u + b % 4294967296u) % 4294967296u;
    const word_t high = (a / 4294967296u + b / 4294967296u) % 4294967296u;
    const word_t expected = p[4] ? high * 4294967296u + low : a + b, actual = load(p[0] + 8 * i);
    results[0] += 1;
    results[1] += actual;
    if (actual != expected) note(results, i, expected, actual);
  }
}

static void run_atomics(const void* params) {
  uint64_t p[4]; /* counters, count, adds each, results */
  memcpy(p, params, sizeof p);
  uint64_t* results = (uint64_t*)(uintptr_t)p[3];
  for (uint64_t add = 0; add < p[2]; ++add) {
    for (uint64_t i = 0; i < p[1]; ++i) {
      const word_t before = load(p[0] + 8 * i);
      store(p[0] + 8 * i, before + 1);
      results[0] += 1;
      results[1] += before;
    }
  }
}

static const struct {
  const char* name;
  void (*run)(const void*);
} kKernels[] = {{"gpuready_transfer_fill", run_fill},
                {"gpuready_transfer_check", run_check},
                {"gpuready_transfer_check_sum", run_check_sum},
                {"gpuready_peer_atomics", run_atomics}};

int fake_run_transfer(const char* name, const void* params) {
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(kKernels[i].name, name) != 0) continue;
    if (params) kKernels[i].run(params);
    return 1;
  }
  return 0;
}
