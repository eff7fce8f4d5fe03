#include "shim.h"

#include <fcntl.h>
#include <time.h>

__thread int shim_inside;

const char* shim_text(const char* key, const char* otherwise) {
  static __thread char value[8][256];
  static __thread unsigned next;
  const char* list = getenv("FOREIGN_FAULT");
  const size_t size = strlen(key);
  while (list && *list) {
    const size_t entry = strcspn(list, ";");
    if (entry > size && strncmp(list, key, size) == 0 && list[size] == '=') {
      char* out = value[next++ % COUNT(value)];
      snprintf(out, sizeof value[0], "%.*s", (int)(entry - size - 1), list + size + 1);
      return out;
    }
    list += entry + (list[entry] == ';');
  }
  return otherwise;
}

double shim_number(const char* key, double otherwise) {
  const char* text = shim_text(key, NULL);
  return text ? strtod(text, NULL) : otherwise;
}
int shim_is(const char* key, const char* value) { return strcmp(shim_text(key, ""), value) == 0; }
int shim_fault_is(const char* fault) { return !shim_inside && shim_is("fault", fault); }

/* `after=SECONDS`: not before FOREIGN_START (seconds since 1970) and these. */
static int is_time(void) {
  const char* start = getenv("FOREIGN_START");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return !start || (double)now.tv_sec + (double)now.tv_nsec / 1e9 >=
                       strtod(start, NULL) + shim_number("after", 0);
}

int shim_hits(void) {
  static _Atomic long count;
  if (!is_time()) return 0;
  const long now = ++count;
  const long nth = (long)shim_number("nth", 0), from = (long)shim_number("from", 0);
  return nth ? now == nth : now >= from;
}

/* Appended whole, so that lines of several processes do not mix. */
static void write_line(const char* format, va_list arguments) {
  const char* path = getenv("FOREIGN_LOG");
  char line[512];
  if (!path) return;
  int size = snprintf(line, sizeof line, "%d ", (int)getpid());
  size += vsnprintf(line + size, sizeof line - (size_t)size - 1, format, arguments);
  if (size > (int)sizeof line - 2) size = sizeof line - 2;
  line[size++] = '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write(file, line, (size_t)size) < 0) perror(path);
  close(file);
}

void shim_log(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void shim_made(const char* effect, const char* format, ...) {
  static _Atomic int told;
  char text[400];
  if (told++) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  shim_log("fault %s: %s", effect, text);
}

void* shim_find(const char* symbol) {
  static void* library;
  if (!library) library = dlopen(kRealLibrary, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, symbol) : NULL;
}
static int missing(void) { return kMissing; }
void* shim_real(const char* symbol) {
  void* function = shim_find(symbol);
  return function ? function : (void*)missing;
}
