/* A HIP runtime for tests: the symbols that gpuready uses, on host memory, written from ROCm's
 * hip_runtime_api.h. A code object is read as far as a loader must (ELF header, target, kernel
 * descriptors); its kernels are then run by name, as fake_cuda_kernels.c writes them down. What
 * goes wrong is chosen by the environment variable FAKE_HIP, a list such as
 * "devices=2,noop=verify": devices=N           GPUs (default 1), at 0000:03:00.0, 0000:04:00.0, ...
 *   same_address        all of them at 0000:03:00.0, as partitions of one GPU are
 *   mach=0x36           the ELF machine number of their target (default 0x3f, gfx90a)
 *   version=40500000    of the runtime (default 60200000, for 6.2)
 *   memory=64MiB        of each GPU (a power of two for alias)
 *   free=10MiB          free memory told, when not all of it
 *   max_alloc=16MiB     a larger single allocation is refused
 *   no_cooperative      attribute 10 is 0
 *   fail=SYMBOL:CODE    this call returns CODE
 *   crash=SYMBOL
 *   launch_error=719@3  the third launch ends in error 719, and everything after it
 *   noop=write          kernels whose names end so do nothing
 *   stuck=OFFSET:BIT    that bit of the word at this offset of GPU memory always reads as 1
 *   drop=OFFSET         a complement written to the word at this offset is lost
 *   alias               the highest address bit of GPU memory is ignored
 * Built twice: whole, and FAKE_HIP_INCOMPLETE (no hipMalloc). */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "fake_cuda.h"
#include "fake_hip_compute.h"

#define FAKE_VARIABLE "FAKE_HIP"
#include "fake_options.h"

#define API __attribute__((visibility("default"))) int
#define MAX_DEVICES 8
#define MAX_ALLOCATIONS 8192

struct allocation {
  int device; /* number + 1; 0: not in use */
  unsigned char* address;
  size_t bytes;
  int apart;
};
struct function {
  char name[128];
  uint32_t kernarg_bytes;
};
static struct fake_memory g_memory[MAX_DEVICES];
static uint64_t g_next[MAX_DEVICES], g_in_use[MAX_DEVICES];
static struct allocation g_allocations[MAX_ALLOCATIONS];
static int g_count, g_started, g_launches, g_sticky, g_apart;
static const char* const kCompute = "gpuready_compute";
static __thread int g_current; /* HIP's current device belongs to the thread; 0 at first */

static int enter(const char* symbol) {
  char text[128];
  if (option("crash", text, sizeof text) && strcmp(text, symbol) == 0) raise(SIGSEGV);
  if (option("fail", text, sizeof text)) {
    char* colon = strchr(text, ':');
    if (colon) {
      *colon = 0;
      if (strcmp(text, symbol) == 0) return atoi(colon + 1);
    }
  }
  if (!g_started && strcmp(symbol, "hipInit") != 0) return 3;
  return g_sticky;
}
#define ENTER(symbol)               \
  do {                              \
    const int code = enter(symbol); \
    if (code != 0) return code;     \
  } while (0)
#define NEED_DEVICE(number) \
  if ((number) < 0 || (number) >= g_count) return 101

API hipInit(unsigned flags) {
  char text[64];
  ENTER("hipInit");
  if (flags != 0) return 1;
  if (g_started) return 0;
  g_count = option("devices", text, sizeof text) ? atoi(text) : 1;
  if (g_count > MAX_DEVICES) g_count = MAX_DEVICES;
  for (int i = 0; i < g_count; ++i) {
    struct fake_memory* m = &g_memory[i];
    m->bytes = bytes_option("memory", 64u << 20);
    m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->base == MAP_FAILED) return 304;
    m->stuck_bit = -1;
    if (option("stuck", text, sizeof text)) {
      char* bit = strchr(text, ':');
      m->stuck_offset = strtoull(text, NULL, 0);
      m->stuck_bit = bit ? atoi(bit + 1) : 0;
    }
    m->drop = option("drop", text, sizeof text);
    if (m->drop) m->drop_offset = strtoull(text, NULL, 0);
    m->alias = option("alias", NULL, 0);
  }
  g_started = 1;
  return 0;
}

API hipRuntimeGetVersion(int* version) {
  ENTER("hipRuntimeGetVersion");
  *version = (int)bytes_option("version", 60200000);
  return 0;
}

API hipGetDeviceCount(int* count) {
  ENTER("hipGetDeviceCount");
  *count = g_count;
  return g_count == 0 ? 100 : 0;
}

API hipSetDevice(int device) {
  ENTER("hipSetDevice");
  NEED_DEVICE(device);
  g_current = device;
  return 0;
}

API hipDeviceGetPCIBusId(char* text, int size, int device) {
  ENTER("hipDeviceGetPCIBusId");
  NEED_DEVICE(device);
  if (size < 13) return 1;
  snprintf(text, (size_t)size, "0000:%02x:00.0",
           (unsigned)(3 + (option("same_address", NULL, 0) ? 0 : device)));
  return 0;
}

