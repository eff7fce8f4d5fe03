/* Stands for the real libraries when the shims are linked, and for libcuda in asked_every_way.py:
 * the few functions by which it sees who is asked. At run time the name of this library leads to
 * the real one. */
#include <string.h>

#define API __attribute__((visibility("default"))) int

API cuDeviceGetAttribute(int* value, int attribute, int device) {
  return *value = 100 + attribute, device;
}
API cuNotOverridden(void) { return 7; }
API cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags,
                        int* status) {
  (void)version, (void)flags;
  *function = strcmp(symbol, "cuDeviceGetAttribute") == 0 ? (void*)cuDeviceGetAttribute
              : strcmp(symbol, "cuNotOverridden") == 0    ? (void*)cuNotOverridden
                                                          : 0;
  return *status = *function ? 0 : 1, 0;
}
