/* A CUDA driver for tests: the symbols that gpuready uses, on host memory. What goes wrong is
 * chosen by the environment variable FAKE_CUDA, a list such as "devices=2,init=803,noop=verify":
 *   devices=N           GPUs (default 1), with UUIDs GPU-fa4e0000-0000-0000-0000-00000000000N
 *   mig                 UUIDs name MIG instances (told by the v2 call alone)
 *   memory=64MiB        of each GPU (a power of two for alias)
 *   free=10MiB          free memory told, when not all of it
 *   max_alloc=16MiB     a larger single allocation is refused
 *   fail=SYMBOL:CODE    this call returns CODE; init=CODE is fail=cuInit:CODE
 *   hang=SYMBOL, crash=SYMBOL
 *   launch_error=214@3  the third launch ends in error 214, and everything after it
 *   launch_ms=50        each launch takes that long
 *   ptx=5.0             newer PTX is refused with 222
 *   noop=write          kernels whose names end so do nothing
 *   stuck=OFFSET:BIT    that bit of the word at this offset of GPU memory always reads as 1
 *   drop=OFFSET         a complement written to the word at this offset is lost
 *   alias               the highest address bit of GPU memory is ignored
 *   corrupt=SYMBOL:OFFSET  copies by this call flip a bit of the byte there, if they reach it
 *   lost=SYMBOL         copies of 4 KiB and more by this call do nothing
 *   no_peer             GPUs do not reach each other
 *   no_peer_atomics     and not by atomics
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

struct fake_memory {
  unsigned char* base; /* device addresses are addresses of this process */
  uint64_t bytes;
  int stuck_bit; /* -1: none */
  uint64_t stuck_offset, drop_offset;
  int drop, alias;
};

/* Runs a kernel by its name. 0: there is no such kernel. */
int fake_run_kernel(const struct fake_memory* memory, const char* name, const void* params);
int fake_knows_kernel(const char* name);
/* Those of the bandwidth and peers tests; without params it is only looked up. */
int fake_run_transfer(const char* name, const void* params);

/* The word for a position, and back. */
uint64_t fake_pattern_word(uint64_t position);
uint64_t fake_position_of(uint64_t word);

#endif
