/* The fake driver's memory that is mapped explicitly: an allocation is a file in memory, so that it
 * may be at several addresses at once. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda_parts.h"

#define GRANULARITY (64u << 10)

struct properties { /* CUmemAllocationProp */
  int type, handle_types, location_type, location;
  void* metadata;
  unsigned char flags[8];
};
struct access { /* CUmemAccessDesc */
  int location_type, location, flags;
};
struct physical {
  struct fake_device* owner;
  uint64_t bytes;
  int file;
};

static int is_whole(uint64_t bytes) { return bytes != 0 && bytes % GRANULARITY == 0; }

API cuMemGetAllocationGranularity(size_t* granularity, const struct properties* properties,
                                  int which) {
  ENTER("cuMemGetAllocationGranularity");
  if (properties->type != 1 || properties->location_type != 1 || which < 0 || which > 1) return 1;
  *granularity = GRANULARITY;
  return 0;
}

API cuMemCreate(struct physical** handle, size_t bytes, const struct properties* properties,
                unsigned long long flags) {
  ENTER("cuMemCreate");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  if (!is_whole(bytes) || properties->type != 1 || properties->location_type != 1 || flags != 0) {
    return 1;
  }
  if (bytes > fake_current->memory.bytes - fake_current->in_use) return 2;
  struct physical* made = malloc(sizeof *made);
  if (!made) return 2;
  *made = (struct physical){fake_current, bytes, memfd_create("fake_cuda", MFD_CLOEXEC)};
  if (made->file < 0 || ftruncate(made->file, (off_t)bytes) != 0) {
    if (made->file >= 0) close(made->file);
    free(made);
    return 304;
  }
  fake_current->in_use += bytes;
  *handle = made;
  return 0;
}

/* Where it is mapped it stays until it is unmapped. */
API cuMemRelease(struct physical* physical) {
  ENTER("cuMemRelease");
  NOT_IN_CAPTURE;
  physical->owner->in_use -= physical->bytes;
  close(physical->file);
  free(physical);
  return 0;
}

API cuMemAddressReserve(uint64_t* address, size_t bytes, size_t alignment, uint64_t wish,
                        unsigned long long flags) {
  (void)wish;
  ENTER("cuMemAddressReserve");
  if (!is_whole(bytes) || alignment > GRANULARITY || flags != 0) return 1;
  /* One granule more, to begin at a whole one. */
  unsigned char* memory = mmap(NULL, bytes + GRANULARITY, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 2;
  const size_t before = (GRANULARITY - (uintptr_t)memory % GRANULARITY) % GRANULARITY;
  if (before) munmap(memory, before);
  munmap(memory + before + bytes, GRANULARITY - before);
  *address = (uint64_t)(uintptr_t)(memory + before);
  fake_lock_ranges();
  const int is_added = fake_add_range(FAKE_RESERVED, *address, bytes) != NULL;
  fake_unlock_ranges();
  return is_added ? 0 : 2;
}

/* Nothing may be mapped there any more. */
static int free_addresses(uint64_t address, size_t bytes) {
  struct fake_range* reserved = fake_range_at(FAKE_RESERVED, address, bytes);
  if (!reserved || fake_range_in(FAKE_MAPPED, address, bytes) ||
      fake_range_in(FAKE_REACHABLE, address, bytes)) {
    return 1;
  }
  reserved->kind = FAKE_FREE;
  munmap((void*)(uintptr_t)address, bytes);
  return 0;
}

API cuMemAddressFree(uint64_t address, size_t bytes) {
  ENTER("cuMemAddressFree");
  fake_lock_ranges();
  const int result = free_addresses(address, bytes);
  fake_unlock_ranges();
  return result;
}

static int map(uint64_t address, size_t bytes, const struct physical* physical) {
  const struct fake_range* around = fake_range_in(FAKE_RESERVED, address, bytes);
  if (!around || address < around->begin || address + bytes > around->begin + around->bytes ||
      fake_range_in(FAKE_MAPPED, address, bytes) || fake_range_in(FAKE_REACHABLE, address, bytes)) {
    return 1;
  }
  void* wanted = (void*)(uintptr_t)address;
  if (mmap(wanted, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) != wanted) {
    return 205;
  }
  return fake_add_range(FAKE_MAPPED, address, bytes) ? 0 : 2;
}

API cuMemMap(uint64_t address, size_t bytes, size_t offset, struct physical* physical,
             unsigned long long flags) {
  ENTER("cuMemMap");
  if (!is_whole(bytes) || address % GRANULARITY != 0 || offset != 0 || flags != 0 || !physical ||
      bytes != physical->bytes) {
    return 1;
  }
  fake_lock_ranges();
  const int result = map(address, bytes, physical);
  fake_unlock_ranges();
  return result;
}

API cuMemUnmap(uint64_t address, size_t bytes) {
  ENTER("cuMemUnmap");
  NOT_IN_CAPTURE;
  fake_lock_ranges();
  struct fake_range* range = fake_range_at(FAKE_REACHABLE, address, bytes);
  if (!range) range = fake_range_at(FAKE_MAPPED, address, bytes);
  if (range) {
    range->kind = FAKE_FREE;
    mmap((void*)(uintptr_t)address, bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  fake_unlock_ranges();
  return range ? 0 : 1;
}

/* Whole mappings one after the other, without a gap. */
static int set_access(uint64_t address, size_t bytes) {
  for (uint64_t at = address; at < address + bytes;) {
    const struct fake_range* range = fake_range_at(FAKE_MAPPED, at, 0);
    if (!range) range = fake_range_at(FAKE_REACHABLE, at, 0);
    if (!range || range->bytes > address + bytes - at) return 1;
    at += range->bytes;
  }
  if (mprotect((void*)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE) != 0) return 304;
  struct fake_range* range;
  while ((range = fake_range_in(FAKE_MAPPED, address, bytes))) range->kind = FAKE_REACHABLE;
  return 0;
}

API cuMemSetAccess(uint64_t address, size_t bytes, const struct access* access, size_t count) {
  ENTER("cuMemSetAccess");
  if (bytes == 0 || count != 1 || access->location_type != 1 || access->flags != 3) return 1;
  fake_lock_ranges();
  const int result = set_access(address, bytes);
  fake_unlock_ranges();
  return result;
}
