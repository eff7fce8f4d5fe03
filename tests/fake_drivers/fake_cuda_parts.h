/* What the files of the fake CUDA driver share; fake_cuda.h says what it can be told to do. */
#ifndef FAKE_CUDA_PARTS_H
#define FAKE_CUDA_PARTS_H

#include "fake_cuda.h"

#define FAKE_VARIABLE "FAKE_CUDA"
#include "fake_options.h"

#define API __attribute__((visibility("default"))) int

struct fake_device {
  int number; /* as without CUDA_VISIBLE_DEVICES */
  struct fake_memory memory;
  uint64_t in_use;
  int retained, peers;
};
extern __thread struct fake_device* fake_current;
extern int fake_sticky; /* what every call returns from now on */

/* Entry of every call: hangs, crashes or fails where told; the code to return at once, or 0. */
int fake_enter(const char* symbol);
#define ENTER(symbol)                    \
  do {                                   \
    const int code = fake_enter(symbol); \
    if (code != 0) return code;          \
  } while (0)
#define NEED_CONTEXT \
  if (!fake_current || !fake_current->retained) return 201
/* What a capturing thread may not do; its capture is spoilt. */
int fake_spoils_capture(void);
#define NOT_IN_CAPTURE \
  if (fake_spoils_capture()) return 900

/* ---- GPUs ---- */

/* What a capability means to a launch; shared memory in KiB. */
struct fake_limits {
  int capability;
  unsigned threads, blocks, shared; /* of a multiprocessor */
  unsigned block_shared;            /* that a block may ask for */
  unsigned reserved_shared;         /* that each block takes besides */
};
const struct fake_limits* fake_limits(void);
int fake_capability(void);     /* 90 for 9.0 */
int fake_driver_version(void); /* 12020 for CUDA 12.2 */
unsigned fake_multiprocessors(void);

/* ---- memory ---- */

enum fake_kind {
  FAKE_FREE,       /* this entry is not in use */
  FAKE_DEVICE,     /* in a GPU's memory */
  FAKE_APART,      /* a GPU's, but not in its memory */
  FAKE_PINNED,     /* the host's, of cuMemHostAlloc */
  FAKE_REGISTERED, /* the host's own */
  FAKE_RESERVED,   /* addresses without memory */
  FAKE_MAPPED,     /* in reserved addresses; not yet to be reached */
  FAKE_REACHABLE   /* the same, with access */
};
struct fake_range {
  enum fake_kind kind;
  struct fake_device* owner;
  uint64_t begin, bytes;
  uint64_t taken; /* of a GPU's memory: with what is left free after it */
};
/* All under one lock, of which a caller of the first four is the holder. */
void fake_lock_ranges(void);
void fake_unlock_ranges(void);
/* NULL: there is no room for one more. */
struct fake_range* fake_add_range(enum fake_kind kind, uint64_t begin, uint64_t bytes);
/* The one that begins there, is of this kind and, unless `bytes` is 0, that long; or NULL. */
struct fake_range* fake_range_at(enum fake_kind kind, uint64_t begin, uint64_t bytes);
/* Any of this kind that shares an address with these; or NULL. */
struct fake_range* fake_range_in(enum fake_kind kind, uint64_t begin, uint64_t bytes);

/* ---- modules ---- */

struct fake_module {
  void* loaded; /* of fake_load_module() */
  char* text;
  struct fake_function* functions;
};
struct fake_function {
  struct fake_module* module;
  struct fake_function* next;
  size_t parameter_bytes;
  struct fake_parameter {
    size_t offset, bytes;
  } parameters[16];
  unsigned parameter_count;
  unsigned static_shared_bytes, allowed_shared_bytes, most_threads;
  char name[256];
};

/* ---- work, and streams that record it ---- */

struct fake_work {
  struct fake_work* next;
  const char* copier; /* the call that copies; NULL: a launch */
  void* target;
  const void* source;
  size_t bytes;
  const struct fake_function* function;
  unsigned blocks, threads, shared_bytes;
  int cooperative, overlaps;
  const void* params;
};
struct fake_graph {
  struct fake_work *first, *last;
};
struct fake_stream {
  struct fake_graph* recorded; /* not NULL: it captures */
  int spoilt;
};
/* Does the work, or records it where the stream captures. */
int fake_submit(struct fake_stream* stream, const struct fake_work* work);
int fake_copy(const struct fake_work* work);
int fake_start(const struct fake_work* work);
/* Whatever is not a launch finds those before it ended. */
void fake_end_launches(void);

#endif
