/* Modules: refused ones, and a second one of each in which the upper half of the blocks ends at
 * once. */
#include "shim_cuda.h"

struct module {
  void *handle, *spoilt;
  struct module* next;
};
struct function {
  void *handle, *spoilt, *module;
  char name[256];
  struct function* next;
};
static struct module* g_modules;
static struct function* g_functions;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct function* function_of(void* handle) {
  pthread_mutex_lock(&g_lock);
  const struct function* found = g_functions;
  while (found && found->handle != handle) found = found->next;
  pthread_mutex_unlock(&g_lock);
  return found;
}
const char* kernel_name(void* handle) {
  const struct function* found = function_of(handle);
  return found ? found->name : "";
}
void* kernel_with_lost_blocks(void* handle) {
  const struct function* found = function_of(handle);
  return found ? found->spoilt : NULL;
}

/* After the brace that opens each entry's body. */
static char* with_lost_blocks(const char* text) {
  static const char kEnd[] =
      "\n{ .reg .pred %shim_p; .reg .u32 %shim_a, %shim_b;\n mov.u32 %shim_a, %ctaid.x;\n mov.u32 "
      "%shim_b, "
      "%nctaid.x;\n shr.u32 %shim_b, %shim_b, 1;\n setp.ge.u32 %shim_p, %shim_a, %shim_b;\n "
      "@%shim_p ret;\n}\n";
  size_t entries = 0;
  for (const char* at = text; (at = strstr(at, ".entry ")); ++at) ++entries;
  char *made = malloc(strlen(text) + entries * sizeof kEnd + 1), *out = made;
  for (const char* at; made && (at = strstr(text, ".entry ")) && (at = strchr(at, ')')) &&
                       (at = strchr(at, '{'));) {
    const size_t bytes = (size_t)(at + 1 - text);
    memcpy(out, text, bytes);
    memcpy(out + bytes, kEnd, sizeof kEnd - 1);
    out += bytes + sizeof kEnd - 1;
    text = at + 1;
  }
  if (made) strcpy(out, text);
  return made;
}

static int is_ptx(const char* image) {
  return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

static int refused(const void* image) {
  const char* with = shim_text("contains", "");
  if (shim_fault_is("census")) shim_log("module");
  if (!shim_fault_is("module") || (*with && !(is_ptx(image) && strstr(image, with))) ||
      !shim_hits())
    return 0;
  const int code = (int)shim_number("code", 222);
  shim_made("changed", "a module was refused with %d", code);
  return code;
}

static void keep_module(void* handle, const char* image) {
  struct module* made = calloc(1, sizeof *made);
  if (!made) return;
  made->handle = handle;
  char* text = shim_fault_is("launch") && shim_is("do", "lose") && is_ptx(image)
                   ? with_lost_blocks(image)
                   : NULL;
  int (*load)(void**, const void*, unsigned, int*, void**) =
      REAL(int (*)(void**, const void*, unsigned, int*, void**), "cuModuleLoadDataEx");
  if (text) {
    const int code = load(&made->spoilt, text, 0, NULL, NULL);
    if (code) shim_log("spoilt module refused with %d", code), made->spoilt = NULL;
  }
  free(text);
  pthread_mutex_lock(&g_lock);
  made->next = g_modules;
  g_modules = made;
  pthread_mutex_unlock(&g_lock);
}

API cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                       void** values) {
  int code = refused(image);
  if (code) return code;
  code = REAL(int (*)(void**, const void*, unsigned, int*, void**), "cuModuleLoadDataEx")(
      module, image, count, options, values);
  if (code == 0) keep_module(*module, image);
  return code;
}
API cuModuleLoadData(void** module, const void* image) {
  int code = refused(image);
  if (code) return code;
  code = REAL(int (*)(void**, const void*), "cuModuleLoadData")(module, image);
  if (code == 0) keep_module(*module, image);
  return code;
}

API cuModuleGetFunction(void** function, void* module, const char* name) {
  int (*get)(void**, void*, const char*) =
      REAL(int (*)(void**, void*, const char*), "cuModuleGetFunction");
  const int code = get(function, module, name);
  if (code || function_of(*function)) return code;
  struct function* made = calloc(1, sizeof *made);
  if (!made) return 2;
  made->handle = *function, made->module = module;
  snprintf(made->name, sizeof made->name, "%s", name);
  pthread_mutex_lock(&g_lock);
  for (const struct module* m = g_modules; m; m = m->next)
    if (m->handle == module && m->spoilt && get(&made->spoilt, m->spoilt, name))
      made->spoilt = NULL;
  made->next = g_functions;
  g_functions = made;
  pthread_mutex_unlock(&g_lock);
  return 0;
}

/* Handles may come again. */
API cuModuleUnload(void* module) {
  int (*unload)(void*) = REAL(int (*)(void*), "cuModuleUnload");
  pthread_mutex_lock(&g_lock);
  for (struct module* m = g_modules; m; m = m->next)
    if (m->handle == module) {
      if (m->spoilt) unload(m->spoilt);
      m->handle = m->spoilt = NULL;
    }
  for (struct function* f = g_functions; f; f = f->next)
    if (f->module == module) f->handle = f->spoilt = NULL;
  pthread_mutex_unlock(&g_lock);
  return unload(module);
}

API cuFuncSetAttribute(void* function, int attribute, int value) {
  int (*set)(void*, int, int) = REAL(int (*)(void*, int, int), "cuFuncSetAttribute");
  void* spoilt = kernel_with_lost_blocks(function);
  if (spoilt) set(spoilt, attribute, value);
  return set(function, attribute, value);
}
