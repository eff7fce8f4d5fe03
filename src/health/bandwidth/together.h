// The rates that a GPU keeps while all others of the machine copy as well.
#pragma once

#include "device/device.h"
#include "gpuready/verdict.h"
#include "health/bandwidth/rate.h"
#include "health/test.h"

namespace gpuready {

// Which copies run at this time of the system's monotonic clock: the same in all processes, so that
// children that know nothing of each other copy in the same direction at once.
enum class SharedSlot { to_device, to_host, both_ways };
SharedSlot slot_at(Clock::time_point time);
Clock::time_point end_of_slot(Clock::time_point time);

// Copies through two cycles of slots and reports, for each direction, the slowest slot: that in
// which most others took part. Cancelling ends it between copies.
Result<void> measure_together(Device& device, const HostBuffer& host, DeviceAddress buffer,
                              std::uint64_t bytes, const TestHooks& hooks, Verdict& verdict);

// Copies both ways at once on two streams for about `ms`; half of `bytes` each way.
struct BothWays {
  double rate = 0;  // both directions, from the first byte to the last
  double to_device_rate = 0, to_host_rate = 0;
};
Result<BothWays> copy_both_ways(Device& device, const HostBuffer& host, DeviceAddress buffer,
                                std::uint64_t bytes, double ms);

}  // namespace gpuready
