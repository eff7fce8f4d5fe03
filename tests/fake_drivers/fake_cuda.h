/* A CUDA driver for tests: the symbols that gpuready uses, on host memory. What goes wrong is
 * chosen by the environment variable FAKE_CUDA, a list such as "devices=2,init=803,noop=verify":
 *   devices=N           GPUs (default 1), with UUIDs GPU-fa4e0000-0000-0000-0000-00000000000N
 *   mig                 UUIDs name MIG instances (told by the v2 call alone)
 *   cc=8.0              their compute capability (default 9.0), and the limits that go with it
 *   sms=N               multiprocessors of each (default 4)
 *   memory=64MiB        of each GPU (a power of two for alias)
 *   free=10MiB          free memory told, when not all of it
 *   max_alloc=16MiB     a larger single allocation is refused
 *   slice=1             where PTX is executed: a warp's turn is that many instructions (default
 * 4096) guard=4KiB          so much memory after each allocation belongs to none fail=SYMBOL:CODE
 * this call returns CODE; init=CODE is fail=cuInit:CODE hang=SYMBOL, crash=SYMBOL
 *   launch_error=214@3  the third launch ends in error 214, and everything after it
 *   launch_ms=50        each launch takes that long
 *   cuda=12.2           the CUDA version that it is of (default 13.0); newer PTX than it brought is
 *                       refused with 222
 *   ptx=5.0             newer PTX is refused with 222, whatever CUDA version it claims
 *   noop=write          kernels whose names end so do nothing
 *   stuck=OFFSET:BIT    that bit of the word at this offset of GPU memory always reads as 1
 *   drop=OFFSET         a complement written to the word at this offset is lost
 *   alias               the highest address bit of GPU memory is ignored
 *   corrupt=SYMBOL:OFFSET  copies by this call flip a bit of the byte there, if they reach it
 *   corrupt=SYMBOL:OFFSET@N  the Nth of those copies alone
 *   lost=SYMBOL         copies of 4 KiB and more by this call do nothing
 *   no_peer             GPUs do not reach each other
 *   no_peer_atomics     and not by atomics
 * stuck, drop and alias are faults of the kernels that run by their names, fake_cuda_named.c.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- between the CUDA driver's API and what runs its kernels ---- */

struct fake_launch_shape {
  unsigned blocks, threads, dynamic_shared_bytes;
  unsigned multiprocessors;         /* of the GPU */
  int cooperative;                  /* all blocks at once */
  int overlaps;                     /* may begin before the launch before it has ended */
  int compute_capability;           /* of the GPU: 90 for 9.0 */
  const struct fake_memory* memory; /* of the GPU */
};

/* What runs kernels gives these five: fake_cuda_named.c, by name. A module is PTX text, ended by a
 * 0, that the driver has looked at: it has a version and a target that the GPU takes. NULL: not
 * loaded, with the driver's code in `code` (218: invalid PTX), and why in `log`, which may be NULL.
 */
void* fake_load_module(const char* image, char* log, size_t log_bytes, int* code);
void fake_unload_module(void* module);
int fake_has_kernel(void* module, const char* name);
/* Runs it, at the latest when fake_finish() is called. 0, or the driver's code; those of a kernel
 * that ended in an error (700, 702, 710, 714 to 719) are told by the calls that follow, as a driver
 * does. */
int fake_launch(void* module, const char* kernel, const struct fake_launch_shape* shape,
                const void* params);

/* Ends what was launched. 0, or the code of what went wrong. */
int fake_finish(void);

/* The memory around an address that kernels may reach: [begin, end) of one allocation of any GPU,
 * of pinned or registered host memory, or of a run of mapped addresses. 0: there is none. */
int fake_find_allocation(uint64_t address, uint64_t* begin, uint64_t* end);

#ifdef __cplusplus
}
#endif

#endif
