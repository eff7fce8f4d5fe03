// `gpuready kubernetes ...`: the answer where Kubernetes looks for it.
#include "cli/product.h"
#include "kubernetes/cli/kubernetes_commands.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kKubernetesSubcommands[] = {
    {"condition", "Say whether a node condition holds, as node-problem-detector asks",
     declare_kubernetes_condition,
     "kubernetes condition not-ready\n"
     "kubernetes condition untested --valid 7d"},
    {"features", "Write labels of the node for Node Feature Discovery", declare_kubernetes_features,
     "kubernetes features\n"
     "kubernetes features --out features.d/gpuready"},
    {"event", "Tell NVSentinel what the node's faults are, or that it has none",
     declare_kubernetes_event,
     "kubernetes event --node \"$NODE_NAME\"\n"
     "kubernetes event --node n1 --socket /run/nvsentinel/nvsentinel.sock"},
    {"copy", "Copy this program into a volume, for a container that lacks it",
     declare_kubernetes_copy,
     "kubernetes copy /shared/gpuready\n"
     "kubernetes copy ./gpuready"},
};

void declare_kubernetes(CommandSpec& command) { command.subcommands = kKubernetesSubcommands; }

}  // namespace

extern const Product kubernetes_product;
const Product kubernetes_product = {
    .command = {"kubernetes", "Conditions, labels and events of a Kubernetes node",
                declare_kubernetes,
                "kubernetes condition not-ready\n"
                "kubernetes features"},
};

}  // namespace gpuready::cli
