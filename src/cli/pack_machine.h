// The machine that a variant is selected for: this one, a recorded one, or one that is described.
#pragma once

#include <memory>

#include "cli/options.h"
#include "pack/store/select.h"

namespace gpuready::cli {

struct MachineOptions {
  std::optional<std::string> gpus, driver, replay;
  std::optional<std::uint64_t> free_mb;
};
void add_machine_options(CommandSpec& command, MachineOptions& options);

Result<pack::SelectMachine> machine_for(const MachineOptions& options);

}  // namespace gpuready::cli
