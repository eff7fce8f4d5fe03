// The subcommands of `gpuready bench`; command_bench.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_bench_run(CommandSpec& command);
void declare_bench_adapter(CommandSpec& command);
void declare_bench_compare(CommandSpec& command);
void declare_bench_promote(CommandSpec& command);
void declare_bench_loop(CommandSpec& command);
void declare_bench_history(CommandSpec& command);
void declare_bench_report(CommandSpec& command);
void declare_bench_import(CommandSpec& command);
void declare_bench_export(CommandSpec& command);

}  // namespace gpuready::cli
