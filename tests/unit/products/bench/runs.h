// Runs for tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/record/run_record.h"

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

// Runs that alternate: base, candidate, candidate, base, ...; each of one sample of `ns`.
inline std::string second(std::size_t number) {
  return fmt::format("2026-03-01T12:{:02}:{:02}Z", number / 60, number % 60);
}
inline std::vector<RunRecord> runs_at(const std::vector<double>& ns,
                                      const std::vector<std::size_t>& seconds) {
  std::vector<RunRecord> runs;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    runs.push_back(run_of(fmt::format("run-{}", seconds[i]), {ns[i]}));
    runs.back().started_utc = second(seconds[i]);
  }
  return runs;
}
// Places of the base's runs and the candidate's in the order base, candidate, candidate, base, ...
inline std::vector<std::size_t> base_places(std::size_t runs) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < runs; ++i) places.push_back(2 * i + i % 2);
  return places;
}
inline std::vector<std::size_t> candidate_places(std::size_t runs) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < runs; ++i) places.push_back(2 * i + 1 - i % 2);
  return places;
}

}  // namespace gpuready::bench
