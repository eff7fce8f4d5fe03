/* What each kernel must do, written down a second time: straight from docs/memory-test.md, and
 * sharing no code with src/kernels, so that each checks the other. */
#include <string.h>

#include "fake_cuda.h"

static uint64_t rotr32(uint64_t value, int bits) {
  const uint64_t doubled = (value & 0xffffffffu) << 32 | (value & 0xffffffffu);
  return (doubled >> bits) & 0xffffffffu;
}

uint64_t fake_pattern_word(uint64_t position) {
  uint64_t low = position % 4294967296u, high = position / 4294967296u;
  high = (high + low * 2654435761u) % 4294967296u;
  low ^= rotr32(high, 28);
  high = (high + low * 2246822507u) % 4294967296u;
  low ^= rotr32(high, 23);
  return high * 4294967296u + low;
}

/* The host's address of the cell that a device address reaches. */
static unsigned char* cell(const struct fake_memory* memory, uint64_t address) {
  uint64_t offset = address - (uint64_t)(uintptr_t)memory->base;
  if (offset >= memory->bytes) return (unsigned char*)(uintptr_t)address;
  if (memory->alias) offset &= ~(memory->bytes / 2);
  return memory->base + offset;
}

static uint64_t read_word(const struct fake_memory* memory, uint64_t address) {
  uint64_t word;
  const unsigned char* from = cell(memory, address);
  memcpy(&word, from, 8);
  if (memory->stuck_bit >= 0 && from == memory->base + memory->stuck_offset) {
    word |= (uint64_t)1 << memory->stuck_bit;
  }
  return word;
}

struct pass {
  uint64_t base, words, first, salt, invert, results, fault_index, fault_bits;
};

static void run_write(const struct fake_memory* memory, const void* params) {
  struct pass p;
  memcpy(&p, params, sizeof p);
  for (uint64_t i = 0; i < p.words; ++i) {
    uint64_t word = fake_pattern_word(p.first + i + p.salt) ^ p.invert;
    if (p.first + i == p.fault_index) word ^= p.fault_bits;
    unsigned char* to = cell(memory, p.base + 8 * i);
    if (memory->drop && p.invert != 0 && to == memory->base + memory->drop_offset) continue;
    memcpy(to, &word, 8);
  }
}

/* The inverse is found by running the four steps backwards. */
uint64_t fake_position_of(uint64_t word) {
  uint64_t low = word % 4294967296u, high = word / 4294967296u;
  low ^= rotr32(high, 23);
  high = (high - low * 2246822507u) % 4294967296u;
  low ^= rotr32(high, 28);
  high = (high - low * 2654435761u) % 4294967296u;
  return high * 4294967296u + low;
}

static void run_verify(const struct fake_memory* memory, const void* params) {
  struct pass p;
  memcpy(&p, params, sizeof p);
  uint64_t* results =
      (uint64_t*)(uintptr_t)p.results; /* words, sum, bad, first, recorded, 3 unused */
  for (uint64_t i = 0; i < p.words; ++i) {
    const uint64_t index = p.first + i, actual = read_word(memory, p.base + 8 * i);
    const uint64_t expected = fake_pattern_word(index + p.salt) ^ p.invert;
    results[0] += 1;
    results[1] += fake_position_of(actual ^ p.invert);
    if (actual == expected) continue;
    results[2] += 1;
    if (index < results[3]) results[3] = index;
    const uint64_t slot = results[4]++;
    if (slot < 4096) {
      uint64_t* entry = results + 8 + 3 * slot;
      entry[0] = index, entry[1] = expected, entry[2] = actual;
    }
  }
}

static void run_copy(const struct fake_memory* memory, const void* params) {
  uint64_t p[3]; /* target, source, bytes */
  (void)memory;
  memcpy(p, params, sizeof p);
  if (p[2]) memcpy((void*)(uintptr_t)p[0], (const void*)(uintptr_t)p[1], p[2]);
}

static const struct {
  const char* name;
  void (*run)(const struct fake_memory*, const void*);
} kKernels[] = {{"gpuready_memory_write", run_write},
                {"gpuready_memory_verify", run_verify},
                {"gpuready_memory_copy", run_copy}};

int fake_run_kernel(const struct fake_memory* memory, const char* name, const void* params) {
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(kKernels[i].name, name) != 0) continue;
    kKernels[i].run(memory, params);
    return 1;
  }
  return fake_run_transfer(name, params);
}

int fake_knows_kernel(const char* name) {
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(kKernels[i].name, name) == 0) return 1;
  }
  return fake_run_transfer(name, NULL);
}
