// Preloaded into gpuready in a guest: at the CUT_AT-th fsync the power goes (CUT_HOW=power, the
// whole guest stops at once, nothing is synced) or the process dies (CUT_HOW=kill); before that
// fsync or after it (CUT_WHEN). Without CUT_AT it says on standard error how many there were.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls;

static int set_to(const char* name, const char* value) {
  const char* found = getenv(name);
  return found != NULL && strcmp(found, value) == 0;
}

static void cut(const char* when) {
  const char* at = getenv("CUT_AT");
  if (at == NULL || atoi(at) != calls || !set_to("CUT_WHEN", when)) return;
  if (set_to("CUT_HOW", "kill")) kill(getpid(), SIGKILL);
  const int trigger = open("/proc/sysrq-trigger", O_WRONLY);
  if (write(trigger, "b", 1) != 1) abort();
  for (;;) pause();
}

int fsync(int descriptor) {
  ++calls;
  cut("before");
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  const int result = real(descriptor);
  cut("after");
  return result;
}

__attribute__((destructor)) static void tell(void) {
  if (getenv("CUT_COUNT") != NULL) fprintf(stderr, "fsyncs: %d\n", calls);
}
