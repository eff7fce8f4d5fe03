/* Copies and fills: one bit flipped, the second half left out, or nothing done. */
#include "shim_cuda.h"

struct copy {
  const char* kind;
  address target, source; /* of a host's memory, its address */
  size_t bytes;
  void* stream;
  int (*copy)(const struct copy*, size_t bytes);
  void *target_context, *source_context; /* of peers */
};

int device_wait(void* stream) { return REAL(int (*)(void*), "cuStreamSynchronize")(stream); }
/* By the asynchronous calls, which every driver has. */
int device_read(void* target, address source, size_t bytes) {
  const int code = REAL(int (*)(void*, address, size_t, void*), "cuMemcpyDtoHAsync_v2")(
      target, source, bytes, NULL);
  return code ? code : device_wait(NULL);
}
int device_write(address target, const void* source, size_t bytes) {
  const int code = REAL(int (*)(address, const void*, size_t, void*), "cuMemcpyHtoDAsync_v2")(
      target, source, bytes, NULL);
  return code ? code : device_wait(NULL);
}

static int is_captured(void* stream) {
  int status = 0;
  int (*ask)(void*, int*) = FIND(int (*)(void*, int*), "cuStreamIsCapturing");
  return ask && ask(stream, &status) == 0 && status != 0;
}

static int to_host(const struct copy* c) { return strcmp(c->kind, "DtoH") == 0; }
static int from_host(const struct copy* c) { return strcmp(c->kind, "HtoD") == 0; }

static int read_end(const struct copy* c, int target, unsigned char* out, size_t from) {
  const address at = (target ? c->target : c->source) + from;
  if (target ? to_host(c) : from_host(c))
    return memcpy(out, (const void*)(uintptr_t)at, c->bytes - from), 0;
  return device_read(out, at, c->bytes - from);
}

/* Whether leaving out all from `from` on leaves other bytes than the copy would have. */
static const char* effect_of_leaving_out(const struct copy* c, size_t from) {
  const size_t bytes = c->bytes - from;
  if (bytes == 0) return "unchanged";
  if (bytes > (size_t)256 << 20) return "unknown";
  unsigned char *before = malloc(bytes), *after = malloc(bytes);
  const char* effect = "unknown";
  if (before && after && read_end(c, 1, before, from) == 0 && read_end(c, 0, after, from) == 0)
    effect = memcmp(before, after, bytes) ? "changed" : "unchanged";
  free(before), free(after);
  return effect;
}

static int flip(const struct copy* c) {
  const size_t at = (size_t)(shim_number("at", 0.5) * (double)c->bytes) % c->bytes;
  const unsigned char bit = (unsigned char)(1u << (unsigned)shim_number("bit", 0) % 8);
  int code = c->copy(c, c->bytes);
  if (code || (code = device_wait(c->stream))) return code;
  unsigned char byte;
  if (to_host(c)) {
    ((unsigned char*)(uintptr_t)c->target)[at] ^= bit;
  } else {
    if ((code = device_read(&byte, c->target + at, 1))) return code;
    byte ^= bit;
    if ((code = device_write(c->target + at, &byte, 1))) return code;
  }
  shim_made("changed", "%s of %zu bytes: bit %#x of byte %zu flipped", c->kind, c->bytes, bit, at);
  return 0;
}

static int make(const struct copy* c) {
  if (shim_fault_is("census")) shim_log("copy %s %zu", c->kind, c->bytes);
  if (!shim_fault_is("copy") || !shim_is("kind", c->kind) || c->bytes == 0 ||
      is_captured(c->stream) || !shim_hits())
    return c->copy(c, c->bytes);
  shim_inside = 1;
  int code = 0;
  if (shim_is("do", "flip")) {
    code = flip(c);
  } else {
    const size_t copied = shim_is("do", "short") ? c->bytes / 2 : 0;
    if ((code = device_wait(c->stream)) == 0) {
      shim_made(effect_of_leaving_out(c, copied), "%s of %zu bytes: %zu copied", c->kind, c->bytes,
                copied);
      if (copied) code = c->copy(c, copied);
    }
  }
  shim_inside = 0;
  return code;
}

