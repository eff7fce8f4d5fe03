// A libnvidia-ml.so.1 that answers as FAKE_NVML says: "key=value;key=value;...". Keys:
//   devices=N          how many GPUs (default 1)
//   driver=TEXT        the driver's version (default 580.159.04)
//   SYMBOL=CODE        that call returns CODE, e.g. nvmlInit_v2=18
//   SYMBOL@I=CODE      the same for GPU I alone, e.g. nvmlDeviceGetHandleByIndex_v2@1=15
//   lost=I             GPU I gives a handle, and answers all else with 15 (lost)
//   hang=SYMBOL        that call never returns
//   while=FILE         it hangs only while FILE exists
//   crash=SYMBOL       that call ends the process by a signal
//   garbage=1          texts come back unterminated, counts far too large
//   mig=N              MIG is on, with N instances of each GPU
//   links=N            NVLinks of each GPU, to a switch at 0000:c0:00.0; the last one is down
//   vgpu=1             a virtual GPU without a licence
//   reasons=N          clock event reasons (default 1: idle)
//   ramp=1             power, clock and temperature rise by 1 W, 1 MHz and 1 C with each call
//   power_now=N        field 186 gives N mW; without it the field is not supported
//   xid=N              GPU 0 reports this Xid, once
//   wait_lost=I        waiting for events of a set with GPU I fails, and it registers for no second
//   one
// FAKE_NVML_OLD leaves out what a driver of release 440 or so does not have. Written from the NVML
// API reference and independently of the probe's own declarations, so that a slip in either shows.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum {
  OK = 0,
  INVALID = 2,
  UNSUPPORTED = 3,
  NOT_FOUND = 6,
  TOO_SMALL = 7,
  LOST = 15,
  WRONG_VERSION = 25
};

struct device {
  int index;
  int mig;  // instance number, or -1
};
static struct device gpus[64];
#ifndef FAKE_NVML_OLD
static struct device instances[64][8];
#endif

static const char* setting(const char* key) {
  static _Thread_local char value[256];  // asked from several threads
  const char* all = getenv("FAKE_NVML");
  const size_t size = strlen(key);
  while (all != NULL && *all != 0) {
    const char* end = strchrnul(all, ';');
    if ((size_t)(end - all) > size && strncmp(all, key, size) == 0 && all[size] == '=') {
      const size_t length = (size_t)(end - all) - size - 1;
      snprintf(value, sizeof value, "%.*s", (int)length, all + size + 1);
      return value;
    }
    all = *end == 0 ? end : end + 1;
  }
  return NULL;
}
static int number(const char* key, int otherwise) {
  const char* text = setting(key);
  return text != NULL ? atoi(text) : otherwise;
}
static int named(const char* key, const char* symbol) {
  const char* text = setting(key);
  return text != NULL && strcmp(text, symbol) == 0;
}

// The code that this call is told to return; 0 when none. May not return at all.
static int begin(const char* symbol, const struct device* device) {
  if (named("hang", symbol) && (setting("while") == NULL || access(setting("while"), F_OK) == 0))
    for (;;) pause();
  if (named("crash", symbol)) raise(SIGSEGV);
  if (device != NULL) {
    char key[160];
    snprintf(key, sizeof key, "%s@%d", symbol, device->index);
    if (setting(key) != NULL) return number(key, 0);
    if (setting("lost") != NULL && number("lost", -1) == device->index) return LOST;
  }
  return number(symbol, 0);
}
#define BEGIN(device)                         \
  do {                                        \
    const int code = begin(__func__, device); \
    if (code != 0) return code;               \
  } while (0)

static int put(char* out, unsigned size, const char* text) {
  if (number("garbage", 0)) {
    memset(out, 'A', size);
    return OK;
  }
  if (strlen(text) + 1 > size) return TOO_SMALL;
  strcpy(out, text);
  return OK;
}
static int put_number(unsigned* out, unsigned value) {
  *out = value;
  return OK;
}

