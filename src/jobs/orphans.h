// Process groups that no one waits for any more: released jobs, what a job left running, and what
// is stuck in a driver. All are reaped in the end, so that no zombie stays: a container's first
// process may never reap what it inherits.
#pragma once

namespace gpuready {

// Reaps the members of this group whenever they end. `abandoned`: this process does not wait for
// them at its end either.
void add_orphan(int group, bool abandoned);
// Reaps what has ended; never blocks. Called whenever a job starts or is looked at.
void reap_orphans();

// For a program of our own, called once at its start: what children leave behind is handed to this
// process, which reaps it. (PR_SET_CHILD_SUBREAPER; a library leaves its host process as it is.)
void adopt_orphans();
// Reaps those that have ended. Whether one still runs: a process that a driver does not let go. For
// a program that adopts them, while it runs no job.
bool adopted_children_run();

}  // namespace gpuready
