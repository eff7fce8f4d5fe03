// `gpuready ternary ...`: ternary tensors in GGUF files, and the kernels that multiply by them.
#include "cli/product.h"
#include "ternary/cli/ternary_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_ternary_<name>.cc.
constexpr CommandEntry kTernarySubcommands[] = {
    {"inspect", "List the tensors of a GGUF or safetensors file: formats, sizes, scales",
     declare_ternary_inspect,
     "ternary inspect model.gguf\n"
     "ternary inspect model.gguf --json"},
    {"convert", "Rewrite a GGUF or safetensors file with its ternary tensors in another format",
     declare_ternary_convert,
     "ternary convert model.gguf out.gguf --to tq1_0\n"
     "ternary convert model.gguf out.gguf --to i2_s-x86 --json"},
    {"verify", "Check every CPU tier and device against exact sums, bit for bit",
     declare_ternary_verify,
     "ternary verify  # every CPU tier and device\n"
     "ternary verify --device cpu --seed 5"},
    {"bench", "Time products on every CPU tier and device against the measured read bandwidth",
     declare_ternary_bench,
     "ternary bench\n"
     "ternary bench --device cpu --shape 2560x6912"},
};

void declare_ternary(CommandSpec& command) { command.subcommands = kTernarySubcommands; }

}  // namespace

extern const Product ternary_product;
const Product ternary_product = {
    .command = {"ternary", "Inspect, convert, verify and benchmark ternary (1.58-bit) weights",
                declare_ternary,
                "ternary verify --device cpu\n"
                "ternary inspect model.gguf"},
};

}  // namespace gpuready::cli
