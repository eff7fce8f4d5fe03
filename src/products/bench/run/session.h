// Runs stacks: each repeat in a fresh process, in a balanced random order, within limits of time
// and silence. Whatever one stack does costs no other its results.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/run/adapters.h"
#include "bench/run/answer.h"
#include "bench/run/plausibility.h"
#include "jobs/job.h"

namespace gpuready::bench {

// Of each stack, by its index: one round a repeat, every stack once in each. A round after a random
// one has the same order backwards, so that no stack is always early or always after the same one.
std::vector<std::vector<std::size_t>> balanced_order(std::size_t stacks, std::size_t repeats,
                                                     std::uint64_t seed);

struct SessionOptions {
  std::size_t repeats = 5;
  std::uint64_t order_seed = 1;
  std::size_t at_once = 1;  // adapters with a gate (adapter_run.h) that prepare at the same time
  JobLimits limits{std::chrono::minutes(10), std::chrono::minutes(2)};  // of one process
  // Our own program, which ends all that a stack has started (adapter_child.h); empty: none.
  std::string supervisor;
  // Of every child: what keeps vendors' libraries from changing the machine, the GPU that is seen.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  JobWatch watch;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct RanRepeat {
  std::size_t stack = 0;
  Answer answer;
  Span span;
  double harness_ms = 0;    // spent by us beside the child's own time
  double prepare_ms = 0;    // before its gate: its share of the time of all that prepared with it
  bool overlapped = false;  // others prepared at the same time
};

// All repeats in the order in which they ran. A stack that was unavailable or did other work is not
// tried again, nor one that failed twice; nor is any after an interrupt, and a repeat that it cut
// off is left out. `begins` and `ends` are called around each round, for samplers. `open` is asked
// after every second round from kFewestRounds on, since a round has the order of the one before
// backwards, and names the stacks that the next two repeat.
constexpr std::size_t kFewestRounds = 4;
struct RoundHooks {
  std::function<void()> begins = [] {};
  std::function<void(std::span<RanRepeat>)> ends = [](std::span<RanRepeat>) {};
  std::function<std::vector<std::size_t>(std::span<const RanRepeat>)> open;
};
std::vector<RanRepeat> run_session(std::span<const StackCommand> stacks, const Request& request,
                                   std::span<const ExpectedDigest> expected,
                                   const SessionOptions& options, const RoundHooks& hooks = {});

// By stack, in the order of `stacks`; the status of a stack is that of its worst repeat but for
// errors beside repeats that are ok, which are counted in its reason.
std::vector<StackResult> results_of(std::span<const StackCommand> stacks,
                                    std::span<const RanRepeat> ran);

}  // namespace gpuready::bench
