// How code of a package is run before it is installed: nothing that it starts outlives it, and as
// root it is another user, whose home is an empty folder that is removed afterwards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/job.h"

namespace gpuready::pack {

// Our own program with these arguments, which calls run_apart() first.
Job job_apart(std::vector<std::string> args);

// The child's side. `ready` is an error where rights could not be dropped. Gives the exit code of
// `body` back.
int run_apart(const std::function<int(const Result<void>& ready)>& body);

}  // namespace gpuready::pack
