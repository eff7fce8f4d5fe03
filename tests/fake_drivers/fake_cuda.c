/* The driver API of the fake; fake_cuda.h says what it can be told to do. Built three times: whole,
 * FAKE_CUDA_OLD (an old driver: no cuDeviceGetUuid_v2) and FAKE_CUDA_INCOMPLETE (no cuMemAlloc). */
#define _GNU_SOURCE
#include "fake_cuda.h"

#define FAKE_VARIABLE "FAKE_CUDA"
#include "fake_options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
#define MAX_DEVICES 8
#define MAX_ALLOCATIONS 8192

struct device {
  int number; /* as without CUDA_VISIBLE_DEVICES */
  struct fake_memory memory;
  uint64_t next, in_use;
  int retained, peers;
};
struct allocation {
  struct device* owner;
  uint64_t address, bytes;
  int small;
};
static struct device g_devices[MAX_DEVICES];
static int g_visible[MAX_DEVICES], g_visible_count, g_started, g_launches, g_sticky, g_small;
static struct allocation g_allocations[MAX_ALLOCATIONS];
static __thread struct device* g_current;

/* ---- what FAKE_CUDA says ---- */

/* Entry of every call: hangs, crashes or fails where told; the code to return at once, or 0. */
static int enter(const char* symbol) {
  char text[128];
  if (option("hang", text, sizeof text) && strcmp(text, symbol) == 0) {
    for (;;) pause();
  }
  if (option("crash", text, sizeof text) && strcmp(text, symbol) == 0) raise(SIGSEGV);
  if (option("fail", text, sizeof text)) {
    char* colon = strchr(text, ':');
    if (colon && (size_t)(colon - text) == strlen(symbol) &&
        strncmp(text, symbol, strlen(symbol)) == 0) {
      return atoi(colon + 1);
    }
  }
  if (strcmp(symbol, "cuInit") == 0 && option("init", text, sizeof text)) return atoi(text);
  if (strcmp(symbol, "cuInit") != 0 && !g_started) return 3;
  return g_sticky;
}
#define ENTER(symbol)               \
  do {                              \
    const int code = enter(symbol); \
    if (code != 0) return code;     \
  } while (0)
/* A copy by this call, right or as it was told to be wrong. */
static void copy(const char* symbol, void* target, const void* source, size_t bytes) {
  char text[128];
  if (option("lost", text, sizeof text) && strcmp(text, symbol) == 0 && bytes >= 4096) return;
  memmove(target, source, bytes);
  char* colon = option("corrupt", text, sizeof text) ? strchr(text, ':') : NULL;
  if (!colon) return;
  const uint64_t offset = strtoull(colon + 1, NULL, 0);
  *colon = 0;
  if (strcmp(text, symbol) == 0 && offset < bytes) ((unsigned char*)target)[offset] ^= 4;
}
#define NEED_CONTEXT \
  if (!g_current || !g_current->retained) return 201

static void uuid_of(int number, unsigned char* bytes) {
  memset(bytes, 0, 16);
  bytes[0] = 0xfa, bytes[1] = 0x4e, bytes[15] = (unsigned char)number;
}

/* CUDA_VISIBLE_DEVICES: numbers or beginnings of UUIDs; an entry that names none hides all after
 * it. */
static void find_visible(int count) {
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int i = 0; i < count; ++i) g_visible[g_visible_count++] = i;
    return;
  }
  while (*list) {
    const size_t length = strcspn(list, ",");
    int found = -1;
    for (int i = 0; i < count; ++i) {
      char uuid[64];
      snprintf(uuid, sizeof uuid, "%s-fa4e0000-0000-0000-0000-0000000000%02x",
               option("mig", NULL, 0) ? "MIG" : "GPU", (unsigned)i);
      const int by_number = length == 1 && list[0] == '0' + i;
      if (by_number || (length > 4 && strncasecmp(uuid, list, length) == 0)) found = i;
    }
    if (found < 0 || g_visible_count == MAX_DEVICES) return;
    g_visible[g_visible_count++] = found;
    list += length + (list[length] == ',');
  }
}

