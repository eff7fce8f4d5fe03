/* The NVML of the GPU that fake_cuda_ptx plays: one that lacks nothing, with the size and the
 * number of SMs that FAKE_CUDA names, and the driver's version (driver=535.104.05). Declared from
 * the NVML API reference, independently of the program. */
#define _GNU_SOURCE
#include <stddef.h>
#include <time.h>
#define FAKE_VARIABLE "FAKE_CUDA"
#include "../fake_drivers/fake_options.h"

#define API __attribute__((visibility("default"))) int
enum {
  OK = 0,
  INVALID = 2,
  UNSUPPORTED = 3,
  NOT_FOUND = 6,
  TOO_SMALL = 7,
  TIMEOUT = 10,
  WRONG_VERSION = 25
};
typedef int* device;
/* FAKE_CUDA's "mhz"; else fewer than its SM counts cycles in a microsecond. */
#define SM_MHZ bytes_option("mhz", 2)
static int g_gpu;

static int put(char* out, unsigned size, const char* text) {
  return snprintf(out, size, "%s", text) < (int)size ? OK : TOO_SMALL;
}

API nvmlInit_v2(void) { return OK; }
API nvmlShutdown(void) { return OK; }
API nvmlSystemGetDriverVersion(char* out, unsigned size) {
  char text[32];
  return put(out, size, option("driver", text, sizeof text) ? text : "580.159.04");
}
API nvmlSystemGetNVMLVersion(char* out, unsigned size) { return put(out, size, "13.580.159.04"); }
API nvmlSystemGetCudaDriverVersion_v2(int* out) {
  char text[32];
  int major = 13, minor = 0;
  if (option("cuda", text, sizeof text)) sscanf(text, "%d.%d", &major, &minor);
  return *out = 1000 * major + 10 * minor, OK;
}
API nvmlDeviceGetCount_v2(unsigned* out) { return *out = 1, OK; }
API nvmlDeviceGetHandleByIndex_v2(unsigned index, device* out) {
  return *out = &g_gpu, index == 0 ? OK : INVALID;
}
API nvmlDeviceGetHandleByPciBusId_v2(const char* address, device* out) {
  (void)address;
  return *out = &g_gpu, OK;
}
API nvmlDeviceGetHandleByUUID(const char* uuid, device* out) {
  (void)uuid;
  return *out = &g_gpu, OK;
}
struct pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char text[32];
};
API nvmlDeviceGetPciInfo_v3(device d, struct pci* out) {
  (void)d;
  memset(out, 0, sizeof *out);
  out->bus = 0x17;
  out->id = 0x233510de;
  snprintf(out->text, sizeof out->text, "00000000:17:00.0");
  return OK;
}
API nvmlDeviceGetName(device d, char* out, unsigned size) {
  return (void)d, put(out, size, "Fake GPU 0");
}
API nvmlDeviceGetUUID(device d, char* out, unsigned size) {
  return (void)d, put(out, size, "GPU-fa4e0000-0000-0000-0000-000000000000");
}
API nvmlDeviceGetCudaComputeCapability(device d, int* major, int* minor) {
  char text[32];
  (void)d;
  *major = 9, *minor = 0;
  if (option("cc", text, sizeof text)) sscanf(text, "%d.%d", major, minor);
  return OK;
}
struct memory_v2 {
  unsigned version;
  uint64_t total, reserved, free, used;
};
API nvmlDeviceGetMemoryInfo_v2(device d, struct memory_v2* out) {
  (void)d;
  if (out->version != (sizeof *out | 2u << 24)) return WRONG_VERSION;
  out->total = out->free = bytes_option("memory", 64u << 20);
  out->reserved = out->used = 0;
  return OK;
}
#define NUMBER(name, value) \
  API name(device d, unsigned* out) { return (void)d, *out = (unsigned)(value), OK; }
