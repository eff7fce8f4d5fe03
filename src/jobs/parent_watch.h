// The child's side of a job with a channel.
#pragma once

namespace gpuready {

inline constexpr int kChannelDescriptor = 3;

// Ends this process and its group within a second once the parent has died, also while it waits in
// a driver's call that never returns: a thread watches the channel and the parent's process id. A
// child without a channel is left as it is. (The signal that the kernel sends at a parent's death
// comes with the end of the thread that made the child, so it does not serve everywhere; spawn()
// asks for it where it does.)
void end_with_parent();

// The kernel does not end this process when the parent dies; for a child that has something to put
// back then, and ends by itself.
void outlive_parent();

}  // namespace gpuready
