// How code of a package is run before it is installed: with few of our variables, nothing that it
// starts outlives it, and as root it is another user, whose home is an empty folder that is removed
// afterwards.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/job.h"

namespace gpuready::pack {

struct PackageFolder {
  std::string folder;
  std::vector<std::string> library_folders;  // in it, for LD_LIBRARY_PATH

  // `path`, in that folder, seen from there.
  std::string inside(const std::string& path) const;
};

// `gpuready COMMAND ...`, which gives what follows COMMAND to run_in_sandbox().
Job sandbox_job(const std::string& command, const PackageFolder& package,
                std::vector<std::string> args = {});

// The child's side. `body` is called with the package's folder as the current one, and with how
// that folder is called there: "." where this user cannot get to it from outside, because it lies
// in root's home. Programs that `body` becomes find the package's libraries; this process, which
// was root's, does not. `ready` is an error where rights could not be dropped. As root, a child
// that is `offline` has no network, unless a container forbids to take it away. Gives the exit code
// of `body` back.
struct SandboxChild {
  Result<void> ready;
  std::string folder;
  std::span<const std::string> args;
};
enum class SandboxNetwork { open, offline };
int run_in_sandbox(std::span<const std::string> args, SandboxNetwork network,
                   const std::function<int(const SandboxChild&)>& body);

}  // namespace gpuready::pack