// ---- system
API int nvmlInit(void) {
  BEGIN(NULL);
  return OK;
}
API int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  BEGIN(NULL);
  const char* version = setting("driver");
  return put(out, size, version != NULL ? version : "580.159.04");
}
API int nvmlSystemGetCudaDriverVersion(int* out) {
  BEGIN(NULL);
  *out = 13000;
  return OK;
}
API int nvmlDeviceGetCount(unsigned* out) {
  BEGIN(NULL);
  return put_number(out, number("garbage", 0) ? 4000000000u : (unsigned)number("devices", 1));
}
static int handle(unsigned index, struct device** out) {
  if (index >= 64 || (int)index >= number("devices", 1)) return INVALID;
  gpus[index].index = (int)index;
  gpus[index].mig = -1;
  *out = &gpus[index];
  return OK;
}
API int nvmlDeviceGetHandleByIndex(unsigned index, struct device** out) {
  struct device asked = {(int)index, -1};
  if (setting("lost") == NULL) BEGIN(&asked);
  return handle(index, out);
}
// GPU i is at 0000:(0x10 + i):00.0
static int handle_by_address(const char* address, struct device** out) {
  unsigned domain, bus, slot, function;
  if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4 || bus < 0x10)
    return INVALID;
  if ((int)bus - 0x10 >= number("devices", 1)) return NOT_FOUND;
  return handle(bus - 0x10, out);
}
API int nvmlDeviceGetHandleByPciBusId_v2(const char* address, struct device** out) {
  BEGIN(NULL);
  return handle_by_address(address, out);
}

int nvmlDeviceGetUUID(struct device* d, char* out, unsigned size);
API int nvmlDeviceGetHandleByUUID(const char* uuid, struct device** out) {
  BEGIN(NULL);
  char own[96];
  for (int i = 0; i < number("devices", 1); ++i)
    if (handle((unsigned)i, out) == OK && nvmlDeviceGetUUID(*out, own, sizeof own) == OK &&
        strcmp(uuid, own) == 0)
      return OK;
  return NOT_FOUND;
}

// ---- clocks that are held: each change is a line of the file that FAKE_NVML_CLOCKS names
static int change_clocks(struct device* gpu, const char* change) {
  FILE* file = getenv("FAKE_NVML_CLOCKS") == NULL ? NULL : fopen(getenv("FAKE_NVML_CLOCKS"), "a");
  if (file == NULL) return OK;
  fprintf(file, "%d %s\n", gpu->index, change);
  fclose(file);
  return OK;
}
API int nvmlDeviceGetDefaultApplicationsClock(struct device* gpu, unsigned type, unsigned* mhz) {
  BEGIN(gpu);
  *mhz = type == 0 ? 1335 : 2619;
  return OK;
}
API int nvmlDeviceSetGpuLockedClocks(struct device* gpu, unsigned least, unsigned most) {
  BEGIN(gpu);
  char change[64];
  snprintf(change, sizeof change, "%u to %u MHz", least, most);
  return change_clocks(gpu, change);
}
API int nvmlDeviceResetGpuLockedClocks(struct device* gpu) {
  BEGIN(gpu);
  return change_clocks(gpu, "free");
}

// ---- identity
struct pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char text[32];
};
static void fill_pci(struct pci* out, unsigned bus) {
  memset(out, 0, sizeof *out);
  out->bus = bus;
  out->id = 0x233510de;
  snprintf(out->text, sizeof out->text, "00000000:%02X:00.0", bus);
}
API int nvmlDeviceGetPciInfo_v3(struct device* d, struct pci* out) {
  BEGIN(d);
  fill_pci(out, 0x10 + (unsigned)d->index);
  return OK;
}
API int nvmlDeviceGetIndex(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, (unsigned)d->index);
}
API int nvmlDeviceGetName(struct device* d, char* out, unsigned size) {
  BEGIN(d);
  return put(out, size, d->mig < 0 ? "NVIDIA H200" : "NVIDIA H200 MIG 1g.18gb");
}
API int nvmlDeviceGetUUID(struct device* d, char* out, unsigned size) {
  BEGIN(d);
  char text[64];
  snprintf(text, sizeof text, "%s-fa4e0000-0000-0000-0000-%04d%08d", d->mig < 0 ? "GPU" : "MIG",
           d->mig + 1, d->index);
  return put(out, size, text);
}
API int nvmlDeviceGetSerial(struct device* d, char* out, unsigned size) {
  BEGIN(d);
  return put(out, size, "165002400001");
}
API int nvmlDeviceGetMinorNumber(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, (unsigned)d->index);
}
API int nvmlDeviceGetVbiosVersion(struct device* d, char* out, unsigned size) {
  BEGIN(d);
  return put(out, size, "96.00.BC.00.01");
}
API int nvmlDeviceGetCudaComputeCapability(struct device* d, int* major, int* minor) {
  BEGIN(d);
  *major = 9;
  *minor = 0;
  return OK;
}

