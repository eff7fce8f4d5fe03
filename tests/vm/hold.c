/* Holds a device in one way, for good:
     hold thread FILE             open in a thread that has descriptors of its own
     hold orphan FILE             open in a thread of a process whose first thread has ended
     hold map FILE                mapped, and not open
     hold vfio CONTAINER GROUP ADDRESS     as a virtual machine does
     hold vfio-only CONTAINER GROUP ADDRESS    only the device's descriptor */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/vfio.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int open_file(const char* path) {
  int fd = open(path, O_RDWR);
  if (fd < 0) die(path);
  return fd;
}

static void held(void) {
  puts("held");
  fflush(stdout);
  for (;;) pause();
}

static int own_table;
static void* open_in_thread(void* path) {
  if (own_table && unshare(CLONE_FILES) != 0) die("unshare");
  open_file(path);
  if (!own_table) sleep(1); /* the first thread ends meanwhile */
  held();
  return NULL;
}

static void open_vfio(char** at, int only) {
  int container = open_file(at[0]), group = open_file(at[1]);
  if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) != 0) die("set container");
  if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) die("set iommu");
  if (ioctl(group, VFIO_GROUP_GET_DEVICE_FD, at[2]) < 0) die("device");
  if (only) close(group), close(container);
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 3) return 2;
  if (argc == 5) {
    open_vfio(argv + 2, strcmp(argv[1], "vfio-only") == 0);
  } else if (strcmp(argv[1], "map") == 0) {
    int fd = open_file(argv[2]);
    if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) die("mmap");
    close(fd);
  } else {
    own_table = strcmp(argv[1], "thread") == 0;
    if (pthread_create(&thread, NULL, open_in_thread, argv[2]) != 0) die("thread");
    if (!own_table) pthread_exit(NULL);
    pthread_join(thread, NULL);
  }
  held();
}
