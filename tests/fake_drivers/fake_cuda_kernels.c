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
  uint64_t base, words, first, salt, invert, results, pattern, key, select, descending, faults,
      fault_count;
};
struct fault {
  uint64_t kind, word, bits, value, aggressor, trigger, saved, reserved;
};

/* Whether the modulo pattern's word at this offset is the pattern's, not its complement. */
static int is_nth(const struct pass* p, uint64_t index) { return index % 80 / 4 == p->key; }

static uint64_t word_of(const struct pass* p, uint64_t index) {
  switch (p->pattern) {
    case 0:
      return fake_pattern_word(index + p->salt) ^ p->invert;
    case 1:
      return fake_pattern_word(fake_pattern_word(index + p->salt) ^ p->key) ^ p->invert;
    case 2:
      return ((uint64_t)1 << (index + p->key) % 64) ^ p->invert;
    default:
      return fake_pattern_word(index / 80 + p->salt) ^ p->invert ^
             (is_nth(p, index) ? 0 : ~(uint64_t)0);
  }
}

static int is_written(const struct pass* p, uint64_t index) {
  return p->select == 0 || !is_nth(p, index);
}

static struct fault* fault_of(const struct pass* p, uint64_t index) {
  struct fault* faults = (struct fault*)(uintptr_t)p->faults;
  for (uint64_t i = 0; i < p->fault_count; ++i)
    if (faults[i].word == index) return faults + i;
  return NULL;
}

static uint64_t faulty(const struct pass* p, const struct fault* f, uint64_t word, uint64_t old) {
  switch (f->kind) {
    case 0:
      return word ^ f->bits;
    case 1:
      return (word & ~f->bits) | (f->value & f->bits);
    case 2:
      return old;
    default:
      return ((word_of(p, f->aggressor) ^ f->value) & f->trigger) ? word : word ^ f->bits;
  }
}

static void run_write(const struct fake_memory* memory, const void* params) {
  struct pass p;
  memcpy(&p, params, sizeof p);
  for (uint64_t i = 0; i < p.words; ++i) {
    uint64_t old, word = word_of(&p, p.first + i);
    unsigned char* to = cell(memory, p.base + 8 * i);
    memcpy(&old, to, 8);
    struct fault* f = p.fault_count ? fault_of(&p, p.first + i) : NULL;
    if (!is_written(&p, p.first + i)) {
      if (!f || f->kind != 1) continue;
      word = old;
    }
    if (f) word = faulty(&p, f, word, old);
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

static uint64_t name_of(const struct pass* p, uint64_t index, uint64_t word) {
  word ^= p->invert;
  switch (p->pattern) {
    case 0:
      return fake_position_of(word);
    case 1:
      return fake_position_of(fake_position_of(word) ^ p->key);
    case 2:
      return word;
    default:
      return fake_position_of(is_nth(p, index) ? word : ~word);
  }
}

static void run_verify(const struct fake_memory* memory, const void* params) {
  struct pass p;
  memcpy(&p, params, sizeof p);
  /* bad, first, recorded, 13 unused; 64 slots of words, sum, 14 unused; entries */
  uint64_t* results = (uint64_t*)(uintptr_t)p.results;
  for (uint64_t i = 0; i < p.words; ++i) {
    const uint64_t index = p.first + i, actual = read_word(memory, p.base + 8 * i);
    const uint64_t expected = word_of(&p, index);
    uint64_t* slot_of_counts = results + 16 + 16 * (i % 64);
    slot_of_counts[0] += 1;
    slot_of_counts[1] += name_of(&p, index, actual);
    if (actual == expected) continue;
    results[0] += 1;
    if (index < results[1]) results[1] = index;
    const uint64_t slot = results[2]++;
    if (slot < 4096) {
      uint64_t* entry = results + 16 + 16 * 64 + 3 * slot;
      entry[0] = index, entry[1] = expected, entry[2] = actual;
    }
  }
}

static void run_invert(const struct fake_memory* memory, const void* params) {
  struct pass p;
  run_verify(memory, params);
  memcpy(&p, params, sizeof p);
  p.invert = ~p.invert;
  run_write(memory, &p);
}

static void run_hammer(const struct fake_memory* memory, const void* params) {
  uint64_t p[6]; /* base, lines, stride, rounds, timed, results */
  memcpy(p, params, sizeof p);
  uint64_t* results = (uint64_t*)(uintptr_t)p[5]; /* reads, ticks, xor */
  const uint64_t reads = p[1] * (p[3] + (p[4] != 0));
  results[0] += reads;
  /* A read that goes past the cache takes three times as long. */
  if (p[4]) results[1] += p[1] * (p[1] > 64 ? 600 : 200);
  for (uint64_t i = 0; i < p[1]; ++i) results[2] ^= read_word(memory, p[0] + i * p[2]);
}

static void run_copy(const struct fake_memory* memory, const void* params) {
  uint64_t p[3]; /* target, source, bytes */
  (void)memory;
  memcpy(p, params, sizeof p);
  if (p[2]) memmove((void*)(uintptr_t)p[0], (const void*)(uintptr_t)p[1], p[2]);
}

static void run_record(const struct fake_memory* memory, const void* params) {
  uint64_t p[6]; /* address, words, nonce, seal, work, word of ones */
  (void)memory;
  memcpy(p, params, sizeof p);
  uint64_t* words = (uint64_t*)(uintptr_t)p[0];
  uint64_t* seal = (uint64_t*)(uintptr_t)p[3]; /* nonce of reset, nonce of seal, words, checksum */
  if (p[4] == 0) {
    for (uint64_t i = 0; i < p[1]; ++i) words[i] = i == p[5] ? UINT64_MAX : 0;
    seal[0] = p[2];
    return;
  }
  seal[1] = p[2], seal[2] = p[1], seal[3] = 0;
  for (uint64_t i = 0; i < p[1]; ++i)
    seal[3] += fake_pattern_word(words[i] + i * 11400714819323198485u);
}

static const struct {
  const char* name;
  void (*run)(const struct fake_memory*, const void*);
} kKernels[] = {{"gpuready_memory_write", run_write},   {"gpuready_memory_verify", run_verify},
                {"gpuready_memory_invert", run_invert}, {"gpuready_memory_hammer", run_hammer},
                {"gpuready_memory_copy", run_copy},     {"gpuready_record", run_record}};

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
