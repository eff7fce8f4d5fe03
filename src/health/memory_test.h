// The memory test: every word of as much memory as may be taken is written with a pattern that no
// two addresses share, read back, written with the complement and read back again
// (docs/memory-test.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "device/device.h"
#include "gpuready/verdict.h"
#include "health/memory_pass.h"

namespace gpuready {

struct MemoryTestOptions {
  std::optional<std::uint64_t> max_bytes;      // test no more than this
  std::uint64_t reserve_free_bytes = 0;        // leave this much of the free memory to others
  double max_launch_ms = 2000;                 // no kernel runs (much) longer than this
  std::uint64_t copy_traffic_bytes = 8 * GiB;  // moved to measure the copy rate; 0: not measured
  unsigned blocks_per_unit = 16;               // blocks launched per SM
  std::optional<std::uint64_t> salt;           // of the pattern; random when absent
  std::optional<MemoryFault> inject;           // a fault on purpose, in the first write pass
};

struct MemoryProgress {
  std::string_view phase;                         // "start", "write", "verify", "copy rate", ...
  std::uint64_t done_bytes = 0, total_bytes = 0;  // of all passes together
};

struct MemoryTestHooks {
  std::function<void(const MemoryProgress&)> progress;  // between launches
  std::function<void(const Verdict&)> partial;          // after each pass: what is known so far
  const std::atomic<bool>* cancel = nullptr;            // looked at between launches
};

// Never fails to return a verdict: errors are part of it.
Verdict test_memory(Device& device, const MemoryTestOptions& options,
                    const MemoryTestHooks& hooks = {});

// The verdict for an error met before or while testing: what it says about the device, and about
// the test. `fault` is Device::fault_of(error).
VerdictStatus status_of(DeviceFault fault);
std::string reason_of(DeviceFault fault, const Error& error, std::string_view phase);

}  // namespace gpuready
