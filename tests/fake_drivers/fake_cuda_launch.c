/* The fake driver's modules, functions and launches. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda_parts.h"

#define SHARED_WITHOUT_ASKING (48u << 10)

static int g_launches;

/* ---- modules ---- */

/* Whether a GPU takes an image for this target: "sm_80" from there on, "sm_90a" on 9.0 alone and
 * "sm_100f" from there on within 10.x. An image without a target is no matter of this. */
static int takes_target(const char* image) {
  const char* target = strstr(image, ".target sm_");
  if (!target) return 1;
  char* suffix;
  const int capability = fake_capability(),
            needed = (int)strtol(target + strlen(".target sm_"), &suffix, 10);
  if (*suffix == 'a') return needed == capability;
  if (*suffix == 'f' && needed / 10 != capability / 10) return 0;
  return needed <= capability;
}

/* The same of machine code, as toolkits before CUDA 12.8 wrote it: the low byte of its flags is the
 * capability, the next one says whether it is for only that one. It runs from there on within its
 * major version; a system on a chip shares none. */
static int takes_cubin(const char* image) {
  static const int kOnChips[] = {53, 62, 72, 87, 88, 101, 110};
  const int capability = fake_capability(), made_for = (unsigned char)image[48];
  if (image[7] != 0x33 || made_for == capability) return 1;
  for (size_t i = 0; i < sizeof kOnChips / sizeof *kOnChips; ++i) {
    if (kOnChips[i] == capability || kOnChips[i] == made_for) return 0;
  }
  return made_for / 10 == capability / 10 && made_for < capability && (image[49] & 8) == 0;
}

/* The PTX ISA of a CUDA release: NVIDIA, "PTX ISA", release history. */
static void newest_ptx(char* text, size_t size) {
  const int version = fake_driver_version(), major = version / 1000, minor = version % 1000 / 10;
  const int of_10 = 3 + minor, of_12 = minor < 6 ? minor : minor - 1;
  snprintf(text, size, "%d.%d",
           major < 9    ? 5
           : major < 11 ? 6
                        : major - 4,
           major == 10   ? of_10
           : major == 12 ? of_12
                         : minor);
}

static int load(struct fake_module* module, const char* image, char* log, size_t log_bytes) {
  char text[64];
  const int is_cubin = memcmp(image, "\177ELF", 4) == 0;
  if (is_cubin && !takes_cubin(image)) return 209;
  /* Machine code and containers of it are not looked into: no kernel of theirs runs here. */
  if (is_cubin || memcmp(image, "\x50\xed\x55\xba", 4) == 0)
    image = ".version 5.0\n.target sm_50\n.address_size 64\n";
  const char* version = strstr(image, ".version ");
  if (!version) {
    if (log) snprintf(log, log_bytes, "ptxas fatal: no version in this text");
    return 218;
  }
  if (!option("ptx", text, sizeof text)) newest_ptx(text, sizeof text);
  if (atof(version + 9) > atof(text)) {
    if (log) snprintf(log, log_bytes, "ptxas fatal: Unsupported .version");
    return 222;
  }
  if (!takes_target(image)) return 209;
  module->text = strdup(image);
  if (!module->text) return 2;
  int code = 218;
  module->loaded = fake_load_module(image, log, log_bytes, &code);
  return module->loaded ? 0 : code;
}

API cuModuleLoadDataEx(struct fake_module** module, const char* image, unsigned count, int* options,
                       void** values) {
  char* log = NULL;
  size_t log_bytes = 0;
  ENTER("cuModuleLoadDataEx");
  NEED_CONTEXT;
  NOT_IN_CAPTURE;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) log = values[i];
    if (options[i] == 6) log_bytes = (size_t)(uintptr_t)values[i];
  }
  struct fake_module* made = calloc(1, sizeof *made);
  if (!made) return 2;
  const int code = load(made, image, log_bytes ? log : NULL, log_bytes);
  if (code != 0) {
    free(made->text);
    free(made);
    return code;
  }
  *module = made;
  return 0;
}

API cuModuleUnload(struct fake_module* module) {
  ENTER("cuModuleUnload");
  NOT_IN_CAPTURE;
  for (struct fake_function *function = module->functions, *next; function; function = next) {
    next = function->next;
    free(function);
  }
  fake_unload_module(module->loaded);
  free(module->text);
  free(module);
  return 0;
}

/* ---- functions: what the text says of an entry ---- */

struct variable {
  const char* name;
  size_t name_length;
  unsigned alignment, bytes; /* 0 bytes: this is no declaration */
};

/* The variable whose declaration goes on here after its state space: ".align 8 .b8 name[96]" or
 * ".u32 name". */
