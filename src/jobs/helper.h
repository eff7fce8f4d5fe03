// Jobs that are this program itself: probes, workers.
#pragma once

#include <string>
#include <vector>

#include "jobs/job.h"

namespace gpuready {

// This program is gpuready, whatever its file is called; for main().
void be_own_helper();

// The path of our own executable: GPUREADY_HELPER, else this program's after be_own_helper(), else
// the one beside this program or of the installation that this library is part of, else the
// installed one.
std::string helper_path();

// Our own program with these arguments, a channel, and an environment in which vendors' libraries
// change nothing on the machine (docs/architecture.md, "Do no harm").
Job helper_job(std::vector<std::string> args);

}  // namespace gpuready
