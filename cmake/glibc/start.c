// The start of a program on every glibc. Since 2.34 a program's start code leaves its constructors to libc;
// before, it handed libc a function that runs them. Called so, old and new do the same.
typedef void Constructor(int, char**, char**);
extern void _init(void) __attribute__((visibility("hidden")));
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));

static void run_constructors(int argc, char** argv, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) (*each)(argc, argv, environment);
}

// ld: --wrap=__libc_start_main
typedef int Main(int, char**, char**);
int __real___libc_start_main(Main* run, int argc, char** argv, Constructor* init, void (*fini)(void),
                             void (*loader_fini)(void), void* stack_end);
int __wrap___libc_start_main(Main* run, int argc, char** argv, Constructor* init, void (*fini)(void),
                             void (*loader_fini)(void), void* stack_end) {
  return __real___libc_start_main(run, argc, argv, init ? init : run_constructors, fini, loader_fini, stack_end);
}