#define HOST(pointer) ((address)(uintptr_t)(pointer))
/* Each of three kinds, with and without a stream. */
#define COPY(kind, symbol, target_type, to_target, source_type, to_source, from_target,        \
             from_source)                                                                      \
  static int symbol##_whole(const struct copy* c, size_t bytes) {                              \
    return REAL(int (*)(target_type, source_type, size_t), #symbol "_v2")(                     \
        from_target(c->target), from_source(c->source), bytes);                                \
  }                                                                                            \
  API symbol##_v2(target_type target, source_type source, size_t bytes) {                      \
    const struct copy c = {                                                                    \
        kind, to_target(target), to_source(source), bytes, NULL, symbol##_whole, NULL, NULL};  \
    return make(&c);                                                                           \
  }                                                                                            \
  static int symbol##Async_whole(const struct copy* c, size_t bytes) {                         \
    return REAL(int (*)(target_type, source_type, size_t, void*), #symbol "Async_v2")(         \
        from_target(c->target), from_source(c->source), bytes, c->stream);                     \
  }                                                                                            \
  API symbol##Async_v2(target_type target, source_type source, size_t bytes, void* stream) {   \
    const struct copy c =                                                                      \
        {kind, to_target(target), to_source(source), bytes, stream, symbol##Async_whole, NULL, \
         NULL};                                                                                \
    return make(&c);                                                                           \
  }
#define SAME(x) (x)
#define POINTER(x) ((void*)(uintptr_t)(x))
COPY("HtoD", cuMemcpyHtoD, address, SAME, const void*, HOST, SAME, POINTER)
COPY("DtoH", cuMemcpyDtoH, void*, HOST, address, SAME, POINTER, SAME)
COPY("DtoD", cuMemcpyDtoD, address, SAME, address, SAME, SAME, SAME)

static int peer_whole(const struct copy* c, size_t bytes) {
  return REAL(int (*)(address, void*, address, void*, size_t, void*), "cuMemcpyPeerAsync")(
      c->target, c->target_context, c->source, c->source_context, bytes, c->stream);
}
API cuMemcpyPeerAsync(address target, void* target_context, address source, void* source_context,
                      size_t bytes, void* stream) {
  const struct copy c = {"peer", target,     source,         bytes,
                         stream, peer_whole, target_context, source_context};
  return make(&c);
}

/* Fills: nothing is done. */
static int skips_fill(size_t bytes, void* stream) {
  if (shim_fault_is("census")) shim_log("fill %zu", bytes);
  if (!shim_fault_is("fill") || is_captured(stream) || !shim_hits()) return 0;
  shim_made("unknown", "fill of %zu bytes left out", bytes);
  return 1;
}
API cuMemsetD8_v2(address target, unsigned char value, size_t count) {
  return skips_fill(count, NULL)
             ? 0
             : REAL(int (*)(address, unsigned char, size_t), "cuMemsetD8_v2")(target, value, count);
}
API cuMemsetD32_v2(address target, unsigned value, size_t count) {
  return skips_fill(4 * count, NULL)
             ? 0
             : REAL(int (*)(address, unsigned, size_t), "cuMemsetD32_v2")(target, value, count);
}
API cuMemsetD8Async(address target, unsigned char value, size_t count, void* stream) {
  if (skips_fill(count, stream)) return 0;
  return REAL(int (*)(address, unsigned char, size_t, void*), "cuMemsetD8Async")(target, value,
                                                                                 count, stream);
}
API cuMemsetD32Async(address target, unsigned value, size_t count, void* stream) {
  if (skips_fill(4 * count, stream)) return 0;
  return REAL(int (*)(address, unsigned, size_t, void*), "cuMemsetD32Async")(target, value, count,
                                                                             stream);
}
