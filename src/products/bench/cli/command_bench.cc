// `gpuready bench ...`: compiler stacks timed by one protocol, compared, and promoted by proof.
#include "bench/cli/bench_commands.h"
#include "bench/run/adapter_child.h"
#include "cli/product.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_bench_<name>.cc.
constexpr CommandEntry kBenchSubcommands[] = {
    {"run", "Time one workload on every stack, each repeat in a new process", declare_bench_run},
    {"adapter", "Run as a stack: read BENCH_* variables, print one JSON object",
     declare_bench_adapter},
    {"compare", "Say whether one side's runs are faster than the other's, with intervals",
     declare_bench_compare},
    {"promote", "Decide whether to keep a change, by a rule with an error rate of 0.1%",
     declare_bench_promote},
    {"loop", "Alternate base and candidate until the rule decides or a budget ends",
     declare_bench_loop},
    {"history", "Show results over all runs, and where their level changed", declare_bench_history},
    {"report", "Show runs with ranking, distributions, history and environment: HTML, Markdown",
     declare_bench_report},
    {"import", "Import a result of google/benchmark, hyperfine, PyC's suite and others as a run",
     declare_bench_import},
    {"export", "Write runs as CSV, or in the format of google/benchmark or PyC's suite",
     declare_bench_export},
};

constexpr OwnMode kModes[] = {
    {bench::kAdapterChild, bench::run_adapter_child},
};

void declare_bench(CommandSpec& command) { command.subcommands = kBenchSubcommands; }

}  // namespace

extern const Product bench_product;
const Product bench_product = {
    .command = {"bench", "Benchmark compiler stacks and compare runs with confidence intervals",
                declare_bench},
    .modes = kModes,
};

}  // namespace gpuready::cli
