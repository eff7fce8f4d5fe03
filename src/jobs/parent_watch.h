// The child's side of a job with a channel.
#pragma once

#include <optional>
#include <string>

namespace gpuready {

inline constexpr int kChannelDescriptor = 3;

// The next line from the parent; nothing at its end. Only one thread may read.
std::optional<std::string> read_channel_line();
// Writes `line` and '\n' to the parent; nothing where it no longer listens.
void write_channel_line(const std::string& line);

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
