// Runs for tests.
#pragma once

#include <string>
#include <vector>

#include "bench/run_record.h"

namespace gpuready::bench {

// A run of the stack "gpuready" with these samples in one repeat.
inline RunRecord run_of(std::string id, std::vector<double> samples_ns) {
  RunRecord run;
  run.tag = "test";
  run.id = std::move(id);
  run.environment.gpus = {{"NVIDIA H200", "GPU-1"}};
  run.environment.driver_version = "580.65.06";
  run.workload = {.name = "mlp",
                  .shape = {{"batch", 64}, {"hidden", 2048}},
                  .dtype = "bf16",
                  .device = "cuda",
                  .rows = 64,
                  .elements = 64 * 2048,
                  .flops = {},
                  .bytes = {}};
  StackResult stack;
  stack.id = "gpuready";
  stack.repeats.emplace_back().samples_ns = std::move(samples_ns);
  run.stacks.push_back(std::move(stack));
  return run;
}

}  // namespace gpuready::bench
