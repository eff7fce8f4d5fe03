// A run on another machine: the program carries itself there by ssh, runs, and brings the document
// back. Nothing stays there. The user's ssh configuration decides how the machine is reached; there
// is not a terminal, so ssh asks for no password.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "jobs/job.h"

namespace gpuready::bench {

struct RemoteRun {
  std::string target;             // USER@HOST, HOST, or a name of ssh's configuration
  std::string binary;             // path of this program here
  std::vector<std::string> args;  // of `bench run` there
  std::vector<std::pair<std::string, std::string>> variables;  // that it has there
  JobLimits limits;                                            // of the run itself
};

// The document of the run, whatever its exit code. bad_input for a target that ssh might take for
// an option, unsupported for a machine that cannot execute the program, io where ssh or the run
// fails without a document.
Result<std::string> run_remotely(const RemoteRun& run, Host& host, const JobWatch& watch);

}  // namespace gpuready::bench