// ---- memory, clocks, power
// By how much a quantity has risen since the first call.
static unsigned ramp(int quantity) {
  static _Atomic unsigned calls[3];
  return number("ramp", 0) ? calls[quantity]++ : 0;
}
API int nvmlDeviceGetMemoryInfo(struct device* d, uint64_t out[3]) {
  BEGIN(d);
  out[0] = 150754820096u;
  out[1] = 150000000000u;
  out[2] = 754820096u;
  return OK;
}
API int nvmlDeviceGetClockInfo(struct device* d, int type, unsigned* out) {
  BEGIN(d);
  return put_number(out, type == 1 ? 345 + ramp(0) : type == 2 ? 3201 : 0);
}
API int nvmlDeviceGetMaxClockInfo(struct device* d, int type, unsigned* out) {
  BEGIN(d);
  return put_number(out, type == 1 ? 1980 : type == 2 ? 3201 : 0);
}
API int nvmlDeviceGetPowerUsage(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 76500 + 1000 * ramp(1));
}
API int nvmlDeviceGetEnforcedPowerLimit(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 700000);
}
API int nvmlDeviceGetTemperature(struct device* d, int sensor, unsigned* out) {
  BEGIN(d);
  return sensor == 0 ? put_number(out, 31) : INVALID;
}
API int nvmlDeviceGetTemperatureThreshold(struct device* d, int kind, unsigned* out) {
  BEGIN(d);
  return put_number(out, kind == 0 ? 92 : kind == 1 ? 89 : 0);
}
API int nvmlDeviceGetCurrentClocksThrottleReasons(struct device* d, unsigned long long* out) {
  BEGIN(d);
  *out = 0x40;
  return OK;
}

// ---- errors
API int nvmlDeviceGetEccMode(struct device* d, unsigned* now, unsigned* pending) {
  BEGIN(d);
  *now = 1;
  *pending = 0;
  return OK;
}
API int nvmlDeviceGetTotalEccErrors(struct device* d, int type, int counter,
                                    unsigned long long* out) {
  BEGIN(d);
  *out = (unsigned long long)(10 + type * 2 + counter);
  return OK;
}
API int nvmlDeviceGetRetiredPages(struct device* d, int cause, unsigned* count,
                                  unsigned long long* pages) {
  BEGIN(d);
  if (*count < 3) return TOO_SMALL;
  *count = cause == 0 ? 2 : 3;
  for (unsigned i = 0; i < *count; ++i) pages[i] = i;
  return OK;
}
API int nvmlDeviceGetRetiredPagesPendingStatus(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 1);
}

// ---- bus, modes
API int nvmlDeviceGetCurrPcieLinkGeneration(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 1);
}
API int nvmlDeviceGetMaxPcieLinkGeneration(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 5);
}
API int nvmlDeviceGetCurrPcieLinkWidth(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 16);
}
API int nvmlDeviceGetMaxPcieLinkWidth(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 16);
}
API int nvmlDeviceGetPersistenceMode(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 1);
}
API int nvmlDeviceGetComputeMode(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 3);
}

struct process_v1 {
  unsigned pid;
  unsigned long long used;
};
API int nvmlDeviceGetComputeRunningProcesses(struct device* d, unsigned* count,
                                             struct process_v1* out) {
  BEGIN(d);
  if (*count > 0 && out == NULL) return INVALID;
  if (*count < 1) return *count = 1, TOO_SMALL;
  *count = 1;
  out[0].pid = 41;
  out[0].used = 1000;
  return OK;
}
API int nvmlSystemGetProcessName(unsigned pid, char* out, unsigned size) {
  BEGIN(NULL);
  char text[32];
  snprintf(text, sizeof text, "worker-%u", pid);
  return put(out, size, text);
}