/* ---- the API ---- */

API cuInit(unsigned flags) {
  char text[64];
  (void)flags;
  ENTER("cuInit");
  if (g_started) return 0;
  const int count = option("devices", text, sizeof text) ? atoi(text) : 1;
  for (int i = 0; i < count && i < MAX_DEVICES; ++i) {
    struct device* d = &g_devices[i];
    d->number = i;
    d->memory.bytes = bytes_option("memory", 64u << 20);
    d->memory.base = mmap(NULL, d->memory.bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (d->memory.base == MAP_FAILED) return 304;
    d->memory.stuck_bit = -1;
    if (option("stuck", text, sizeof text)) {
      char* bit = strchr(text, ':');
      d->memory.stuck_offset = strtoull(text, NULL, 0);
      d->memory.stuck_bit = bit ? atoi(bit + 1) : 0;
    }
    d->memory.drop = option("drop", text, sizeof text);
    if (d->memory.drop) d->memory.drop_offset = strtoull(text, NULL, 0);
    d->memory.alias = option("alias", NULL, 0);
  }
  find_visible(count);
  g_started = 1;
  return 0;
}

API cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = 13000;
  return 0;
}

API cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = g_visible_count;
  return 0;
}

API cuDeviceGet(int* device, int index) {
  ENTER("cuDeviceGet");
  if (index < 0 || index >= g_visible_count) return 101;
  *device = index;
  return 0;
}

API cuDeviceGetName(char* name, int size, int device) {
  ENTER("cuDeviceGetName");
  snprintf(name, (size_t)size, "Fake GPU %d", g_visible[device]);
  return 0;
}

#ifndef FAKE_CUDA_OLD
API cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  ENTER("cuDeviceGetUuid_v2");
  uuid_of(g_visible[device], uuid);
  return 0;
}
#endif
API cuDeviceGetUuid(unsigned char* uuid, int device) {
  ENTER("cuDeviceGetUuid");
  uuid_of(g_visible[device], uuid);
  if (option("mig", NULL, 0)) uuid[14] = 0xee; /* of the whole GPU, not of the instance */
  return 0;
}

API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  ENTER("cuDeviceTotalMem_v2");
  *bytes = g_devices[g_visible[device]].memory.bytes;
  return 0;
}

API cuDeviceGetAttribute(int* value, int attribute, int device) {
  static const int kValues[][2] = {
      {1, 1024},     {8, 49152}, {10, 32},      {16, 4},    {17, 0}, {18, 0}, {32, 1}, {34, 0},
      {36, 2619000}, {37, 5120}, {38, 1 << 20}, {39, 2048}, {50, 0}, {75, 9}, {76, 0}, {95, 1}};
  ENTER("cuDeviceGetAttribute");
  if (attribute == 33) {
    *value = 0x17 + g_visible[device];
    return 0;
  }
  for (size_t i = 0; i < sizeof kValues / sizeof *kValues; ++i) {
    if (kValues[i][0] != attribute) continue;
    *value = kValues[i][1];
    return 0;
  }
  return 1;
}

API cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  struct device* d = &g_devices[g_visible[device]];
  d->retained = 1;
  *context = d;
  return 0;
}

API cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  g_devices[g_visible[device]].retained = 0;
  return 0;
}

API cuCtxSetCurrent(void* context) {
  ENTER("cuCtxSetCurrent");
  g_current = context;
  return 0;
}

API cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  ENTER("cuMemGetInfo_v2");
  NEED_CONTEXT;
  *total_bytes = g_current->memory.bytes;
  *free_bytes = bytes_option("free", g_current->memory.bytes) - g_current->in_use;
  return 0;
}

