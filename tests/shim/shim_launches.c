/* Launches: the Nth of a kernel is left out, gets half of its grid, or loses half of its blocks.
 *
 * With FOREIGN_COMPARE=BYTES, where no more is allocated, the launch is run as it should be, twice,
 * and as it is spoilt, each from the same memory: bytes that the two good runs agree on and the
 * spoilt one does not have were changed. That takes time, so it is for a run of its own. */
#include "shim_cuda.h"

struct configuration { /* CUlaunchConfig */
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};
struct launch {
  struct configuration c;
  void* function;
  void **params, **extra;
  int (*start)(const struct launch*);
};

struct snapshot {
  struct allocation of[1024];
  size_t count, bytes;
  unsigned char* content;
};
static int take(struct snapshot* s) {
  s->count = allocations(s->of, COUNT(s->of));
  s->bytes = 0;
  for (size_t i = 0; i < s->count; ++i) s->bytes += s->of[i].bytes;
  if (s->bytes > strtoull(getenv("FOREIGN_COMPARE"), NULL, 0) ||
      !(s->content = malloc(s->bytes + 1)))
    return 0;
  size_t at = 0;
  for (size_t i = 0; i < s->count; at += s->of[i++].bytes)
    if (device_read(s->content + at, s->of[i].begin, s->of[i].bytes)) return 0;
  return 1;
}
static int restore(const struct snapshot* s) {
  size_t at = 0;
  for (size_t i = 0; i < s->count; at += s->of[i++].bytes)
    if (device_write(s->of[i].begin, s->content + at, s->of[i].bytes)) return 0;
  return 1;
}

/* Blocks add what they counted to slots of their own: fewer blocks that do all the work leave the
 * same sum in fewer slots. */
static int has_the_sums(const struct snapshot* one, const struct snapshot* other) {
  const unsigned char *a = one->content, *b = other->content;
  for (size_t i = 0; i < one->count; a += one->of[i].bytes, b += one->of[i++].bytes) {
    uint64_t word_a, word_b, more = 0;
    for (size_t at = 0; at + 8 <= one->of[i].bytes; at += 8) {
      memcpy(&word_a, a + at, 8), memcpy(&word_b, b + at, 8);
      more += word_a - word_b;
    }
    if (more != 0) return 0;
  }
  return 1;
}

static const char* effect_of(const struct launch* good, const struct launch* spoilt) {
  struct snapshot before = {.content = NULL}, one = before, two = before, bad = before;
  const char* effect = "unknown";
  if (!getenv("FOREIGN_COMPARE")) return effect;
  const int ran = take(&before) && good->start(good) == 0 && device_wait(good->c.stream) == 0 &&
                  take(&one) && restore(&before) && good->start(good) == 0 &&
                  device_wait(good->c.stream) == 0 && take(&two) && restore(&before) &&
                  (!spoilt || spoilt->start(spoilt) == 0) && device_wait(good->c.stream) == 0 &&
                  take(&bad) && restore(&before);
  if (ran) effect = "unchanged";
  for (size_t i = 0; ran && i < one.bytes; ++i)
    if (one.content[i] == two.content[i] && one.content[i] != bad.content[i]) effect = "changed";
  if (spoilt && spoilt->c.grid[0] != good->c.grid[0] && !strcmp(effect, "changed") &&
      has_the_sums(&one, &bad))
    effect = "unchanged";
  free(before.content), free(one.content), free(two.content), free(bad.content);
  return effect;
}

static int make(struct launch l) {
  const char* name = kernel_name(l.function);
  if (shim_fault_is("census"))
    shim_log("launch %s %u", name, l.c.grid[0] * l.c.grid[1] * l.c.grid[2]);
  if (!shim_fault_is("launch") || !strstr(name, shim_text("kernel", "")) || !shim_hits())
    return l.start(&l);
  const unsigned blocks = l.c.grid[0];
  struct launch spoilt = l;
  const struct launch* instead = &spoilt;
  if (shim_is("do", "skip")) instead = NULL;
  if (shim_is("do", "halve")) spoilt.c.grid[0] = (blocks + 1) / 2;
  if (shim_is("do", "lose")) spoilt.function = kernel_with_lost_blocks(l.function);
  if (!spoilt.function) {
    shim_log("no spoilt %s", name);
    return l.start(&l);
  }
  shim_inside = 1;
  int code = device_wait(l.c.stream);
  const char* effect = code || (instead && blocks < 2) ? "unchanged" : effect_of(&l, instead);
  shim_made(effect, "%s of %u blocks: %s", name, blocks, shim_text("do", ""));
  if (code == 0 && instead) code = instead->start(instead);
  shim_inside = 0;
  return code;
}

static int plain(const struct launch* l) {
  const struct configuration* c = &l->c;
  return REAL(int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**),
              "cuLaunchKernel")(l->function, c->grid[0], c->grid[1], c->grid[2], c->block[0],
                                c->block[1], c->block[2], c->shared_bytes, c->stream, l->params,
                                l->extra);
}
API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** params, void** extra) {
  return make((struct launch){
      {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0}, function, params, extra, plain});
}

static int cooperative(const struct launch* l) {
  const struct configuration* c = &l->c;
  return REAL(int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**),
              "cuLaunchCooperativeKernel")(l->function, c->grid[0], c->grid[1], c->grid[2],
                                           c->block[0], c->block[1], c->block[2], c->shared_bytes,
                                           c->stream, l->params);
}
API cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void* stream,
                              void** params) {
  return make((struct launch){
      {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0}, function, params, NULL, cooperative});
}

static int configured(const struct launch* l) {
  return REAL(int (*)(const struct configuration*, void*, void**, void**), "cuLaunchKernelEx")(
      &l->c, l->function, l->params, l->extra);
}
API cuLaunchKernelEx(const struct configuration* c, void* function, void** params, void** extra) {
  return make((struct launch){*c, function, params, extra, configured});
}
