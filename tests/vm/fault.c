/* fault ADDRESS: has a network card of Intel's without a driver read where its IOMMU maps nothing.
 * The kernel logs that. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The 82574 controller's registers (Intel, 82574 GbE Controller Family Datasheet, chapter 10). */
enum {
  kTctl = 0x400,
  kTdbal = 0x3800,
  kTdbah = 0x3804,
  kTdlen = 0x3808,
  kTdh = 0x3810,
  kTdt = 0x3818
};

static int open_file(const char* address, const char* name) {
  char path[200];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, name);
  int fd = open(path, O_RDWR | O_SYNC);
  if (fd < 0) perror(path), exit(1);
  return fd;
}

int main(int argc, char** argv) {
  const uint16_t memory_and_master = 6;
  if (argc != 2 || write(open_file(argv[1], "enable"), "1", 1) != 1 ||
      pwrite(open_file(argv[1], "config"), &memory_and_master, 2, 4) != 2)
    return 1;
  volatile uint32_t* registers =
      mmap(0, 0x20000, PROT_READ | PROT_WRITE, MAP_SHARED, open_file(argv[1], "resource0"), 0);
  if (registers == MAP_FAILED) return 1;
  registers[kTdbal / 4] = 0x5a5a0000; /* the ring of descriptors */
  registers[kTdbah / 4] = 0;
  registers[kTdlen / 4] = 0x1000;
  registers[kTdh / 4] = 0;
  registers[kTctl / 4] = 2; /* enabled */
  registers[kTdt / 4] = 1;
  return 0;
}
