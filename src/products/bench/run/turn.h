// Two runs at once would time each other: one waits, whoever started the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/host.h"
#include "host/locks/machine_lock.h"

namespace gpuready::bench {

// Not below TMPDIR, which would hide runs from each other.
inline constexpr const char* kTurnPath = "/tmp/gpuready-bench.lock";

struct Turn {
  Result<MachineLock> lock;  // an error: the file cannot be locked, or `go_on` ended the wait
  bool waited = false;
};

// `tell` gets who holds the turn, once and when another one does; `go_on` is asked after each try.
Turn wait_for_turn(Host& host, const std::string& path,
                   const std::function<void(std::string_view holder)>& tell,
                   const std::function<bool()>& go_on);

}  // namespace gpuready::bench
