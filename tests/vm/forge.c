/* What an ordinary user can have the kernel log: mount options, and crashes of programs with chosen
   names. forge TEXT... : each as a mount option, behind a line break in one, and as the file's name
   of a crash. forge --crash NAME: takes the name and crashes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void put(const char* path, const char* text) {
  int fd = open(path, O_WRONLY);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) die(path);
  close(fd);
}

static void mount_with(const char* prefix, const char* text) {
  char option[600];
  snprintf(option, sizeof option, "%s%s", prefix, text);
  if (mount("none", "/tmp/user", "tmpfs", 0, option) == 0) die("the kernel took the option");
}

/* The writer's name as the process's, the text as its file's. */
static void crash_as(const char* name, const char* text) {
  char path[600] = "/tmp/user/", *at = path + strlen(path);
  snprintf(at, sizeof path - 10, "\n%s", text);
  for (; *at; ++at)
    if (*at == '/') *at = '_';
  if (link("/tmp/user/forge", path) != 0) die(path);
  pid_t child = fork();
  if (child == 0) {
    execl(path, "forge", "--crash", name, (char*)0);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  unlink(path);
  if (!WIFSIGNALED(status)) die("a crash");
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--crash") == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_NAME, argv[2]);
    *(volatile int*)0 = 0;
  }
  if (setgroups(0, 0) != 0 || setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0)
    die("setuid");
  prctl(PR_SET_DUMPABLE, 1); /* else /proc/self is root's */
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) die("unshare");
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", "0 1000 1");
  put("/proc/self/gid_map", "0 1000 1");
  for (int i = 1; i < argc; ++i) {
    mount_with("", argv[i]);
    mount_with("x\n", argv[i]);
    crash_as("NVRM: a", argv[i]);
    crash_as("a\nNVRM: b", argv[i]);
  }
  return 0;
}
