/* libnvidia-ml.so.1 between a program and the real one: `fault=nvml;what=NAME` falsifies one thing
 * that it tells. Declared from the NVML API reference, independently of the program. */
#include "shim.h"

const char kRealLibrary[] = "libreal_nvml.so.1";
const int kMissing = 13; /* NVML_ERROR_FUNCTION_NOT_FOUND */

typedef void* device;
enum { OK = 0, UNSUPPORTED = 3, CORRUPT = 14, LOST = 15 };
#define REAL(type, symbol) ((type)shim_real(symbol))

/* Whether this answer is to be falsified, now. */
static int is_hit(const char* what) {
  return shim_fault_is("nvml") && shim_is("what", what) && shim_hits();
}

static double told(const char* what, double real, double otherwise) {
  if (!is_hit(what)) return real;
  const double value = shim_number("value", otherwise);
  shim_made(value == real ? "unchanged" : "changed", "%s: %g told instead of %g", what, value,
            real);
  return value;
}
static double added(const char* what, double real, double otherwise) {
  return told(what, real, real + shim_number("add", otherwise));
}

/* A number of a device: what it is falsified by, and its function. */
#define NUMBER(function, what)                                            \
  API function(device d, unsigned* out) {                                 \
    const int code = REAL(int (*)(device, unsigned*), #function)(d, out); \
    if (code == OK) *out = (unsigned)told(what, *out, *out);              \
    return code;                                                          \
  }
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "link_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "link_width")
NUMBER(nvmlDeviceGetNumGpuCores, "cores")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "pages_pending")

API nvmlDeviceGetPcieReplayCounter(device d, unsigned* out) {
  const int code = REAL(int (*)(device, unsigned*), "nvmlDeviceGetPcieReplayCounter")(d, out);
  if (code == OK) *out = (unsigned)added("replays", *out, 100000);
  return code;
}

/* Graphics and SM clocks, which are one. */
static int is_sm(int type) { return type < 2; }
API nvmlDeviceGetClockInfo(device d, int type, unsigned* out) {
  const int code = REAL(int (*)(device, int, unsigned*), "nvmlDeviceGetClockInfo")(d, type, out);
  if (code == OK && is_sm(type) && is_hit("lost"))
    return shim_made("changed", "the GPU is lost"), LOST;
  if (code == OK && is_sm(type))
    *out = (unsigned)told("clock", *out, *out * shim_number("factor", 1));
  if (code == OK && is_sm(type) && is_hit("no_clock"))
    return shim_made("changed", "no clock"), UNSUPPORTED;
  return code;
}
API nvmlDeviceGetMaxClockInfo(device d, int type, unsigned* out) {
  const int code = REAL(int (*)(device, int, unsigned*), "nvmlDeviceGetMaxClockInfo")(d, type, out);
  if (code == OK && is_sm(type) && is_hit("no_maximum"))
    return shim_made("changed", "no greatest clock"), UNSUPPORTED;
  return code;
}

static int reasons(const char* symbol, device d, unsigned long long* out) {
  const int code = REAL(int (*)(device, unsigned long long*), symbol)(d, out);
  if (code == OK) *out = (unsigned long long)told("reasons", (double)*out, (double)*out);
  return code;
}
API nvmlDeviceGetCurrentClocksEventReasons(device d, unsigned long long* out) {
  return reasons("nvmlDeviceGetCurrentClocksEventReasons", d, out);
}
API nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long* out) {
  return reasons("nvmlDeviceGetCurrentClocksThrottleReasons", d, out);
}

/* ---- memory and who uses it ---- */

struct memory {
  unsigned long long total, free, used;
};
struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static void falsify_memory(unsigned long long* total, unsigned long long* free_bytes,
                           unsigned long long* used) {
  if (shim_fault_is("census")) shim_log("nvml");
  *total = (unsigned long long)told("memory_total", (double)*total,
                                    (double)*total * shim_number("factor", 1));
  const unsigned long long taken =
      (unsigned long long)added("memory_used", (double)*used,
                                (double)*free_bytes * shim_number("share", 0)) -
      *used;
  *used += taken;
  *free_bytes -= taken < *free_bytes ? taken : *free_bytes;
}
API nvmlDeviceGetMemoryInfo(device d, struct memory* out) {
  const int code = REAL(int (*)(device, struct memory*), "nvmlDeviceGetMemoryInfo")(d, out);
  if (code == OK) falsify_memory(&out->total, &out->free, &out->used);
  return code;
}
API nvmlDeviceGetMemoryInfo_v2(device d, struct memory_v2* out) {
  const int code = REAL(int (*)(device, struct memory_v2*), "nvmlDeviceGetMemoryInfo_v2")(d, out);
  if (code == OK) falsify_memory(&out->total, &out->free, &out->used);
  return code;
}