API hipDeviceGetName(char* name, int size, int device) {
  ENTER("hipDeviceGetName");
  NEED_DEVICE(device);
  snprintf(name, (size_t)size, "Fake AMD GPU %d", device);
  return 0;
}

API hipDeviceTotalMem(size_t* bytes, int device) {
  ENTER("hipDeviceTotalMem");
  NEED_DEVICE(device);
  *bytes = g_memory[device].bytes;
  return 0;
}

/* hipDeviceAttribute_t of ROCm 5.0 and later. */
API hipDeviceGetAttribute(int* value, int attribute, int device) {
  static const int kValues[][2] = {{0, 1},        {10, 1},    {16, 0},     {18, 0},
                                   {19, 8 << 20}, {56, 1024}, {57, 2048},  {59, 4096},
                                   {60, 1600000}, {63, 104},  {74, 65536}, {87, 64}};
  ENTER("hipDeviceGetAttribute");
  NEED_DEVICE(device);
  for (size_t i = 0; i < sizeof kValues / sizeof *kValues; ++i) {
    if (kValues[i][0] != attribute) continue;
    *value = attribute == 10 && option("no_cooperative", NULL, 0) ? 0 : kValues[i][1];
    return 0;
  }
  return 1;
}

API hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  ENTER("hipMemGetInfo");
  *total_bytes = g_memory[g_current].bytes;
  *free_bytes = bytes_option("free", *total_bytes) - g_in_use[g_current];
  return 0;
}

#ifndef FAKE_HIP_INCOMPLETE
API hipMalloc(void** memory, size_t bytes) {
  ENTER("hipMalloc");
  struct allocation* a = g_allocations;
  while (a < g_allocations + MAX_ALLOCATIONS && a->device) ++a;
  if (a == g_allocations + MAX_ALLOCATIONS || bytes > bytes_option("max_alloc", UINT64_MAX))
    return 2;
  /* The first small one (for results) lies elsewhere, so that faults do not reach it. */
  a->apart = bytes < (128u << 10) && g_apart == 0;
  if (a->apart) {
    a->address = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  } else {
    if (bytes > g_memory[g_current].bytes - g_next[g_current]) return 2;
    a->address = g_memory[g_current].base + g_next[g_current];
    g_next[g_current] += bytes;
    g_in_use[g_current] += bytes;
  }
  g_apart += a->apart;
  a->device = g_current + 1;
  a->bytes = bytes;
  *memory = a->address;
  return 0;
}
#endif

API hipFree(void* memory) {
  ENTER("hipFree");
  for (struct allocation* a = g_allocations; a < g_allocations + MAX_ALLOCATIONS; ++a) {
    if (!a->device || a->address != memory) continue;
    const int device = a->device - 1;
    if (a->apart) {
      free(memory);
      --g_apart;
    } else {
      g_in_use[device] -= a->bytes;
      if (g_in_use[device] == 0) g_next[device] = 0;
    }
    a->device = 0;
    return 0;
  }
  return memory ? 1 : 0;
}

API hipHostMalloc(void** memory, size_t bytes, unsigned flags) {
  ENTER("hipHostMalloc");
  if ((flags & ~0xfu) != 0) return 1;
  *memory = malloc(bytes);
  return *memory ? 0 : 2;
}

API hipHostFree(void* memory) {
  ENTER("hipHostFree");
  free(memory);
  return 0;
}

