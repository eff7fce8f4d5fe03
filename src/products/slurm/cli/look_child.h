// The child that looks at the GPUs for a hook.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "jobs/job.h"
#include "slurm/hooks.h"

namespace gpuready::cli {

inline constexpr const char* kSlurmLook = "__slurm_look";

// Our own program with these arguments, for a look at the node: what hides GPUs from the job hides
// none from it.
Job node_job(std::vector<std::string> args);

// `full`: as `doctor` looks; else files, NVML and the kernel log only, which takes a second.
struct LookOrder {
  bool full = true;
  std::optional<std::string> replay = {};
};
// Within 28 s, or 12 s if it is not full, whatever the drivers do.
slurm::Seen look_in_child(const LookOrder& order);

// The child's side: prints the look.
int run_slurm_look(std::span<const std::string> args);

}  // namespace gpuready::cli
