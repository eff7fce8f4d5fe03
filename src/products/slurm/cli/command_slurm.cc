// `gpuready slurm ...`: what Slurm runs on its nodes.
#include "cli/product.h"
#include "slurm/cli/look_child.h"
#include "slurm/cli/slurm_commands.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kSlurmSubcommands[] = {
    {"health", "HealthCheckProgram: drain this node for a cause, resume it after a test",
     declare_slurm_health,
     "slurm health\n"
     "slurm health --dry-run"},
    {"prolog", "Before a job: fail if one of its GPUs is bad", declare_slurm_prolog,
     "slurm prolog\n"
     "slurm prolog --fail-unknown"},
    {"epilog", "After a job: drain this node if its GPUs are left unusable", declare_slurm_epilog,
     "slurm epilog\n"
     "slurm epilog --dry-run"},
    {"install", "Show, or write, the hooks and the lines for slurm.conf", declare_slurm_install,
     "slurm install\n"
     "slurm install --write"},
    {"doctor", "Show what in Slurm's configuration does not match this node's GPUs",
     declare_slurm_doctor,
     "slurm doctor\n"
     "slurm doctor --conf /etc/slurm/slurm.conf --node node7"},
};

constexpr OwnMode kModes[] = {{kSlurmLook, run_slurm_look}};

void declare_slurm(CommandSpec& command) { command.subcommands = kSlurmSubcommands; }

}  // namespace

extern const Product slurm_product;
const Product slurm_product = {
    .command = {"slurm", "Keep jobs of Slurm away from bad GPUs", declare_slurm,
                "slurm install\n"
                "slurm health --dry-run"},
    .modes = kModes,
};

}  // namespace gpuready::cli
