// When which copies run while all GPUs of the machine copy: the same in all processes, so that
// children that know nothing of each other copy in the same direction at once.
#pragma once

#include "base/clock.h"

namespace gpuready {

// Slots of 125 ms follow each other, by the system's monotonic clock.
enum class SharedSlot { to_device, to_host, both_ways };
inline constexpr int kSharedSlots = 3;
// When the next slot of this kind begins.
Clock::time_point next_slot(SharedSlot kind, Clock::time_point now);

}  // namespace gpuready
