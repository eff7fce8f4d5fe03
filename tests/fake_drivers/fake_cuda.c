/* The driver API of the fake: its start, GPUs, contexts, streams and events. fake_cuda.h says what
 * it can be told to do. Built three times with kernels that run by their names: whole,
 * FAKE_CUDA_OLD (an old driver: no cuDeviceGetUuid_v2) and FAKE_CUDA_INCOMPLETE (no cuMemAlloc). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda_parts.h"

#define MAX_DEVICES 8

static struct fake_device g_devices[MAX_DEVICES];
static int g_visible[MAX_DEVICES], g_visible_count, g_started;
__thread struct fake_device* fake_current;
/* The contexts that were current before those that were pushed. */
#define MAX_PUSHED 8
static __thread struct fake_device* g_stack[MAX_PUSHED];
static __thread int g_pushed;
int fake_sticky;

/* ---- what FAKE_CUDA says ---- */

int fake_enter(const char* symbol) {
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
  /* What may stand between launches that overlap. */
  if (strcmp(symbol, "cuLaunchKernelEx") != 0 && !strstr(symbol, "Current")) {
    fake_end_launches();
  }
  return fake_sticky;
}

/* 10 times the major number of an option such as "8.0", and the minor. */
static int version_option(const char* key, int otherwise) {
  char text[32], *minor;
  if (!option(key, text, sizeof text)) return otherwise;
  const long major = strtol(text, &minor, 10);
  return (int)(10 * major + (*minor == '.' ? atoi(minor + 1) : 0));
}

int fake_capability(void) { return version_option("cc", 90); }
int fake_driver_version(void) {
  const int version = version_option("cuda", 130);
  return version / 10 * 1000 + version % 10 * 10;
}

unsigned fake_multiprocessors(void) { return (unsigned)bytes_option("sms", 4); }

/* From the CUDA programming guide's table of compute capabilities; those not listed are as the one
 * before them. */
const struct fake_limits* fake_limits(void) {
  static const struct fake_limits kLimits[] = {
      {50, 2048, 32, 64, 48, 0},    {52, 2048, 32, 96, 48, 0},   {53, 2048, 32, 64, 48, 0},
      {61, 2048, 32, 96, 48, 0},    {62, 2048, 32, 64, 48, 0},   {70, 2048, 32, 96, 96, 0},
      {75, 1024, 16, 64, 64, 0},    {80, 2048, 32, 164, 163, 1}, {86, 1536, 16, 100, 99, 1},
      {87, 1536, 16, 164, 163, 1},  {89, 1536, 24, 100, 99, 1},  {90, 2048, 32, 228, 227, 1},
      {110, 1536, 24, 228, 227, 1}, {120, 1536, 24, 100, 99, 1}};
  const struct fake_limits* found = kLimits;
  for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; ++i) {
    if (kLimits[i].capability <= fake_capability()) found = kLimits + i;
  }
  return found;
}

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
    struct fake_device* d = &g_devices[i];
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
  *version = fake_driver_version();
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
  const int capability = fake_capability();
  const int told[][2] = {{1, 1024},
                         {8, 49152},
                         {10, 32},
                         {16, (int)fake_multiprocessors()},
                         {17, 0},
                         {18, 0},
                         {32, 1},
                         {33, 0x17 + g_visible[device]},
                         {34, 0},
                         {36, 2619000},
                         {37, 5120},
                         {38, 1 << 20},
                         {39, (int)fake_limits()->threads},
                         {50, 0},
                         {75, capability / 10},
                         {76, capability % 10},
                         {95, capability >= 60}};
  ENTER("cuDeviceGetAttribute");
  for (size_t i = 0; i < sizeof told / sizeof *told; ++i) {
    if (told[i][0] != attribute) continue;
    *value = told[i][1];
    return 0;
  }
  return 1;
}

API cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  struct fake_device* d = &g_devices[g_visible[device]];
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
  fake_current = context;
  return 0;
}

API cuCtxGetCurrent(void** context) {
  ENTER("cuCtxGetCurrent");
  *context = fake_current;
  return 0;
}

API cuCtxPushCurrent_v2(void* context) {
  ENTER("cuCtxPushCurrent_v2");
  if (!context) return 201;
  if (g_pushed == MAX_PUSHED) return 2;
  g_stack[g_pushed++] = fake_current;
  fake_current = context;
  return 0;
}

API cuCtxPopCurrent_v2(void** context) {
  ENTER("cuCtxPopCurrent_v2");
  if (g_pushed == 0) return 201;
  *context = fake_current;
  fake_current = g_stack[--g_pushed];
  return 0;
}

API cuCtxGetDevice(int* device) {
  ENTER("cuCtxGetDevice");
  NEED_CONTEXT;
  for (*device = 0; g_visible[*device] != fake_current->number;) ++*device;
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
  const int bit = 1 << ((struct fake_device*)peer)->number;
  if (option("no_peer", NULL, 0)) return 217;
  if (fake_current->peers & bit) return 704;
  fake_current->peers |= bit;
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
  const struct fake_stream* on = stream;
  ENTER("cuEventRecord");
  if (on && on->recorded) return 0; /* it happens in no time that anyone could ask for */
  clock_gettime(CLOCK_MONOTONIC, event);
  return 0;
}

API cuEventElapsedTime(float* ms, const struct timespec* start, const struct timespec* stop) {
  char factor[32];
  ENTER("cuEventElapsedTime");
  *ms = (float)((double)(stop->tv_sec - start->tv_sec) * 1e3 +
                (double)(stop->tv_nsec - start->tv_nsec) / 1e6);
  if (option("times", factor, sizeof factor)) *ms *= (float)atof(factor);
  return 0;
}
