// A lock that all users of this machine share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "host/host.h"

namespace gpuready {

// Held until it is destroyed, or the process ends.
class MachineLock {
 public:
  // An exclusive flock(2) on a file that stays, is empty and may be read by everyone; it is made
  // where it is missing. Nothing is read from it or written to it, so any user's will do. Does not
  // wait: `busy` while another process holds it.
  static Result<MachineLock> take(const std::string& path);

 private:
  explicit MachineLock(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

// "process 4711 of user 1000 (gpuready bench run --tag x)", which holds a lock on the file, by
// /proc/locks; empty where the system does not tell, as of another container's process.
std::string holder_of_lock(Host& host, const std::string& path);
// The process that `locks` (proc_locks(5)) names first as holding a lock on the inode; 0: none.
std::uint64_t lock_holder(std::string_view locks, std::uint64_t inode);

}  // namespace gpuready
