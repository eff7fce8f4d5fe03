// One function a command: declares its options and says what to run.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

// As help lists them: the core's, then those of the products in this build.
std::span<const CommandEntry> all_commands();

void declare_check(CommandSpec& command);
void declare_test(CommandSpec& command);
void declare_selftest(CommandSpec& command);
void declare_detect(CommandSpec& command);
void declare_doctor(CommandSpec& command);
void declare_record(CommandSpec& command);
void declare_gpu_test(CommandSpec& command);
void declare_policy(CommandSpec& command);
void declare_status(CommandSpec& command);

}  // namespace gpuready::cli