#ifndef FAKE_NVML_OLD
API int nvmlInit_v2(void) {
  BEGIN(NULL);
  return OK;
}
API int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  BEGIN(NULL);
  *out = 13000;
  return OK;
}
API int nvmlDeviceGetCount_v2(unsigned* out) {
  BEGIN(NULL);
  return nvmlDeviceGetCount(out);
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** out) {
  struct device asked = {(int)index, -1};
  if (setting("lost") == NULL) BEGIN(&asked);
  return handle(index, out);
}
API int nvmlDeviceGetNumGpuCores(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 16896);
}
API int nvmlDeviceGetMemoryBusWidth(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 6144);
}
API int nvmlDeviceGetGspFirmwareVersion(struct device* d, char* out) {
  BEGIN(d);
  strcpy(out, "580.159.04");
  return OK;
}
API int nvmlDeviceGetBoardPartNumber(struct device* d, char* out, unsigned size) {
  BEGIN(d);
  return put(out, size, "692-2G520");
}
API int nvmlDeviceGetPowerManagementDefaultLimit(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 700000);
}
API int nvmlDeviceGetPowerManagementLimitConstraints(struct device* d, unsigned* min,
                                                     unsigned* max) {
  BEGIN(d);
  *min = 200000;
  *max = 700000;
  return OK;
}

