// `gpuready ternary ...`: ternary tensors in GGUF files, and the kernels that multiply by them.
#include <vector>

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
const std::vector<Subcommand>& subcommands() {
  static const std::vector<Subcommand> all = {
      {"inspect", "List the tensors of a GGUF file: formats, sizes, shares of -1, 0, +1, scales",
       add_ternary_inspect},
      {"convert", "Write a GGUF file anew with its ternary tensors in another format",
       add_ternary_convert},
  };
  return all;
}

}  // namespace

void add_ternary(CLI::App& app, int& exit_code) {
  app.require_subcommand(1);
  for (const Subcommand& subcommand : subcommands())
    subcommand.add(*app.add_subcommand(subcommand.name, subcommand.summary), exit_code);
}

}  // namespace gpuready::cli
