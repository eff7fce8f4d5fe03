// What the kernel can forbid a process that has no right of its own to lose: Landlock, of
// Linux 5.13.
#pragma once

#include <string>
#include <vector>

namespace gpuready {

// From now on this thread and what it starts write only to files below `writable` and make or
// remove files only below `own`, read nothing below `hidden` except `readable`, open no TCP
// connection, and signal no process but those that they start. Older kernels forbid less (TCP
// from 6.7, signals from 6.12 on), and some nothing. Paths that do not exist are left out.
struct Confinement {
  std::vector<std::string> writable, own, readable;
  std::string hidden;  // empty: nothing
};
void confine(const Confinement& confinement);

}  // namespace gpuready
