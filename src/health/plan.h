// Which GPU memory tests may run, and how far, on this machine. Pure: "do no harm" is decided here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

struct PlanOptions {
  bool busy = false;                      // test GPUs that others use, too, leaving memory to them
  std::vector<std::string> devices = {};  // --device; empty: all
  std::optional<std::uint64_t> max_bytes = std::nullopt;
};

// One test of one device, in a child that sees that device alone.
struct PlannedTest {
  int gpu = 0;          // index into Machine::gpus
  std::string subject;  // "GPU 0", "GPU 0 MIG 1g.18gb"
  std::string uuid;     // of the GPU or MIG instance: what CUDA_VISIBLE_DEVICES is set to
  std::uint64_t keep_free_bytes = 0;  // left to others
  std::optional<std::uint64_t> max_bytes = std::nullopt;
  std::optional<double> max_launch_ms;
};

struct TestPlan {
  std::vector<PlannedTest> run;
  std::vector<Verdict> not_run;  // with the reason
  bool host_memory = false;      // no GPU hardware here (or "cpu" was named): test host memory
};

TestPlan plan_memory_tests(const Machine& machine, const PlanOptions& options);

// Does the list name this GPU, by index, PCI address, UUID or a UUID's unambiguous beginning?
bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu);

}  // namespace gpuready