#define COPY(symbol)                                                   \
  API symbol(void* target, void* source, size_t bytes, void* stream) { \
    (void)stream;                                                      \
    ENTER(#symbol);                                                    \
    memmove(target, source, bytes);                                    \
    return 0;                                                          \
  }
COPY(hipMemcpyHtoDAsync)
COPY(hipMemcpyDtoHAsync)
COPY(hipMemcpyDtoDAsync)

API hipStreamCreateWithFlags(void** stream, unsigned flags) {
  ENTER("hipStreamCreateWithFlags");
  if (flags > 1) return 1;
  *stream = malloc(1);
  return 0;
}

API hipStreamDestroy(void* stream) {
  ENTER("hipStreamDestroy");
  free(stream);
  return 0;
}

API hipStreamSynchronize(void* stream) {
  (void)stream;
  ENTER("hipStreamSynchronize");
  return 0;
}

API hipEventCreateWithFlags(void** event, unsigned flags) {
  ENTER("hipEventCreateWithFlags");
  if (flags != 0) return 1;
  *event = calloc(1, sizeof(struct timespec));
  return 0;
}

API hipEventDestroy(void* event) {
  ENTER("hipEventDestroy");
  free(event);
  return 0;
}

API hipEventRecord(void* event, void* stream) {
  (void)stream;
  ENTER("hipEventRecord");
  clock_gettime(CLOCK_MONOTONIC, event);
  return 0;
}

API hipEventElapsedTime(float* ms, const struct timespec* start, const struct timespec* stop) {
  ENTER("hipEventElapsedTime");
  *ms = (float)((double)(stop->tv_sec - start->tv_sec) * 1e3 +
                (double)(stop->tv_nsec - start->tv_nsec) / 1e6);
  return 0;
}

/* A module is its ELF file. */
API hipModuleLoadData(void** module, const void* image) {
  Elf64_Ehdr header;
  ENTER("hipModuleLoadData");
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return 200;
  /* e_machine AMDGPU, OS ABI of AMD's HSA, its code object version 4 or 5 */
  if (header.e_machine != 224 || header.e_ident[EI_OSABI] != 64) return 200;
  if (header.e_ident[EI_ABIVERSION] != 2 && header.e_ident[EI_ABIVERSION] != 3) return 200;
  if ((header.e_flags & 0xff) != bytes_option("mach", 0x3f)) return 209;
  *module = (void*)(uintptr_t)image;
  return 0;
}

API hipModuleUnload(void* module) {
  (void)module;
  ENTER("hipModuleUnload");
  return 0;
}

/* Where the loader would put the byte at this address. */
static const unsigned char* at_address(const unsigned char* elf, uint64_t address) {
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)(const void*)elf;
  const Elf64_Phdr* parts = (const Elf64_Phdr*)(const void*)(elf + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (parts[i].p_type == PT_LOAD && address >= parts[i].p_vaddr &&
        address < parts[i].p_vaddr + parts[i].p_filesz)
      return elf + parts[i].p_offset + (address - parts[i].p_vaddr);
  }
  return NULL;
}

/* The kernel descriptor "<name>.kd": 64 bytes, of which bytes 8 to 11 are the size of the
 * arguments. */
static const unsigned char* descriptor_of(const unsigned char* elf, const char* name) {
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)(const void*)elf;
  const Elf64_Shdr* sections = (const Elf64_Shdr*)(const void*)(elf + header->e_shoff);
  char wanted[160];
  snprintf(wanted, sizeof wanted, "%s.kd", name);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym* symbols = (const Elf64_Sym*)(const void*)(elf + sections[i].sh_offset);
    const char* names = (const char*)elf + sections[sections[i].sh_link].sh_offset;
    for (uint64_t s = 0; s < sections[i].sh_size / sizeof *symbols; ++s)
      if (strcmp(names + symbols[s].st_name, wanted) == 0 && symbols[s].st_size == 64)
        return at_address(elf, symbols[s].st_value);
  }
  return NULL;
}

API hipModuleGetFunction(void** function, void* module, const char* name) {
  ENTER("hipModuleGetFunction");
  const unsigned char* descriptor = descriptor_of(module, name);
  if (!descriptor || !(fake_knows_kernel(name) || strcmp(name, kCompute) == 0)) return 500;
  struct function* f = calloc(1, sizeof *f);
  snprintf(f->name, sizeof f->name, "%s", name);
  memcpy(&f->kernarg_bytes, descriptor + 8, 4);
  *function = f;
  return 0;
}

static int launch(const struct function* f, unsigned blocks, unsigned threads, unsigned shared,
                  const void* params) {
  char text[64];
  const size_t length = strlen(f->name);
  if (blocks == 0 || threads == 0 || threads > 1024) return 9;
  ++g_launches;
  if (option("launch_error", text, sizeof text)) {
    const char* at = strchr(text, '@');
    if (at && g_launches == atoi(at + 1)) {
      g_sticky = atoi(text); /* told by the next call */
      return 0;
    }
  }
  if (option("noop", text, sizeof text) && length >= strlen(text) &&
      strcmp(f->name + length - strlen(text), text) == 0)
    return 0;
  if (strcmp(f->name, kCompute) == 0) {
    /* As compiled: so many threads a block, 1 KiB of shared memory besides what is asked for. */
    if (threads != 512 || shared + 1024 > 64 << 10) return 1;
    fake_hip_compute(params, blocks, shared);
    return 0;
  }
  return fake_run_kernel(&g_memory[g_current], f->name, params) ? 0 : 400;
}

/* `extra`: 1, the arguments, 2, their size, 3. */
API hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void* stream, void** params,
                          void** extra) {
  (void)stream;
  ENTER("hipModuleLaunchKernel");
  const struct function* f = function;
  if (params || !extra || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 ||
      (uintptr_t)extra[4] != 3)
    return 1;
  if (*(const size_t*)extra[3] != f->kernarg_bytes) return 1;
  return launch(f, gx * gy * gz, bx * by * bz, shared, extra[1]);
}

API hipModuleLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     void* stream, void** params) {
  (void)stream;
  ENTER("hipModuleLaunchCooperativeKernel");
  if (option("no_cooperative", NULL, 0)) return 719;
  return launch(function, gx * gy * gz, bx * by * bz, shared, params[0]);
}

API hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                       size_t shared) {
  (void)function, (void)shared;
  ENTER("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 2048 / threads;
  return 0;
}
