// The child's side of a job that runs what somebody else made, and of which nothing may stay.
#pragma once

#include <functional>

namespace gpuready {

// Runs `body` in a child with a session of its own and gives its exit code back. Before that it
// kills all that `body` has started, also what left its session and was orphaned
// (PR_SET_CHILD_SUBREAPER), and then runs `afterwards` in another child. The same when this process
// gets SIGTERM, when its parent dies, and when the parent's end of the channel is closed. Where a
// signal ended `body`, the same signal ends this process.
//
// Call it before there is a second thread, and before rights are dropped: `body` cannot then signal
// this process. Where it has no other rights than `body`, a program that means to can end it first.
// `ended` is called in this process when all has ended and was reaped: getrusage(RUSAGE_CHILDREN)
// tells then what it used.
int supervise(const std::function<int()>& body, const std::function<void()>& afterwards = {},
              const std::function<void()>& ended = {});

}  // namespace gpuready