#ifndef FAKE_CUDA_INCOMPLETE
API cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  NEED_CONTEXT;
  struct allocation* a = g_allocations;
  while (a < g_allocations + MAX_ALLOCATIONS && a->owner) ++a;
  if (a == g_allocations + MAX_ALLOCATIONS) return 2;
  /* The first small one (for results) lies elsewhere, so that faults do not reach it. */
  a->small = bytes < (128u << 10) && g_small == 0;
  if (bytes > bytes_option("max_alloc", UINT64_MAX)) return 2;
  if (a->small) {
    a->address = (uint64_t)(uintptr_t)aligned_alloc(512, (bytes + 511) / 512 * 512);
  } else {
    if (bytes > g_current->memory.bytes - g_current->next) return 2;
    a->address = (uint64_t)(uintptr_t)(g_current->memory.base + g_current->next);
    g_current->next += bytes;
    g_current->in_use += bytes;
  }
  g_small += a->small;
  a->owner = g_current;
  a->bytes = bytes;
  *address = a->address;
  return 0;
}
#endif

API cuMemFree_v2(uint64_t address) {
  ENTER("cuMemFree_v2");
  for (struct allocation* a = g_allocations; a < g_allocations + MAX_ALLOCATIONS; ++a) {
    if (!a->owner || a->address != address) continue;
    if (a->small) free((void*)(uintptr_t)address);
    g_small -= a->small;
    if (!a->small) a->owner->in_use -= a->bytes;
    if (a->owner->in_use == 0) a->owner->next = 0;
    a->owner = NULL;
    return 0;
  }
  return 1;
}

API cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  (void)flags;
  ENTER("cuMemHostAlloc");
  NEED_CONTEXT;
  *memory = malloc(bytes);
  return *memory ? 0 : 2;
}

API cuMemFreeHost(void* memory) {
  ENTER("cuMemFreeHost");
  free(memory);
  return 0;
}

API cuMemcpyHtoDAsync_v2(uint64_t target, const void* source, size_t bytes, void* stream) {
  (void)stream;
  ENTER("cuMemcpyHtoDAsync_v2");
  NEED_CONTEXT;
  copy("cuMemcpyHtoDAsync_v2", (void*)(uintptr_t)target, source, bytes);
  return 0;
}

API cuMemcpyDtoHAsync_v2(void* target, uint64_t source, size_t bytes, void* stream) {
  (void)stream;
  ENTER("cuMemcpyDtoHAsync_v2");
  NEED_CONTEXT;
  copy("cuMemcpyDtoHAsync_v2", target, (const void*)(uintptr_t)source, bytes);
  return 0;
}

API cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void* stream) {
  (void)stream;
  ENTER("cuMemcpyDtoDAsync_v2");
  NEED_CONTEXT;
  copy("cuMemcpyDtoDAsync_v2", (void*)(uintptr_t)target, (const void*)(uintptr_t)source, bytes);
  return 0;
}

API cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  (void)memory, (void)bytes, (void)flags;
  ENTER("cuMemHostRegister_v2");
  NEED_CONTEXT;
  return 0;
}

API cuMemHostUnregister(void* memory) {
  (void)memory;
  ENTER("cuMemHostUnregister");
  return 0;
}

API cuDeviceCanAccessPeer(int* can, int device, int peer) {
  ENTER("cuDeviceCanAccessPeer");
  *can = device != peer && !option("no_peer", NULL, 0);
  return 0;
}

API cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  ENTER("cuDeviceGetP2PAttribute");
  if (device == peer) return 101;
  if (attribute == 1) *value = 0;
  if (attribute == 3) *value = !option("no_peer_atomics", NULL, 0);
  return attribute == 1 || attribute == 3 ? 0 : 1;
}

API cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  (void)flags;
  ENTER("cuCtxEnablePeerAccess");
  NEED_CONTEXT;
  const int bit = 1 << ((struct device*)peer)->number;
  if (option("no_peer", NULL, 0)) return 217;
  if (g_current->peers & bit) return 704;
  g_current->peers |= bit;
  return 0;
}

API cuMemcpyPeerAsync(uint64_t target, void* target_context, uint64_t source, void* source_context,
                      size_t bytes, void* stream) {
  (void)stream;
  ENTER("cuMemcpyPeerAsync");
  NEED_CONTEXT;
  if (!target_context || !source_context) return 201;
  copy("cuMemcpyPeerAsync", (void*)(uintptr_t)target, (const void*)(uintptr_t)source, bytes);
  return 0;
}

API cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  ENTER("cuStreamCreate");
  NEED_CONTEXT;
  *stream = malloc(1);
  return 0;
}

API cuStreamDestroy_v2(void* stream) {
  ENTER("cuStreamDestroy_v2");
  free(stream);
  return 0;
}

API cuStreamSynchronize(void* stream) {
  (void)stream;
  ENTER("cuStreamSynchronize");
  return 0;
}

API cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  ENTER("cuEventCreate");
  NEED_CONTEXT;
  *event = calloc(1, sizeof(struct timespec));
  return 0;
}

API cuEventDestroy_v2(void* event) {
  ENTER("cuEventDestroy_v2");
  free(event);
  return 0;
}

API cuEventRecord(void* event, void* stream) {
  (void)stream;
  ENTER("cuEventRecord");
  clock_gettime(CLOCK_MONOTONIC, event);
  return 0;
}

API cuEventElapsedTime(float* ms, const struct timespec* start, const struct timespec* stop) {
  ENTER("cuEventElapsedTime");
  *ms = (float)((double)(stop->tv_sec - start->tv_sec) * 1e3 +
                (double)(stop->tv_nsec - start->tv_nsec) / 1e6);
  return 0;
}

/* A module is its PTX text; a function is the name of one of its entries. */
API cuModuleLoadDataEx(void** module, const char* image, unsigned count, int* options,
                       void** values) {
  char text[64], *log = NULL;
  ENTER("cuModuleLoadDataEx");
  NEED_CONTEXT;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) log = values[i];
  }
  const char* version = strstr(image, ".version ");
  if (!version) {
    if (log) strcpy(log, "ptxas fatal: no version in this text");
    return 218;
  }
  if (option("ptx", text, sizeof text) && atof(version + 9) > atof(text)) {
    if (log) strcpy(log, "ptxas fatal: Unsupported .version");
    return 222;
  }
  *module = strdup(image); /* as the driver, which needs the text no longer */
  return *module ? 0 : 2;
}

API cuModuleUnload(void* module) {
  ENTER("cuModuleUnload");
  free(module);
  return 0;
}

API cuModuleGetFunction(void** function, void* module, const char* name) {
  char entry[256];
  ENTER("cuModuleGetFunction");
  snprintf(entry, sizeof entry, ".entry %s(", name);
  if (!strstr(module, entry) || !fake_knows_kernel(name)) return 500;
  *function = strdup(name);
  return 0;
}

static int launch(const char* name, unsigned blocks, unsigned threads, void** params) {
  char text[64];
  NEED_CONTEXT;
  if (blocks == 0 || threads == 0 || threads > 1024) return 1;
  const uint64_t ms = bytes_option("launch_ms", 0);
  if (ms) usleep((useconds_t)(ms * 1000));
  ++g_launches;
  if (option("launch_error", text, sizeof text)) {
    const char* at = strchr(text, '@');
    if (at && g_launches == atoi(at + 1)) {
      g_sticky = atoi(text); /* told by the next call, as a driver does */
      return 0;
    }
  }
  if (option("noop", text, sizeof text) && strlen(name) >= strlen(text) &&
      strcmp(name + strlen(name) - strlen(text), text) == 0) {
    return 0;
  }
  return fake_run_kernel(&g_current->memory, name, params[0]) ? 0 : 400;
}

API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** params, void** extra) {
  (void)shared, (void)stream, (void)extra;
  ENTER("cuLaunchKernel");
  return launch(function, gx * gy * gz, bx * by * bz, params);
}

API cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void* stream,
                              void** params) {
  (void)shared, (void)stream;
  ENTER("cuLaunchCooperativeKernel");
  return launch(function, gx * gy * gz, bx * by * bz, params);
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                size_t shared) {
  (void)function, (void)shared;
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 2048 / threads;
  return 0;
}