NUMBER(nvmlDeviceGetIndex, 0)
NUMBER(nvmlDeviceGetMinorNumber, 0)
static unsigned cores_of_an_sm(void) {  // CUDA C++ Programming Guide, "Arithmetic Instructions"
  char cc[32] = "9.0";
  option("cc", cc, sizeof cc);
  return !strcmp(cc, "6.0") || cc[0] == '7' || !strcmp(cc, "8.0") ? 64 : 128;
}
NUMBER(nvmlDeviceGetNumGpuCores, cores_of_an_sm() * bytes_option("sms", 4))
NUMBER(nvmlDeviceGetPowerUsage, 300000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 700000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, 700000)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, 0)
NUMBER(nvmlDeviceGetPersistenceMode, 1)
NUMBER(nvmlDeviceGetComputeMode, 0)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, 0)
API nvmlDeviceGetClockInfo(device d, int type, unsigned* out) {
  return (void)d, *out = type == 2 ? 2619 : (unsigned)SM_MHZ, OK;
}
API nvmlDeviceGetMaxClockInfo(device d, int type, unsigned* out) {
  return (void)d, *out = type == 2 ? 2619 : (unsigned)SM_MHZ, OK;
}
API nvmlDeviceGetCurrentClocksEventReasons(device d, unsigned long long* out) {
  return (void)d, *out = 0, OK;
}
API nvmlDeviceGetTemperature(device d, int sensor, unsigned* out) {
  return (void)d, (void)sensor, *out = 40, OK;
}
API nvmlDeviceGetTemperatureThreshold(device d, int kind, unsigned* out) {
  return (void)d, *out = kind == 0 ? 92 : 89, OK;
}
API nvmlDeviceGetUtilizationRates(device d, unsigned* out) {
  return (void)d, out[0] = out[1] = 0, OK;
}
API nvmlDeviceGetEccMode(device d, unsigned* now, unsigned* pending) {
  return (void)d, *now = *pending = 1, OK;
}
API nvmlDeviceGetTotalEccErrors(device d, int type, int counter, unsigned long long* out) {
  return (void)d, (void)type, (void)counter, *out = 0, OK;
}
API nvmlDeviceGetRemappedRows(device d, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  return (void)d, *corrected = *uncorrected = *pending = *failed = 0, OK;
}
API nvmlDeviceGetMigMode(device d, unsigned* now, unsigned* pending) {
  return (void)d, *now = *pending = 0, OK;
}
API nvmlDeviceValidateInforom(device d) { return (void)d, OK; }
API nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned* count, void* out) {
  return (void)d, (void)out, *count = 0, OK;
}
API nvmlDeviceGetGraphicsRunningProcesses_v3(device d, unsigned* count, void* out) {
  return (void)d, (void)out, *count = 0, OK;
}
/* Two NVLinks to one switch. */
API nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned* out) {
  return (void)d, *out = 1, link < 2 ? OK : INVALID;
}
API nvmlDeviceGetNvLinkRemoteDeviceType(device d, unsigned link, int* out) {
  return (void)d, *out = 2, link < 2 ? OK : INVALID;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
}
API nvmlDeviceGetNvLinkRemotePciInfo_v2(device d, unsigned link, struct pci* out) {
  nvmlDeviceGetPciInfo_v3(d, out);
  out->bus = 0xc0;
  out->id = 0x22a310de;
  snprintf(out->text, sizeof out->text, "00000000:C0:00.0");
  return link < 2 ? OK : INVALID;
}
struct field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, code;
  unsigned long long value;
};
API nvmlDeviceGetFieldValues(device d, int count, struct field* fields) {
  (void)d;
  for (int i = 0; i < count; ++i) fields[i].code = UNSUPPORTED;
  return OK;
}
API nvmlEventSetCreate(void** set) { return *set = &g_gpu, OK; }
API nvmlDeviceRegisterEvents(device d, unsigned long long types, void* set) {
  return (void)d, (void)types, (void)set, OK;
}
API nvmlEventSetWait_v2(void* set, void* data, unsigned ms) {
  const struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
  (void)set, (void)data;
  nanosleep(&wait, NULL);
  return TIMEOUT;
}