/* One process more: the first of the machine. */
static int processes(const char* symbol, size_t entry_bytes, device d, unsigned* count,
                     unsigned char* out) {
  const unsigned room = *count;
  const int code = REAL(int (*)(device, unsigned*, void*), symbol)(d, count, out);
  if (code != OK || *count >= room || !is_hit("process")) return code;
  unsigned char* entry = out + *count * entry_bytes;
  const unsigned process = 1, all = ~0u;
  const unsigned long long used = 1ull << 30;
  memset(entry, 0, entry_bytes);
  memcpy(entry, &process, sizeof process);
  memcpy(entry + 8, &used, sizeof used);
  if (entry_bytes >= 24) memcpy(entry + 16, &all, sizeof all), memcpy(entry + 20, &all, sizeof all);
  ++*count;
  shim_made("changed", "process 1 uses 1 GiB");
  return OK;
}
API nvmlDeviceGetComputeRunningProcesses(device d, unsigned* count, void* out) {
  return processes("nvmlDeviceGetComputeRunningProcesses", 16, d, count, out);
}
API nvmlDeviceGetComputeRunningProcesses_v2(device d, unsigned* count, void* out) {
  return processes("nvmlDeviceGetComputeRunningProcesses_v2", 24, d, count, out);
}
API nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned* count, void* out) {
  return processes("nvmlDeviceGetComputeRunningProcesses_v3", 24, d, count, out);
}

/* ---- health ---- */

API nvmlDeviceGetTotalEccErrors(device d, int type, int counter, unsigned long long* out) {
  const int code = REAL(int (*)(device, int, int, unsigned long long*),
                        "nvmlDeviceGetTotalEccErrors")(d, type, counter, out);
  if (code == OK)
    *out = (unsigned long long)added(type ? "uncorrected" : "corrected", (double)*out,
                                     type ? 3 : 5000);
  return code;
}
API nvmlDeviceGetEccMode(device d, unsigned* now, unsigned* pending) {
  const int code =
      REAL(int (*)(device, unsigned*, unsigned*), "nvmlDeviceGetEccMode")(d, now, pending);
  if (code == OK) *pending = *now = (unsigned)told("ecc_mode", *now, *now);
  return code;
}
API nvmlDeviceGetRemappedRows(device d, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  const int code = REAL(int (*)(device, unsigned*, unsigned*, unsigned*, unsigned*),
                        "nvmlDeviceGetRemappedRows")(d, corrected, uncorrected, pending, failed);
  if (code != OK) return code;
  *pending = (unsigned)told("rows_pending", *pending, 1);
  *failed = (unsigned)told("rows_failed", *failed, 1);
  *uncorrected = (unsigned)added("rows_remapped", *uncorrected, 1);
  return code;
}
API nvmlDeviceValidateInforom(device d) {
  const int code = REAL(int (*)(device), "nvmlDeviceValidateInforom")(d);
  if (code == OK && is_hit("inforom")) return shim_made("changed", "inforom corrupt"), CORRUPT;
  return code;
}
API nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned* out) {
  const int code =
      REAL(int (*)(device, unsigned, unsigned*), "nvmlDeviceGetNvLinkState")(d, link, out);
  if (code == OK && link == (unsigned)shim_number("link", 0))
    *out = (unsigned)told("nvlink", *out, 0);
  return code;
}
struct field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, code;
  union {
    double real;
    unsigned number;
  } value;
};
/* `field=N` is told with `value`, whether the real one knows it or not. */
API nvmlDeviceGetFieldValues(device d, int count, struct field* fields) {
  const unsigned wanted = (unsigned)shim_number("field", -1);
  const int code =
      REAL(int (*)(device, int, struct field*), "nvmlDeviceGetFieldValues")(d, count, fields);
  for (int i = 0; code == OK && i < count; ++i) {
    if (fields[i].id != wanted || !is_hit("field")) continue;
    fields[i].code = OK, fields[i].type = 1;
    fields[i].value.number = (unsigned)shim_number("value", 0);
    shim_made("changed", "field %u: %u told", wanted, fields[i].value.number);
  }
  return code;
}

struct event {
  device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static device g_listened;
API nvmlDeviceRegisterEvents(device d, unsigned long long types, void* set) {
  g_listened = d;
  return REAL(int (*)(device, unsigned long long, void*), "nvmlDeviceRegisterEvents")(d, types,
                                                                                      set);
}
API nvmlEventSetWait_v2(void* set, struct event* out, unsigned ms) {
  const int code =
      REAL(int (*)(void*, struct event*, unsigned), "nvmlEventSetWait_v2")(set, out, ms);
  if (code == OK || !is_hit("xid")) return code;
  const unsigned long long kXidCriticalError = 8;
  *out = (struct event){g_listened, kXidCriticalError, (unsigned long long)shim_number("value", 48),
                        ~0u, ~0u};
  shim_made("changed", "Xid %g", shim_number("value", 48));
  return OK;
}