struct memory_v2 {
  unsigned version;
  uint64_t total, reserved, free, used;
};
API int nvmlDeviceGetMemoryInfo_v2(struct device* d, struct memory_v2* out) {
  BEGIN(d);
  if (out->version != (sizeof *out | 2u << 24)) return WRONG_VERSION;
  out->total = d->mig < 0 ? 150754820096u : 17179869184u;
  out->reserved = 600000000u;
  out->free = 150000000000u;
  out->used = 4096;
  return OK;
}
API int nvmlDeviceGetBAR1MemoryInfo(struct device* d, uint64_t out[3]) {
  BEGIN(d);
  out[0] = 274877906944u;
  out[1] = out[2] = 0;
  return OK;
}
struct temperature {
  unsigned version;
  int sensor, celsius;
};
API int nvmlDeviceGetTemperatureV(struct device* d, struct temperature* out) {
  BEGIN(d);
  if (out->version != (sizeof *out | 1u << 24)) return WRONG_VERSION;
  out->celsius = 33 + (int)ramp(2);
  return OK;
}
API int nvmlDeviceGetUtilizationRates(struct device* d, unsigned out[2]) {
  BEGIN(d);
  out[0] = 7;
  out[1] = 3;
  return OK;
}
API int nvmlDeviceGetCurrentClocksEventReasons(struct device* d, unsigned long long* out) {
  BEGIN(d);
  *out = (unsigned long long)number("reasons", 1);
  return OK;
}
API int nvmlDeviceGetRemappedRows(struct device* d, unsigned* corrected, unsigned* uncorrected,
                                  unsigned* pending, unsigned* failed) {
  BEGIN(d);
  *corrected = 1;
  *uncorrected = 2;
  *pending = 1;
  *failed = 0;
  return OK;
}
API int nvmlDeviceGetRowRemapperHistogram(struct device* d, unsigned out[5]) {
  BEGIN(d);
  for (unsigned i = 0; i < 5; ++i) out[i] = 100 + i;
  return OK;
}
struct sram {
  unsigned version;
  uint64_t counts[11];
  unsigned exceeded;
};
API int nvmlDeviceGetSramEccErrorStatus(struct device* d, struct sram* out) {
  BEGIN(d);
  if (out->version != (sizeof *out | 1u << 24)) return WRONG_VERSION;
  for (unsigned i = 0; i < 11; ++i) out->counts[i] = i;
  out->exceeded = 1;
  return OK;
}
API int nvmlDeviceGetPcieReplayCounter(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 5);
}
API int nvmlDeviceGetMigMode(struct device* d, unsigned* now, unsigned* pending) {
  BEGIN(d);
  *now = *pending = number("mig", 0) > 0;
  return OK;
}
API int nvmlDeviceGetMaxMigDeviceCount(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 7);
}
API int nvmlDeviceGetMigDeviceHandleByIndex(struct device* d, unsigned index, struct device** out) {
  BEGIN(d);
  if ((int)index >= number("mig", 0) || index >= 8) return NOT_FOUND;
  instances[d->index][index].index = d->index;
  instances[d->index][index].mig = (int)index;
  *out = &instances[d->index][index];
  return OK;
}
API int nvmlDeviceGetGpuInstanceId(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 7u + (unsigned)d->mig);
}
API int nvmlDeviceGetComputeInstanceId(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, 0);
}
struct attributes {
  unsigned counts[8];
  uint64_t memory_mib;
};
API int nvmlDeviceGetAttributes_v2(struct device* d, struct attributes* out) {
  BEGIN(d);
  memset(out, 0, sizeof *out);
  out->counts[0] = 16;
  out->memory_mib = 16384;
  return OK;
}
API int nvmlDeviceGetVirtualizationMode(struct device* d, unsigned* out) {
  BEGIN(d);
  return put_number(out, number("vgpu", 0) ? 2 : 1);
}
struct feature {
  int code;
  unsigned state;
  char license[128], product[128];
  unsigned enabled;
  struct {
    unsigned year;
    unsigned short month, day, hour, minute, second;
    unsigned char status;
  } expiry;
};
struct features {
  int supported;
  unsigned count;
  struct feature features[3];
};
API int nvmlDeviceGetGridLicensableFeatures_v4(struct device* d, struct features* out) {
  BEGIN(d);
  memset(out, 0, sizeof *out);
  out->supported = 1;
  out->count = 1;
  out->features[0].code = 1;
  out->features[0].enabled = 1;
  strcpy(out->features[0].product, "NVIDIA Virtual Compute Server");
  return OK;
}
// Knows version 2 of the structure and not version 3, as drivers 550 to 570.
struct fabric_v2 {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
API int nvmlDeviceGetGpuFabricInfoV(struct device* d, struct fabric_v2* out) {
  BEGIN(d);
  if (out->version != (sizeof *out | 2u << 24)) return WRONG_VERSION;
  memset(out->cluster, 0xAB, sizeof out->cluster);
  out->status = 0;
  out->clique = 4;
  out->state = 3;
  out->health = 0x12;
  return OK;
}
API int nvmlDeviceGetCpuAffinity(struct device* d, unsigned size, unsigned long* out) {
  BEGIN(d);
  memset(out, 0, size * sizeof *out);
  if (size < 2) return TOO_SMALL;
  out[0] = 0xFFFF;
  out[1] = 5;
  return OK;
}
API int nvmlDeviceGetMemoryAffinity(struct device* d, unsigned size, unsigned long* out,
                                    unsigned scope) {
  BEGIN(d);
  memset(out, 0, size * sizeof *out);
  out[0] = 2;
  return scope == 0 ? OK : INVALID;
}
API int nvmlDeviceValidateInforom(struct device* d) {
  BEGIN(d);
  return OK;
}

struct field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, code;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
};
API int nvmlDeviceGetFieldValues(struct device* d, int count, struct field* fields) {
  BEGIN(d);
  for (int i = 0; i < count; ++i) {
    struct field* f = &fields[i];
    f->code = OK;
    f->type = 1;
    switch (f->id) {
      case 1:
      case 2:
        f->value.u = f->id == 1;
        break;
      case 82:
        f->value.u = 44;
        break;
      case 186:
        if (setting("power_now") == NULL) f->code = UNSUPPORTED;
        f->value.u = (unsigned)number("power_now", 0);
        break;
      case 230:
        f->value.u = 1;
        break;
      case 173:
        f->type = 3;
        f->value.ull = 5000000000ull;
        break;
      default:
        f->code = UNSUPPORTED;
    }
  }
  return OK;
}

