// A process that was forked has none of its parent's threads, and locks that they held stay held.
#pragma once

namespace gpuready {

// How many times this process came of a fork() since it first asked: what was made at another count
// has lost its threads.
unsigned fork_count();

}  // namespace gpuready
