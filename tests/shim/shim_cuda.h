/* The part of the CUDA driver API that the shim overrides, declared from NVIDIA's driver API
 * reference. */
#ifndef SHIM_CUDA_H
#define SHIM_CUDA_H

#include "shim.h"

typedef unsigned long long address;

#define FIND(type, symbol) ((type)shim_find(symbol))
#define REAL(type, symbol) ((type)shim_real(symbol))

/* Device memory to the host and back, at once. 0, or the driver's code. */
int device_read(void* target, address source, size_t bytes);
int device_write(address target, const void* source, size_t bytes);
int device_wait(void* stream);

/* The allocations that there are. */
struct allocation {
  address begin;
  size_t bytes;
};
size_t allocations(struct allocation* out, size_t most);

/* shim_modules.c: the kernel of a function's handle, and the function in which half of its blocks
 * end at once; NULL: there is none. */
const char* kernel_name(void* function);
void* kernel_with_lost_blocks(void* function);

#endif