struct process_v2 {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
static int list_processes(unsigned* count, void* out, int first, size_t stride) {
  if (number("garbage", 0)) {
    *count = 4000000000u;
    return OK;
  }
  if (*count > 0 && out == NULL) return INVALID;
  if (*count < 2) return *count = 2, TOO_SMALL;
  *count = 2;
  for (int i = 0; i < 2; ++i) {
    struct process_v2 entry = {(unsigned)(first + i), i == 0 ? 1048576 : ~0ull, ~0u, ~0u};
    memcpy((char*)out + (size_t)i * stride, &entry, sizeof entry);
  }
  return OK;
}
API int nvmlDeviceGetComputeRunningProcesses_v3(struct device* d, unsigned* count, void* out) {
  BEGIN(d);
  // Release 535.86 added eight bytes to the entry, and took them back.
  const char* driver = setting("driver");
  const size_t stride = driver != NULL && strncmp(driver, "535.86", 6) == 0 ? 32 : 24;
  return list_processes(count, out, 500, stride);
}
API int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device* d, unsigned* count, void* out) {
  BEGIN(d);
  (void)out;
  *count = 0;
  return OK;
}

// ---- events
struct event {
  struct device* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
API int nvmlEventSetCreate(void** out) {
  BEGIN(NULL);
  static int sets[64], count;
  *out = &sets[count++ % 64];
  return OK;
}
static int was_lost;
API int nvmlDeviceRegisterEvents(struct device* d, unsigned long long types, void* set) {
  BEGIN(d);
  if (d->index == (int)number("wait_lost", -1)) {
    if (was_lost) return LOST;
    *(int*)set = 1;
  }
  return types == 8 ? OK : INVALID;
}
API int nvmlEventSetWait_v2(void* set, struct event* out, unsigned milliseconds) {
  BEGIN(NULL);
  static int told;
  if (*(int*)set) {
    was_lost = 1;
    return LOST;
  }
  if (number("xid", 0) > 0 && !told) {
    told = 1;
    const struct event event = {&gpus[0], 8, (unsigned long long)number("xid", 0), ~0u, ~0u};
    *out = event;
    return OK;
  }
  usleep(milliseconds * 1000);
  return 10;  // timeout
}

// ---- links and pairs
API int nvmlDeviceGetNvLinkState(struct device* d, unsigned link, unsigned* out) {
  BEGIN(d);
  const unsigned links = (unsigned)number("links", 0);
  if (links == 0) return UNSUPPORTED;
  if (link >= links) return INVALID;
  return put_number(out, link + 1 < links);
}
API int nvmlDeviceGetNvLinkVersion(struct device* d, unsigned link, unsigned* out) {
  BEGIN(d);
  (void)link;
  return put_number(out, 7);
}
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct device* d, unsigned link, struct pci* out) {
  BEGIN(d);
  (void)link;
  fill_pci(out, 0xC0);
  return OK;
}
API int nvmlDeviceGetNvLinkRemoteDeviceType(struct device* d, unsigned link, unsigned* out) {
  BEGIN(d);
  (void)link;
  return put_number(out, 2);
}
API int nvmlDeviceGetNvLinkErrorCounter(struct device* d, unsigned link, int counter,
                                        unsigned long long* out) {
  BEGIN(d);
  *out = link * 10 + (unsigned)counter;
  return OK;
}
API int nvmlDeviceGetP2PStatus(struct device* a, struct device* b, int index, int* out) {
  BEGIN(a);
  *out = index == 0 && a->index + b->index == 1 ? 1 : 0;
  return OK;
}
API int nvmlDeviceGetTopologyCommonAncestor(struct device* a, struct device* b, int* out) {
  BEGIN(a);
  (void)b;
  *out = 30;
  return OK;
}
struct cc_state {
  unsigned environment, feature, dev_tools;
};
API int nvmlSystemGetConfComputeState(struct cc_state* out) {
  BEGIN(NULL);
  memset(out, 0, sizeof *out);
  out->feature = (unsigned)number("cc", 0);
  return OK;
}
API int nvmlSystemGetConfComputeGpusReadyState(unsigned* out) {
  BEGIN(NULL);
  return put_number(out, (unsigned)number("cc_ready", 0));
}
#endif
