// `gpuready fleet ...`: many machines as one.
#include "cli/product.h"
#include "fleet/cli/fleet_commands.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kFleetSubcommands[] = {
    {"merge", "Merge the reports of many nodes into one page: states, causes, the odd one out",
     declare_fleet_merge,
     "fleet merge all.json --nodes 'n[01-64]'  # what srun wrote\n"
     "fleet merge reports/ --html fleet.html"},
    {"slow", "Find slow nodes, groups of nodes and links by rounds of pairs", declare_fleet_slow,
     "fleet slow --nodes 'n[1-64]' --plan  # the first round\n"
     "fleet slow --topology topology.conf --runner slurm --results slow.txt"},
};

void declare_fleet(CommandSpec& command) { command.subcommands = kFleetSubcommands; }

}  // namespace

extern const Product fleet_product;
const Product fleet_product = {
    .command = {"fleet", "Judge many machines together", declare_fleet,
                "fleet merge all.json --nodes 'n[01-64]'  # what srun wrote\n"
                "fleet merge reports/ --html fleet.html"},
};

}  // namespace gpuready::cli
