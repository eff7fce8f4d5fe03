// One sample: the machine, inspected passively in a child of ours. What hangs in it costs a child
// and a deadline; no vendor's library and no driver's file is ever opened in the exporter itself.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "host/recording/recording.h"

namespace gpuready::exporter {

inline constexpr const char* kSampleMode = "__sample";

// What the child looks at, and for how long, as its arguments.
struct SampleOrder {
  std::optional<std::string> replay = {};
  std::optional<double> timeout_s = {};
};
std::vector<std::string> sample_args(const SampleOrder& order);
SampleOrder sample_order(std::span<const std::string> args);

// Files that a driver did not answer, as the child noted while it read them: they become entries of
// Machine::unseen.
void note_silent_files(const Recording& read, Machine& machine);

// The parent's side: runs the child with these arguments. While a process of an earlier sample is
// still stuck in a driver, none is added to it: `hung`.
Result<Machine> take_sample(const std::vector<std::string>& args, std::chrono::milliseconds limit,
                            const std::atomic<bool>& cancel);

}  // namespace gpuready::exporter
