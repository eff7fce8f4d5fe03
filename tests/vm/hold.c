/* Holds a device in one way, for good:
     hold thread FILE             open in a thread that has descriptors of its own
     hold orphan FILE             open in a thread of a process whose first thread has ended
     hold map FILE                mapped, and not open
     hold sent FILE               sent through a socket, and not received
     hold ring FILE               registered with io_uring, and not open
     hold ring-mapped FILE        the same, and the ring is only mapped
     hold poll FILE               a request of io_uring waits for it, and it is not open
     hold vfio CONTAINER GROUP ADDRESS     as a virtual machine does
     hold vfio-only CONTAINER GROUP ADDRESS    only the device's descriptor */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/vfio.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

static void send_file(int fd) {
  int pair[2];
  char byte = 0, space[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec one = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  struct cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
  if (sendmsg(pair[0], &message, 0) != 1) die("sendmsg");
}

static void* map_ring(int ring, size_t size, off_t part) {
  void* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, part);
  if (at == MAP_FAILED) die("mmap");
  return at;
}

static void hold_by_ring(int fd, const char* how) {
  struct io_uring_params params = {0};
  int ring = (int)syscall(SYS_io_uring_setup, 2, &params);
  if (ring < 0) die("io_uring_setup");
  char* queue = map_ring(ring, params.sq_off.array + params.sq_entries * sizeof(unsigned),
                         IORING_OFF_SQ_RING);
  if (strcmp(how, "poll") != 0) {
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1) != 0) die("register");
    if (strcmp(how, "ring-mapped") == 0) close(ring);
    return;
  }
  struct io_uring_sqe* request =
      map_ring(ring, params.sq_entries * sizeof *request, IORING_OFF_SQES);
  memset(request, 0, sizeof *request);
  request->opcode = IORING_OP_POLL_ADD;
  request->fd = fd;
  request->poll32_events = POLLPRI;
  ((unsigned*)(queue + params.sq_off.array))[0] = 0;
  *(unsigned*)(queue + params.sq_off.tail) = 1;
  if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1) die("io_uring_enter");
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
  } else if (strcmp(argv[1], "thread") != 0 && strcmp(argv[1], "orphan") != 0) {
    int fd = open_file(argv[2]);
    if (strcmp(argv[1], "sent") == 0)
      send_file(fd);
    else
      hold_by_ring(fd, argv[1]);
    close(fd);
  } else {
    own_table = strcmp(argv[1], "thread") == 0;
    if (pthread_create(&thread, NULL, open_in_thread, argv[2]) != 0) die("thread");
    if (!own_table) pthread_exit(NULL);
    pthread_join(thread, NULL);
  }
  held();
}
