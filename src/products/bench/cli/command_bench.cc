// `gpuready bench ...`: compiler stacks timed by one protocol, compared, and promoted by proof.
#include "bench/cli/bench_commands.h"
#include "bench/run/adapter_child.h"
#include "cli/product.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_bench_<name>.cc.
constexpr CommandEntry kBenchSubcommands[] = {
    {"run", "Time one workload on every stack, each repeat in a new process", declare_bench_run,
     "bench run --tag base  # an MLP on every stack that is installed\n"
     "bench run --task gemm --m 4096 --n 4096 --k 4096 --tag candidate"},
    {"adapter", "Run as a stack: read BENCH_* variables, print one JSON object",
     declare_bench_adapter,
     "bench adapter --env  # the exports for another suite\n"
     "bench adapter --stack gpuready"},
    {"compare", "Say whether one side's runs are faster than the other's, with intervals",
     declare_bench_compare,
     "bench compare base candidate\n"
     "bench compare base candidate --margin 2 --json=compare.json"},
    {"promote", "Decide whether to keep a change: a sure gain, and no figure lost",
     declare_bench_promote,
     "bench promote base candidate --idea MY_VARIABLE\n"
     "bench promote base candidate --idea commit --min-gain 3"},
    {"loop", "Alternate base and candidate until the rule decides or a budget ends",
     declare_bench_loop,
     "bench loop base candidate --idea FAST=1\n"
     "bench loop base candidate --idea commit --candidate-command ./new"},
    {"history", "Show results over all runs, and where their level changed", declare_bench_history,
     "bench history\n"
     "bench history --stack torch_compile --kpi p50"},
    {"report", "Show runs with ranking, distributions, history and environment: HTML, Markdown",
     declare_bench_report,
     "bench report --html report.html  # the latest run\n"
     "bench report base,candidate --md report.md"},
    {"import", "Import a result of google/benchmark, hyperfine, PyC's suite and others as a run",
     declare_bench_import,
     "bench import result.json --tag base\n"
     "bench import result.json"},
    {"export", "Write runs as CSV, or in the format of google/benchmark or PyC's suite",
     declare_bench_export,
     "bench export base --out base.csv\n"
     "bench export base --format google-benchmark"},
};

constexpr OwnMode kModes[] = {
    {bench::kAdapterChild, bench::run_adapter_child},
};

void declare_bench(CommandSpec& command) { command.subcommands = kBenchSubcommands; }

}  // namespace

extern const Product bench_product;
const Product bench_product = {
    .command = {"bench", "Benchmark compiler stacks and compare runs with confidence intervals",
                declare_bench,
                "bench run --task gemm --tag base\n"
                "bench compare base candidate"},
    .modes = kModes,
};

}  // namespace gpuready::cli
