/* NCCL for tests, on host memory. FAKE_NCCL says what goes wrong:
 *   init=CODE  ncclCommInitAll returns CODE      hang   it never returns
 *   wrong      one element of each sum is one too many      wrong_at=N  of the Nth sum alone
 *   nvls       starts only where NCCL_NVLS_ENABLE is 0 (else 7)
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define MAX_CALLS 8

struct call {
  const char* source;
  char* target;
  size_t count;
  int type;
};
static struct call g_calls[MAX_CALLS];
static int g_count, g_ranks;

static const char* setting(const char* key) {
  const char* text = getenv("FAKE_NCCL");
  return text ? strstr(text, key) : NULL;
}

API int ncclGetVersion(int* version) {
  *version = 22707;
  return 0;
}

API const char* ncclGetErrorString(int status) {
  return status == 2 ? "unhandled system error" : "invalid usage";
}

API int ncclCommInitAll(void** communicators, int count, const int* devices) {
  const char* init = setting("init=");
  const char* nvls = getenv("NCCL_NVLS_ENABLE");
  if (setting("hang"))
    for (;;) pause();
  if (init) return atoi(init + 5);
  if (setting("nvls") && (!nvls || strcmp(nvls, "0") != 0)) return 7;
  for (int i = 0; i < count; ++i) {
    if (devices[i] != i) return 4;
    communicators[i] = malloc(1);
  }
  g_ranks = count;
  return 0;
}

API int ncclCommDestroy(void* communicator) {
  free(communicator);
  return 0;
}

API int ncclGroupStart(void) {
  g_count = 0;
  return 0;
}

API int ncclAllReduce(const void* source, void* target, size_t count, int type, int operation,
                      void* communicator, void* stream) {
  if (operation != 0 || !communicator || stream || (type != 2 && type != 4)) return 4;
  g_calls[g_count++] = (struct call){source, target, count, type};
  return 0;
}

API int ncclGroupEnd(void) {
  static int sums;
  const char* at = setting("wrong_at=");
  const int wrong = at ? ++sums == atoi(at + 9) : setting("wrong") != NULL;
  if (g_count != g_ranks) return 5;
  for (size_t i = 0; i < g_calls[0].count; ++i) {
    uint64_t sum = wrong && i == g_calls[0].count / 2;
    const size_t size = g_calls[0].type == 2 ? 4 : 8;
    for (int rank = 0; rank < g_ranks; ++rank) {
      uint64_t value = 0;
      memcpy(&value, g_calls[rank].source + i * size, size);
      sum += value;
    }
    for (int rank = 0; rank < g_ranks; ++rank) memcpy(g_calls[rank].target + i * size, &sum, size);
  }
  return 0;
}