static struct variable variable_at(const char* declaration) {
  struct variable v = {NULL, 0, 0, 0};
  unsigned bits = 0;
  int read = 0;
  if (sscanf(declaration, " .align %u%n", &v.alignment, &read) == 1) declaration += read;
  read = 0;
  if (sscanf(declaration, " .%*1[bfsu]%u %n", &bits, &read) != 1 || read == 0) return v;
  v.name = declaration + read;
  v.name_length = strcspn(v.name, "[,;) \t\n");
  v.bytes = bits / 8;
  if (v.alignment == 0) v.alignment = v.bytes ? v.bytes : 1;
  if (v.name[v.name_length] == '[') {
    v.bytes *= (unsigned)strtoul(v.name + v.name_length + 1, NULL, 10);
  }
  return v;
}

static unsigned number_after(const char* from, const char* end, const char* directive) {
  const char* at = memmem(from, (size_t)(end - from), directive, strlen(directive));
  return at ? (unsigned)strtoul(at + strlen(directive), NULL, 10) : 0;
}

/* Of a block in braces, which inline assembly may have within. */
static size_t block_bytes(const char* block) {
  int depth = 0;
  const char* at = block;
  for (; *at; ++at) {
    depth += (*at == '{') - (*at == '}');
    if (depth == 0) break;
  }
  return (size_t)(at - block);
}

/* Module scope holds the shared variables of all entries: an entry has those that it names. */
static unsigned shared_bytes(const char* text, const char* body) {
  static const char kShared[] = ".shared ", kExtern[] = ".extern ";
  const size_t body_bytes = block_bytes(body), before = sizeof kExtern - 1;
  unsigned sum = 0;
  for (const char* at = text; (at = strstr(at, kShared)); ++at) {
    if ((size_t)(at - text) >= before && strncmp(at - before, kExtern, before) == 0) continue;
    const struct variable v = variable_at(at + strlen(kShared));
    if (v.bytes == 0 || !memmem(body, body_bytes, v.name, v.name_length)) continue;
    sum = (sum + v.alignment - 1) / v.alignment * v.alignment + v.bytes;
  }
  return sum;
}

static struct fake_function* make_function(struct fake_module* module, const char* name) {
  char entry[300];
  struct fake_function* made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->module = module;
  made->most_threads = 1024;
  made->allowed_shared_bytes = SHARED_WITHOUT_ASKING;
  snprintf(made->name, sizeof made->name, "%s", name);
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char* head = strstr(module->text, entry);
  const char* body = head ? strchr(head, '{') : NULL;
  if (!body) return made;
  static const char kParameter[] = ".param";
  for (const char* at = head; (at = strstr(at, kParameter)) && at < body; ++at) {
    const struct variable v = variable_at(at + strlen(kParameter));
    if (v.bytes == 0) continue;
    const size_t offset = (made->parameter_bytes + v.alignment - 1) / v.alignment * v.alignment;
    made->parameter_bytes = offset + v.bytes;
    if (made->parameter_count == sizeof made->parameters / sizeof *made->parameters) return NULL;
    made->parameters[made->parameter_count++] = (struct fake_parameter){offset, v.bytes};
  }
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned threads = number_after(head, body, i == 0 ? ".maxntid" : ".reqntid");
    if (threads) made->most_threads = threads;
  }
  made->static_shared_bytes = shared_bytes(module->text, body);
  return made;
}

API cuModuleGetFunction(struct fake_function** function, struct fake_module* module,
                        const char* name) {
  ENTER("cuModuleGetFunction");
  if (!fake_has_kernel(module->loaded, name)) return 500;
  struct fake_function* found = module->functions;
  while (found && strcmp(found->name, name) != 0) found = found->next;
  if (!found) {
    found = make_function(module, name);
    if (!found) return 2;
    found->next = module->functions;
    module->functions = found;
  }
  *function = found;
  return 0;
}

API cuFuncSetAttribute(struct fake_function* function, int attribute, int value) {
  ENTER("cuFuncSetAttribute");
  NEED_CONTEXT;
  const unsigned most = fake_limits()->block_shared << 10;
  if (attribute != 8 || value < 0 || (unsigned)value + function->static_shared_bytes > most) {
    return 1;
  }
  function->allowed_shared_bytes = (unsigned)value;
  return 0;
}

