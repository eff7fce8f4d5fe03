/* The driver is found at run time, so that the library also loads where none is. The device code is
 * in the section in which NVIDIA's compiler puts it; the driver takes of it what fits its GPU. */
#include "ternary_dot.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef TERNARY_FATBIN
__asm__(
    ".section .nv_fatbin,\"a\"\n"
    ".balign 16\n"
    "ternary_fatbin:\n"
    ".incbin \"" TERNARY_FATBIN
    "\"\n"
    ".byte 0\n" /* PTX alone is text, which ends so */
    ".previous\n");
extern const char ternary_fatbin[] __attribute__((visibility("hidden")));
#else
static const char* const ternary_fatbin = NULL;
#endif

const char* ternary_dot_variant(void) { return TERNARY_VARIANT; }

void ternary_dot_cpu(const uint8_t* weights, const int8_t* x, int32_t* out, uint32_t rows,
                     uint32_t cols) {
  for (uint32_t r = 0; r < rows; ++r) {
    int32_t sum = 0;
    for (uint32_t c = 0; c < cols; ++c)
      sum += ((weights[(size_t)r * (cols / 4) + c / 4] >> c % 4 * 2 & 3) - 1) * x[c];
    out[r] = sum;
  }
}

typedef unsigned long long address;
static int on_gpu(void* driver, const uint8_t* weights, const int8_t* x, int32_t* out,
                  uint32_t rows, uint32_t cols) {
#define FUNCTION(name, symbol, ...)                                       \
  int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))dlsym(driver, symbol); \
  if (name == NULL) return -1
  FUNCTION(init, "cuInit", unsigned);
  FUNCTION(device_get, "cuDeviceGet", int*, int);
  FUNCTION(retain, "cuDevicePrimaryCtxRetain", void**, int);
  FUNCTION(release, "cuDevicePrimaryCtxRelease_v2", int);
  FUNCTION(set_current, "cuCtxSetCurrent", void*);
  FUNCTION(load, "cuModuleLoadData", void**, const void*);
  FUNCTION(unload, "cuModuleUnload", void*);
  FUNCTION(function_get, "cuModuleGetFunction", void**, void*, const char*);
  FUNCTION(allocate, "cuMemAlloc_v2", address*, size_t);
  FUNCTION(release_memory, "cuMemFree_v2", address);
  FUNCTION(to_device, "cuMemcpyHtoD_v2", address, const void*, size_t);
  FUNCTION(to_host, "cuMemcpyDtoH_v2", void*, address, size_t);
  FUNCTION(launch, "cuLaunchKernel", void*, unsigned, unsigned, unsigned, unsigned, unsigned,
           unsigned, unsigned, void*, void**, void**);
#undef FUNCTION
  int device = 0, failed = 0;
  void *context = NULL, *module = NULL, *kernel = NULL;
  const size_t weight_bytes = (size_t)rows * (cols / 4), out_bytes = (size_t)rows * 4;
  address on_device[3] = {0, 0, 0};
  if ((failed = init(0)) || (failed = device_get(&device, 0)) ||
      (failed = retain(&context, device)))
    return failed;
  (failed = set_current(context)) || (failed = load(&module, ternary_fatbin)) ||
      (failed = function_get(&kernel, module, "ternary_dot")) ||
      (failed = allocate(&on_device[0], weight_bytes)) ||
      (failed = allocate(&on_device[1], cols)) || (failed = allocate(&on_device[2], out_bytes)) ||
      (failed = to_device(on_device[0], weights, weight_bytes)) ||
      (failed = to_device(on_device[1], x, cols));
  if (!failed) {
    void* arguments[] = {&on_device[0], &on_device[1], &on_device[2], &rows, &cols};
    (failed = launch(kernel, (rows + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL)) ||
        (failed = to_host(out, on_device[2], out_bytes)); /* waits for the kernel */
  }
  for (int i = 0; i < 3; ++i)
    if (on_device[i] != 0) release_memory(on_device[i]);
  if (module != NULL) unload(module);
  release(device);
  return failed;
}

int ternary_dot(const uint8_t* weights, const int8_t* x, int32_t* out, uint32_t rows,
                uint32_t cols) {
  void* driver = ternary_fatbin == NULL ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == NULL ? -1 : on_gpu(driver, weights, x, out, rows, cols);
}
