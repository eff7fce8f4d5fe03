// Starting a child: descriptors, environment, session. Used by process.cc alone.
#pragma once

#include <sys/types.h>

#include <array>

#include "host/process.h"

namespace gpuready {

enum Stream { kOut, kErr, kDocument, kStreamCount };

struct Spawned {
  pid_t pid = -1;
  int pidfd = -1;                                   // -1 on kernels before 5.3
  std::array<int, kStreamCount> pipes{-1, -1, -1};  // our non-blocking read ends
};

Result<Spawned> spawn(const Command& command);

}  // namespace gpuready