static unsigned resident_blocks(const struct fake_function* function, unsigned threads,
                                size_t shared) {
  const struct fake_limits* limits = fake_limits();
  const size_t each = shared + function->static_shared_bytes;
  if (threads == 0 || threads > function->most_threads || each > limits->block_shared << 10) {
    return 0;
  }
  size_t blocks = limits->threads / ((threads + 31) / 32 * 32);
  if (blocks > limits->blocks) blocks = limits->blocks;
  const size_t taken = each + (limits->reserved_shared << 10);
  if (taken && blocks > (limits->shared << 10) / taken) blocks = (limits->shared << 10) / taken;
  return (unsigned)blocks;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, struct fake_function* function,
                                                int threads, size_t shared) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (threads <= 0) return 1;
  *blocks = (int)resident_blocks(function, (unsigned)threads, shared);
  return 0;
}

/* ---- launches ---- */

/* Errors that a kernel ends in, and that end its context. */
static int is_of_kernel(int code) {
  return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

static int told_later(int code) {
  if (!is_of_kernel(code)) return code;
  fake_sticky = code;
  return 0;
}

void fake_end_launches(void) { told_later(fake_finish()); }

int fake_start(const struct fake_work* work) {
  char text[64];
  const char* name = work->function->name;
  const uint64_t ms = bytes_option("launch_ms", 0);
  if (ms) usleep((useconds_t)(ms * 1000));
  ++g_launches;
  if (option("launch_error", text, sizeof text)) {
    const char* at = strchr(text, '@');
    if (at && g_launches == atoi(at + 1)) {
      fake_sticky = atoi(text); /* told by the next call, as a driver does */
      return 0;
    }
  }
  if (option("noop", text, sizeof text) && strlen(name) >= strlen(text) &&
      strcmp(name + strlen(name) - strlen(text), text) == 0) {
    return 0;
  }
  const struct fake_launch_shape shape = {
      work->blocks,      work->threads,  work->shared_bytes, fake_multiprocessors(),
      work->cooperative, work->overlaps, fake_capability(),  &fake_current->memory};
  return told_later(fake_launch(work->function->module->loaded, name, &shape, work->params));
}

struct configuration { /* CUlaunchConfig */
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const struct attribute {
    int id, padding;
    union {
      char bytes[64];
      int number;
    } value;
  }* attributes;
  unsigned attribute_count;
};

static int launch(const struct fake_function* function, const struct configuration* c,
                  int cooperative, int overlaps, void** params) {
  NEED_CONTEXT;
  if (c->grid[1] != 1 || c->grid[2] != 1 || c->block[1] != 1 || c->block[2] != 1) return 801;
  struct fake_work work = {.function = function,
                           .blocks = c->grid[0],
                           .threads = c->block[0],
                           .shared_bytes = c->shared_bytes,
                           .cooperative = cooperative,
                           .overlaps = overlaps,
                           .params = params ? params[0] : NULL};
  char packed[4096];
  if (params && function->parameter_count > 1) {
    for (unsigned i = 0; i < function->parameter_count; ++i) {
      const struct fake_parameter* p = function->parameters + i;
      if (!params[i] || p->offset + p->bytes > sizeof packed) return 1;
      memcpy(packed + p->offset, params[i], p->bytes);
    }
    work.params = packed;
  }
  if (work.blocks == 0 || work.blocks > 0x7fffffff || work.threads == 0 ||
      work.threads > function->most_threads || work.shared_bytes > function->allowed_shared_bytes ||
      (function->parameter_bytes && !work.params)) {
    return 1;
  }
  if (cooperative && fake_capability() < 60) return 801;
  const unsigned together = resident_blocks(function, work.threads, work.shared_bytes);
  if (together == 0) return 701;
  if (cooperative && work.blocks > together * fake_multiprocessors()) return 720;
  return fake_submit(c->stream, &work);
}

API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** params, void** extra) {
  ENTER("cuLaunchKernel");
  if (extra) return 801;
  const struct configuration c = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
  return launch(function, &c, 0, 0, params);
}

API cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void* stream,
                              void** params) {
  ENTER("cuLaunchCooperativeKernel");
  const struct configuration c = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
  return launch(function, &c, 1, 0, params);
}

/* Of the attributes: 0 is none, 2 a cooperative launch, 6 one that may overlap the one before it.
 */
API cuLaunchKernelEx(const struct configuration* c, void* function, void** params, void** extra) {
  int cooperative = 0, overlaps = 0;
  ENTER("cuLaunchKernelEx");
  if (extra) return 801;
  for (unsigned i = 0; i < c->attribute_count; ++i) {
    const struct attribute* attribute = c->attributes + i;
    if (attribute->id != 0 && attribute->id != 2 && attribute->id != 6) return 1;
    if (attribute->id != 0 && (unsigned)attribute->value.number > 1) return 1;
    if (attribute->id == 2) cooperative = attribute->value.number;
    if (attribute->id == 6) overlaps = attribute->value.number;
    if (overlaps && fake_capability() < 90) return 801;
  }
  return launch(function, c, cooperative, overlaps, params);
}
