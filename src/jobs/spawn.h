// Starting a child: descriptors, environment, session, limits. Used by running_job.cc alone.
#pragma once

#include <sys/types.h>

#include <array>

#include "base/descriptor.h"
#include "jobs/job.h"

namespace gpuready {

struct Spawned {
  pid_t pid = -1;
  Descriptor end;  // readable once it has ended; none before Linux 5.3
  std::array<Descriptor, kStreamCount> streams;  // our non-blocking ends
};

Result<Spawned> spawn(const Job& job);

}  // namespace gpuready
