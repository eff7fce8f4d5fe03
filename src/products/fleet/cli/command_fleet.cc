// `gpuready fleet ...`: many machines as one.
#include "cli/product.h"
#include "fleet/cli/fleet_commands.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kFleetSubcommands[] = {
    {"merge", "Merge the reports of many nodes into one page: states, causes, the odd one out",
     declare_fleet_merge,
     "fleet merge all.json --nodes n[01-64]  # what srun wrote\n"
     "fleet merge reports/ --html fleet.html"},
};

void declare_fleet(CommandSpec& command) { command.subcommands = kFleetSubcommands; }

}  // namespace

extern const Product fleet_product;
const Product fleet_product = {
    .command = {"fleet", "Judge many machines together", declare_fleet,
                "fleet merge all.json --nodes n[01-64]  # what srun wrote\n"
                "fleet merge reports/ --html fleet.html"},
};

}  // namespace gpuready::cli
