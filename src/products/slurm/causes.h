// Why no job should run on a node, or on some of its GPUs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/kept_results.h"
#include "slurm/look.h"

namespace gpuready::slurm {

struct Cause {
  std::string id;    // of a finding; "test", "absent", "policy", "gpu", "leftover", "no-answer"
  std::string text;  // "GPU 3: the GPU has fallen off the bus"
  Action action = Action::none;
  // The lowest level of tests that must pass before it counts as gone. Absent: it is gone when it
  // is not seen any more. What needs hands on the hardware, or a reset, is not cured by lines of
  // the kernel log that age out.
  std::optional<Level> needs_test = {};
};

// Of the whole node: what the look found, and what tests have found and no later test has cleared.
// `left` are processes that an earlier job left on its GPUs.
std::vector<Cause> causes_of_node(const Look& look, const StatusReport& kept,
                                  const std::vector<std::uint32_t>& left);

// The GPUs of a job, by the numbers of SLURM_JOB_GPUS.
struct JobGpus {
  std::vector<const LookedGpu*> gpus;
  std::optional<std::string> unknown;  // why the numbers do not name GPUs of this node
};
// Slurm numbers device files, /dev/nvidia3; where those have no numbers, the GPUs in their order on
// the bus.
JobGpus job_gpus(const Look& look, std::string_view slurm_job_gpus);
std::optional<std::vector<int>> parse_numbers(std::string_view text);  // "0,2-3"

// Only of these GPUs.
std::vector<Cause> causes_of_job(const Look& look, const StatusReport& kept, const JobGpus& job);

// Whether a test would take a job little time: its GPUs are idle, and each has passed a test in
// this boot with this driver, so the kernels are in the driver's cache.
bool test_is_short(const JobGpus& job, const StatusReport& kept);

// The reason that Slurm shows: "gpuready: GPU 3: ... (reboot)". One line of printable ASCII.
inline constexpr std::size_t kMostReasonBytes = 180;
inline constexpr std::string_view kPrefix = "gpuready: ", kRehearsal = "rehearsal: ";
std::string reason_of(const std::vector<Cause>& causes);
bool is_rehearsal(std::string_view reason);
// The same causes, as those of a recording. Nothing of them is wrong here, so no test is due.
std::vector<Cause> rehearsed(std::vector<Cause> causes);
// Whether a reason has the form of ours, from the prefix to the action.
bool reads_as_ours(std::string_view reason);

}  // namespace gpuready::slurm
