// `gpuready ternary ...`: ternary tensors in GGUF files, and the kernels that multiply by them.
#include "cli/commands.h"
#include "ternary/cli/ternary_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_ternary_<name>.cc.
constexpr CommandEntry kTernarySubcommands[] = {
    {"inspect", "List the tensors of a GGUF file: formats, sizes, shares of -1, 0, +1, scales",
     declare_ternary_inspect},
    {"convert", "Rewrite a GGUF file with its ternary tensors in another format",
     declare_ternary_convert},
    {"verify", "Check every CPU tier and device against exact sums, bit for bit",
     declare_ternary_verify},
    {"bench", "Time products on every CPU tier and device against the measured read bandwidth",
     declare_ternary_bench},
};

}  // namespace

void declare_ternary(CommandSpec& command) { command.subcommands = kTernarySubcommands; }

}  // namespace gpuready::cli
