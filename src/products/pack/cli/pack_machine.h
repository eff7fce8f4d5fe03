// The machine that a variant is selected for: this one, a recorded one, or one that is described.
#pragma once

#include <memory>

#include "cli/options.h"
#include "pack/store/select.h"

namespace gpuready::cli {

struct MachineOptions {
  std::vector<std::string> gpus = {};
  std::optional<std::string> driver = {}, replay = {};
  std::optional<std::uint64_t> free_mb = {};

  bool is_this_one() const { return gpus.empty() && !replay; }
};
// `needs`: an option that they go with.
void add_machine_options(CommandSpec& command, MachineOptions& options,
                         const char* needs = nullptr);
Option free_memory_option(MachineOptions& options);

// The architectures that a value names which is not one itself: a GPU of this machine by any of its
// names, or an NVIDIA model, whether such a GPU is here or not.
Result<std::vector<pack::TargetGpu>> targets_on(const Machine& here, const char* option,
                                                const std::string& word);
Result<pack::SelectMachine> machine_for(const MachineOptions& options);

}  // namespace gpuready::cli
