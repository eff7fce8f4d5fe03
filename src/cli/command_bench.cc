// `gpuready bench ...`: compiler stacks timed by one protocol, compared, and promoted by proof.
#include "cli/bench_commands.h"
#include "cli/commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_bench_<name>.cc.
constexpr CommandEntry kBenchSubcommands[] = {
    {"run", "Time one workload on every stack, each repeat in a fresh process", declare_bench_run},
    {"adapter", "Be such a stack: read BENCH_* variables, answer with one JSON object",
     declare_bench_adapter},
    {"compare", "Say whether one side's runs are faster than the other's, and how sure that is",
     declare_bench_compare},
    {"promote", "Say whether a change may be kept: a rule that noise passes once in thousands",
     declare_bench_promote},
    {"loop", "Run base and candidate by turns until it is decided, or a budget ends",
     declare_bench_loop},
    {"history", "Show how figures went from run to run, and where their level changed",
     declare_bench_history},
    {"report", "Show runs with ranking, distributions, history and environment: HTML, Markdown",
     declare_bench_report},
    {"import", "Take a result of google/benchmark, nvbench or llama-bench in as a run",
     declare_bench_import},
    {"export", "Write runs as CSV, or as google/benchmark or PyC's suite writes them",
     declare_bench_export},
};

}  // namespace

void declare_bench(CommandSpec& command) { command.subcommands = kBenchSubcommands; }

}  // namespace gpuready::cli
