// What a run says of the machine and the project that it ran in.
#pragma once

#include "bench/record/run_record.h"
#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready::bench {

// The GPU that the stacks see: the one of this name, as --gpu takes it, else the first that CUDA
// uses; nothing without one. An error for a name of another GPU.
Result<const Gpu*> gpu_of_stacks(const Machine& machine, const std::string& name);

// All but the variables. `gpu`: the one that the stacks see; null for the CPU.
Environment environment_of(const Machine& machine, const Gpu* gpu, Host& host);

// Commit and cleanness of the git work tree that the folder `.` is in; nothing without one, nor
// where it belongs to another user. No program that the repository names is run.
void add_git_state(RunRecord& run, Host& host);

}  // namespace gpuready::bench
