// The subcommands of `gpuready ternary`; command_ternary.cc has the list.
#pragma once

#include <CLI/App.hpp>

namespace gpuready::cli {

// Each sets app.callback() to run the subcommand and to put its exit code into `exit_code`.
void add_ternary_inspect(CLI::App& app, int& exit_code);
void add_ternary_convert(CLI::App& app, int& exit_code);
void add_ternary_verify(CLI::App& app, int& exit_code);
void add_ternary_bench(CLI::App& app, int& exit_code);

}  // namespace gpuready::cli
