// What `check` and `test` share: their options and the run itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace gpuready::cli {

struct TestCommand {
  Globals globals;
  std::string level;  // empty: the policy's, else the command's
  std::string default_level;
  PolicyOptions policy;
  std::optional<int> require_gpu;
  std::optional<std::string> baseline, network, inject;
  std::vector<std::string> accept, require;
  std::vector<std::string> only;  // names of tests; empty: those of the level
  std::optional<double> duration_s;
  std::optional<std::uint64_t> seed;
  std::uint64_t faults = 1;  // how many are injected
  bool busy = false, fitness = false, hammer = false;
};

// --level, --busy, --inject, --require-gpu, --baseline, --accept and the global options.
void add_test_options(CommandSpec& command, TestCommand& options, std::string default_level);

int run_tests(std::string command, TestCommand options);

}  // namespace gpuready::cli
