/* The least that `gpuready detect` can take on an NVIDIA machine: a process that makes the same
 * NVML calls and does nothing else. benchmarks/command_times.py compiles and times it beside
 * detect. cc -O2 -o nvml_floor benchmarks/nvml_floor.c -ldl Keep the list the same as the basic
 * questions of src/probe/nvml_queries.cc and nvml_fields.cc. Exit code: 0 when every call was found
 * and the devices answered, else 1. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*any_function)();

static void* library;
static int missing;

static any_function find(const char* name) {
  any_function function = (any_function)dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "nvml_floor: %s is not there\n", name);
    missing = 1;
  }
  return function;
}

/* What stands between the device and the answer's address. */
enum shape { kAnswer, kText, kTwoAnswers, kVersioned, kCounter, kFourAnswers };

static const struct {
  const char* symbol;
  enum shape shape;
  uint32_t first, second; /* a structure's version; a counter's error and kind */
} kQuestions[] = {
    {"nvmlDeviceGetPciInfo_v3", kAnswer, 0, 0},
    {"nvmlDeviceGetName", kText, 0, 0},
    {"nvmlDeviceGetUUID", kText, 0, 0},
    {"nvmlDeviceGetSerial", kText, 0, 0},
    {"nvmlDeviceGetMinorNumber", kAnswer, 0, 0},
    {"nvmlDeviceGetVbiosVersion", kText, 0, 0},
    {"nvmlDeviceGetCudaComputeCapability", kTwoAnswers, 0, 0},
    {"nvmlDeviceGetMemoryInfo_v2", kVersioned, 40 | 2u << 24, 0},
    {"nvmlDeviceGetPowerUsage", kAnswer, 0, 0},
    {"nvmlDeviceGetEnforcedPowerLimit", kAnswer, 0, 0},
    {"nvmlDeviceGetTemperatureV", kVersioned, 12 | 1u << 24, 0},
    {"nvmlDeviceGetTotalEccErrors", kCounter, 0, 0},
    {"nvmlDeviceGetTotalEccErrors", kCounter, 1, 0},
    {"nvmlDeviceGetTotalEccErrors", kCounter, 0, 1},
    {"nvmlDeviceGetTotalEccErrors", kCounter, 1, 1},
    {"nvmlDeviceGetRemappedRows", kFourAnswers, 0, 0},
    {"nvmlDeviceGetMaxPcieLinkGeneration", kAnswer, 0, 0},
    {"nvmlDeviceGetMaxPcieLinkWidth", kAnswer, 0, 0},
    {"nvmlDeviceGetPersistenceMode", kAnswer, 0, 0},
    {"nvmlDeviceGetMigMode", kTwoAnswers, 0, 0},
    {"nvmlDeviceGetComputeMode", kAnswer, 0, 0},
};
static const uint32_t kFields[] = {1, 2, 82, 230};

static void ask(void* device) {
  static uint64_t a[64], b[64], c[64], d[64];
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    const any_function function = find(kQuestions[i].symbol);
    if (function == NULL) continue;
    switch (kQuestions[i].shape) {
      case kAnswer:
        function(device, a);
        break;
      case kText:
        function(device, a, 96u);
        break;
      case kTwoAnswers:
        function(device, a, b);
        break;
      case kVersioned:
        memset(a, 0, sizeof a);
        memcpy(a, &kQuestions[i].first, sizeof(uint32_t));
        function(device, a);
        break;
      case kCounter:
        function(device, kQuestions[i].first, kQuestions[i].second, a);
        break;
      case kFourAnswers:
        function(device, a, b, c, d);
        break;
    }
  }
  unsigned char fields[4][40] = {{0}}; /* nvmlFieldValue_t, its number first */
  for (size_t i = 0; i < 4; ++i) memcpy(fields[i], &kFields[i], sizeof kFields[i]);
  const any_function function = find("nvmlDeviceGetFieldValues");
  if (function != NULL) function(device, 4, fields);
}

int main(void) {
  static char text[128];
  unsigned count = 0, cuda = 0;
  library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "nvml_floor: %s\n", dlerror());
    return 1;
  }
  any_function function = find("nvmlInit_v2");
  if (function == NULL || function() != 0) return 1;
  if ((function = find("nvmlSystemGetDriverVersion")) != NULL) function(text, 127u);
  if ((function = find("nvmlSystemGetCudaDriverVersion_v2")) != NULL) function(&cuda);
  if ((function = find("nvmlDeviceGetCount_v2")) == NULL || function(&count) != 0) return 1;
  const any_function handle_of = find("nvmlDeviceGetHandleByIndex_v2");
  for (unsigned i = 0; handle_of != NULL && i < count; ++i) {
    void* device = NULL;
    if (handle_of(i, &device) == 0) ask(device);
  }
  _exit(missing || count == 0); /* as the probe ends: without nvmlShutdown */
}
