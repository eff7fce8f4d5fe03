/* The fake driver's memory: allocations of GPUs and of the host, and copies between them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_parts.h"

#define MAX_RANGES 8192
#define ALIGNMENT 512u

static struct fake_range g_ranges[MAX_RANGES];
static size_t g_used; /* none from here on is in use */
static int g_apart;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

void fake_lock_ranges(void) { pthread_mutex_lock(&g_lock); }
void fake_unlock_ranges(void) { pthread_mutex_unlock(&g_lock); }

struct fake_range* fake_add_range(enum fake_kind kind, uint64_t begin, uint64_t bytes) {
  size_t at = 0;
  while (at < g_used && g_ranges[at].kind != FAKE_FREE) ++at;
  if (at == MAX_RANGES) return NULL;
  if (at == g_used) ++g_used;
  g_ranges[at] = (struct fake_range){kind, fake_current, begin, bytes, 0};
  return g_ranges + at;
}

struct fake_range* fake_range_at(enum fake_kind kind, uint64_t begin, uint64_t bytes) {
  for (struct fake_range* r = g_ranges; r < g_ranges + g_used; ++r) {
    if (r->kind == kind && r->begin == begin && (bytes == 0 || r->bytes == bytes)) return r;
  }
  return NULL;
}

struct fake_range* fake_range_in(enum fake_kind kind, uint64_t begin, uint64_t bytes) {
  for (struct fake_range* r = g_ranges; r < g_ranges + g_used; ++r) {
    if (r->kind == kind && r->begin < begin + bytes && begin < r->begin + r->bytes) return r;
  }
  return NULL;
}

static int find(uint64_t address, uint64_t* begin, uint64_t* end) {
  const struct fake_range* found = NULL;
  for (const struct fake_range* r = g_ranges; r < g_ranges + g_used && !found; ++r) {
    if (r->kind == FAKE_FREE || r->kind == FAKE_RESERVED || r->kind == FAKE_MAPPED) continue;
    if (address - r->begin < r->bytes) found = r;
  }
  if (!found) return 0;
  *begin = found->begin;
  *end = found->begin + found->bytes;
  if (found->kind != FAKE_REACHABLE) return 1;
  /* All that is mapped without a gap in the same reserved addresses. */
  const struct fake_range *next, *around = fake_range_in(FAKE_RESERVED, address, 1);
  const uint64_t last = around->begin + around->bytes;
  while (*begin > around->begin && (next = fake_range_in(FAKE_REACHABLE, *begin - 1, 1)))
    *begin = next->begin;
  while (*end < last && (next = fake_range_at(FAKE_REACHABLE, *end, 0))) *end += next->bytes;
  return 1;
}

int fake_find_allocation(uint64_t address, uint64_t* begin, uint64_t* end) {
  fake_lock_ranges();
  const int found = find(address, begin, end);
  fake_unlock_ranges();
  return found;
}

/* ---- allocations ---- */

API cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  ENTER("cuMemGetInfo_v2");
  NEED_CONTEXT;
  *total_bytes = fake_current->memory.bytes;
  *free_bytes = bytes_option("free", fake_current->memory.bytes) - fake_current->in_use;
  return 0;
}

#ifndef FAKE_CUDA_INCOMPLETE
/* The lowest address of so many free bytes in the current GPU's memory; 0: there are none. */
static uint64_t free_place(uint64_t taken) {
  const struct fake_memory* memory = &fake_current->memory;
  const uint64_t first = (uint64_t)(uintptr_t)memory->base, end = first + memory->bytes;
  for (uint64_t at = first; taken <= end - at;) {
    const uint64_t tried = at;
    for (const struct fake_range* r = g_ranges; r < g_ranges + g_used; ++r) {
      if (r->kind != FAKE_DEVICE || r->begin >= at + taken || at >= r->begin + r->taken) continue;
      at = r->begin + r->taken;
    }
    if (at == tried) return at;
  }
  return 0;
}

static int allocate(uint64_t* address, uint64_t bytes) {
  if (bytes == 0) return 1;
  if (bytes > bytes_option("max_alloc", UINT64_MAX)) return 2;
  const uint64_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const uint64_t taken = whole + bytes_option("guard", 0);
  /* The first small one (for results) lies elsewhere, so that faults do not reach it. */
  const int apart = bytes < (128u << 10) && !g_apart;
  if (!apart && taken > fake_current->memory.bytes - fake_current->in_use) return 2;
  *address = apart ? (uint64_t)(uintptr_t)aligned_alloc(ALIGNMENT, whole) : free_place(taken);
  if (*address == 0) return 2;
  struct fake_range* range = fake_add_range(apart ? FAKE_APART : FAKE_DEVICE, *address, bytes);
  if (!range) {
    if (apart) free((void*)(uintptr_t)*address);
    return 2;
  }
  if (apart) {
    g_apart = 1;
  } else {
    range->taken = taken;
    fake_current->in_use += taken;
  }
  return 0;
}

API cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  fake_lock_ranges();
  const int code = allocate(address, bytes);
  fake_unlock_ranges();
  return code;
}
#endif

