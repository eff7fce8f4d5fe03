// A stack's process, and the one of ours around it: that one ends all that the stack has started,
// also what left its session, and reports afterwards what the child cannot report about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/job.h"

namespace gpuready::bench {

inline constexpr const char* kAdapterChild = "__adapter";

// Our side there: `args` is the command. For main(); gives the command's exit code.
int run_adapter_child(std::span<const std::string> args);

// What it told at the end of the job's standard error, which is taken from there.
struct AdapterEnd {
  // The most memory that one of the stack's processes held at once (getrusage(2), ru_maxrss).
  std::optional<std::uint64_t> peak_resident_bytes;
  std::string cannot_start;  // why the command does not start
};
AdapterEnd take_adapter_end(std::string& err);

// `job` run so: by `program`, which is gpuready.
Job supervised(Job job, const std::string& program);

}  // namespace gpuready::bench
