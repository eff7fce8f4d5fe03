// Functions that are newer than the oldest glibc that we start on, for our own code, the static parts of
// the compiler's run time and the static libraries. Each does what glibc's does; where only glibc can do it
// well, glibc's is asked first. None is visible outside. The linker drops what nobody calls.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// 2.33: before, stat() and its kin were inline functions. The kernel's structure is glibc's on 64-bit systems.
int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
int fstat(int descriptor, struct stat* status) { return (int)syscall(SYS_fstat, descriptor, status); }
int stat(const char* path, struct stat* status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char* path, struct stat* status) { return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW); }
int fstatat64(int, const char*, struct stat64*, int) __attribute__((alias("fstatat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int stat64(const char*, struct stat64*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) __attribute__((alias("lstat")));

int mknodat(int folder, const char* path, mode_t mode, dev_t device) {
  if ((unsigned)device != device) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_mknodat, folder, path, mode, (unsigned)device);
}

// 2.32: "this process has one thread", with which the C++ library saves atomic operations.
char __libc_single_threaded = 0;

// 2.36, the C++ library's random_device.
uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value)
    if (errno != EINTR && errno != EAGAIN) abort();
  return value;
}

// 2.32
const char* sigabbrev_np(int number) {
  static const struct {
    int number;
    const char* name;
  } kSignals[] = {
#define ENTRY(name) {SIG##name, #name}
      ENTRY(HUP),  ENTRY(INT),  ENTRY(QUIT), ENTRY(ILL),    ENTRY(TRAP), ENTRY(ABRT), ENTRY(BUS),  ENTRY(FPE),
      ENTRY(KILL), ENTRY(USR1), ENTRY(SEGV), ENTRY(USR2),   ENTRY(PIPE), ENTRY(ALRM), ENTRY(TERM), ENTRY(STKFLT),
      ENTRY(CHLD), ENTRY(CONT), ENTRY(STOP), ENTRY(TSTP),   ENTRY(TTIN), ENTRY(TTOU), ENTRY(URG),  ENTRY(XCPU),
      ENTRY(XFSZ), ENTRY(VTALRM), ENTRY(PROF), ENTRY(WINCH), ENTRY(POLL), ENTRY(PWR), ENTRY(SYS),
#undef ENTRY
  };
  for (size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i)
    if (kSignals[i].number == number) return kSignals[i].name;
  return NULL;
}

// 2.30. Without it a wait ends by the wall clock, so it is cut into short ones that a set clock cannot stretch.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  typedef int Wait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static Wait* real;
  if (!real) real = (Wait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (real) return real(condition, mutex, clock, deadline);

  static const int64_t kSecond = 1000000000, kSlice = 100000000;
  struct timespec now;
  clock_gettime(clock, &now);
  const int64_t left = (deadline->tv_sec - now.tv_sec) * kSecond + (deadline->tv_nsec - now.tv_nsec);
  if (left <= 0) return ETIMEDOUT;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t ns = until.tv_nsec + (left < kSlice ? left : kSlice);
  until.tv_sec += ns / kSecond;
  until.tv_nsec = ns % kSecond;
  const int result = pthread_cond_timedwait(condition, mutex, &until);
  // Early: as if woken by chance, which every caller must expect.
  return result == ETIMEDOUT && left > kSlice ? 0 : result;
}

// 2.34. Without it the descriptors are named one by one; one that closes meanwhile is no error, and those
// that other threads open now are close-on-exec.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int first) {
  typedef int Add(posix_spawn_file_actions_t*, int);
  Add* real = (Add*)dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
  if (real) return real(actions, first);

  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return errno;
  int result = 0;
  for (const struct dirent* entry; result == 0 && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    const int descriptor = atoi(entry->d_name);
    if (descriptor >= first && descriptor != dirfd(folder))
      result = posix_spawn_file_actions_addclose(actions, descriptor);
  }
  closedir(folder);
  return result;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // 2.35: where the unwinder's tables for an address are
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};
static int look(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  const struct Search* search = argument;
  int inside = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
      inside = 1;
      search->found->dlfo_map_start = (void*)start;
      search->found->dlfo_map_end = (void*)(start + part->p_memsz);
    }
    if (part->p_type == PT_GNU_EH_FRAME) search->found->dlfo_eh_frame = (void*)start;
  }
  if (!inside) search->found->dlfo_eh_frame = NULL;
  return inside;
}
int _dl_find_object(void* address, struct dl_find_object* found) {
  memset(found, 0, sizeof *found);
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) && found->dlfo_eh_frame ? 0 : -1;
}
#endif

// 2.38: what its headers make of strtol() and sscanf(). C23's also read binary numbers, which nobody here writes.
#define FROM_C99(type, name)                                                \
  extern type c99_##name(const char*, char**, int) __asm__(#name);          \
  type __isoc23_##name(const char* text, char** end, int base);             \
  type __isoc23_##name(const char* text, char** end, int base) { return c99_##name(text, end, base); }
FROM_C99(long, strtol)
FROM_C99(long long, strtoll)
FROM_C99(unsigned long, strtoul)
FROM_C99(unsigned long long, strtoull)
extern int c99_vsscanf(const char*, const char*, va_list) __asm__("__isoc99_vsscanf");
int __isoc23_sscanf(const char* text, const char* format, ...);
int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int count = c99_vsscanf(text, format, values);
  va_end(values);
  return count;
}