API cuMemFree_v2(uint64_t address) {
  ENTER("cuMemFree_v2");
  NOT_IN_CAPTURE;
  fake_lock_ranges();
  struct fake_range* range = fake_range_at(FAKE_DEVICE, address, 0);
  if (range) {
    range->owner->in_use -= range->taken;
  } else if ((range = fake_range_at(FAKE_APART, address, 0))) {
    free((void*)(uintptr_t)address);
    g_apart = 0;
  }
  if (range) range->kind = FAKE_FREE;
  fake_unlock_ranges();
  return range ? 0 : 1;
}

/* ---- the host's memory ---- */

static int add_host_range(enum fake_kind kind, const void* memory, size_t bytes) {
  const uint64_t begin = (uint64_t)(uintptr_t)memory;
  int code = 0;
  fake_lock_ranges();
  if (fake_range_in(FAKE_PINNED, begin, bytes) || fake_range_in(FAKE_REGISTERED, begin, bytes)) {
    code = 712;
  } else if (!fake_add_range(kind, begin, bytes)) {
    code = 2;
  }
  fake_unlock_ranges();
  return code;
}

static int remove_host_range(enum fake_kind kind, const void* memory) {
  fake_lock_ranges();
  struct fake_range* range = fake_range_at(kind, (uint64_t)(uintptr_t)memory, 0);
  if (range) range->kind = FAKE_FREE;
  fake_unlock_ranges();
  return range != NULL;
}

API cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  (void)flags;
  ENTER("cuMemHostAlloc");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  if (bytes == 0) return 1;
  *memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!*memory) return 2;
  const int code = add_host_range(FAKE_PINNED, *memory, bytes);
  if (code != 0) free(*memory);
  return code;
}

API cuMemFreeHost(void* memory) {
  ENTER("cuMemFreeHost");
  NOT_IN_CAPTURE;
  if (!remove_host_range(FAKE_PINNED, memory)) return 1;
  free(memory);
  return 0;
}

API cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  (void)flags;
  ENTER("cuMemHostRegister_v2");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  return bytes == 0 ? 1 : add_host_range(FAKE_REGISTERED, memory, bytes);
}

API cuMemHostUnregister(void* memory) {
  ENTER("cuMemHostUnregister");
  NOT_IN_CAPTURE;
  return remove_host_range(FAKE_REGISTERED, memory) ? 0 : 713;
}

/* ---- copies ---- */

/* Right, or as it was told to be wrong. */
int fake_copy(const struct fake_work* work) {
  char text[128];
  fake_end_launches();
  if (option("lost", text, sizeof text) && strcmp(text, work->copier) == 0 && work->bytes >= 4096) {
    return 0;
  }
  memmove(work->target, work->source, work->bytes);
  char* colon = option("corrupt", text, sizeof text) ? strchr(text, ':') : NULL;
  if (!colon) return 0;
  static unsigned long reaching;
  char* end;
  const uint64_t offset = strtoull(colon + 1, &end, 0);
  const unsigned long only = *end == '@' ? strtoul(end + 1, NULL, 10) : 0;
  *colon = 0;
  if (strcmp(text, work->copier) != 0 || offset >= work->bytes) return 0;
  ++reaching;
  if (only == 0 || only == reaching) ((unsigned char*)work->target)[offset] ^= 4;
  return 0;
}

/* Whether all of it is memory that the driver gave or knows. */
static int is_known(uint64_t address, size_t bytes) {
  uint64_t begin, end;
  return bytes == 0 || (fake_find_allocation(address, &begin, &end) && bytes <= end - address);
}

static int copy(void* stream, const char* symbol, void* target, const void* source, size_t bytes) {
  const struct fake_work work = {
      .copier = symbol, .target = target, .source = source, .bytes = bytes};
  return fake_submit(stream, &work);
}

API cuMemcpyHtoDAsync_v2(uint64_t target, const void* source, size_t bytes, void* stream) {
  ENTER("cuMemcpyHtoDAsync_v2");
  NEED_CONTEXT;
  if (!is_known(target, bytes)) return 1;
  return copy(stream, "cuMemcpyHtoDAsync_v2", (void*)(uintptr_t)target, source, bytes);
}

API cuMemcpyDtoHAsync_v2(void* target, uint64_t source, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoHAsync_v2");
  NEED_CONTEXT;
  if (!is_known(source, bytes)) return 1;
  return copy(stream, "cuMemcpyDtoHAsync_v2", target, (const void*)(uintptr_t)source, bytes);
}

API cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoDAsync_v2");
  NEED_CONTEXT;
  if (!is_known(target, bytes) || !is_known(source, bytes)) return 1;
  return copy(stream, "cuMemcpyDtoDAsync_v2", (void*)(uintptr_t)target,
              (const void*)(uintptr_t)source, bytes);
}

API cuMemcpyPeerAsync(uint64_t target, void* target_context, uint64_t source, void* source_context,
                      size_t bytes, void* stream) {
  ENTER("cuMemcpyPeerAsync");
  NEED_CONTEXT;
  if (!target_context || !source_context) return 201;
  if (!is_known(target, bytes) || !is_known(source, bytes)) return 1;
  return copy(stream, "cuMemcpyPeerAsync", (void*)(uintptr_t)target, (const void*)(uintptr_t)source,
              bytes);
}
