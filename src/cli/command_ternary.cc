// `gpuready ternary ...`: ternary tensors in GGUF files, and the kernels that multiply by them.
#include "cli/commands.h"
#include "cli/ternary_commands.h"

namespace gpuready::cli {
namespace {

struct Subcommand {
  const char* name;
  const char* summary;
  void (*add)(CLI::App&, int&);
};
// One line a subcommand; each has a file of its own, command_ternary_<name>.cc.
constexpr Subcommand kSubcommands[] = {
    {"inspect", "List the tensors of a GGUF file: formats, sizes, shares of -1, 0, +1, scales",
     add_ternary_inspect},
    {"convert", "Write a GGUF file anew with its ternary tensors in another format",
     add_ternary_convert},
    {"verify", "Check every CPU tier and device against exact sums, bit for bit",
     add_ternary_verify},
    {"bench", "Time products on every CPU tier and device against the measured read bandwidth",
     add_ternary_bench},
};

}  // namespace

void add_ternary(CLI::App& app, int& exit_code) {
  app.require_subcommand(1);
  for (const Subcommand& subcommand : kSubcommands)
    subcommand.add(*app.add_subcommand(subcommand.name, subcommand.summary), exit_code);
}

}  // namespace gpuready::cli
