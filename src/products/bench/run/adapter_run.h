// One process of a stack. An adapter with a gate imports its libraries and makes its inputs, says
// on its channel that it is ready, and waits there before it uses the device. So several prepare at
// the same time, and none of them while another one is timed.
#pragma once

#include <span>

#include "bench/run/session.h"
#include "jobs/running_job.h"

namespace gpuready::bench {

class AdapterRun {
 public:
  // Starts it. `stack` and the others must outlive it.
  AdapterRun(const StackCommand& stack, const Request& request, const SessionOptions& options,
             bool has_gate);

  // Waits until each of these waits at its gate or has ended.
  static void prepare(std::span<AdapterRun*> runs);

  // Ends these, which are not wanted any more, and waits for it.
  static void end(std::span<AdapterRun*> runs);

  // Opens the gate, waits for the end, and gives the time from the one to the other. The limits of
  // time and silence do not count the wait at the gate.
  Answer finish(double& child_ms);

  // It ended by itself before its gate: it may have run out of memory beside the others, or does
  // not know the gate.
  bool missed_gate() const;

 private:
  void take_output();

  const StackCommand& stack_;
  const Request& request_;
  const SessionOptions& options_;
  bool has_gate_, ready_ = false;
  Clock::time_point started_;
  JobLimits limits_;  // what is left of them
  std::size_t seen_bytes_ = 0;
  Result<RunningJob> job_;
};

// How many adapters with a gate prepare at the same time: one on each core, as long as half of the
// available memory holds them.
std::size_t prepared_at_once(const Request& request, std::size_t cores,
                             std::optional<std::uint64_t> available_bytes);

}  // namespace gpuready::bench
