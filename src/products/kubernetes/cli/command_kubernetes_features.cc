#include <memory>

#include "kubernetes/cli/kubernetes_commands.h"
#include "kubernetes/report/features.h"

namespace gpuready::cli {
namespace {

struct FeaturesCommand {
  NodeOptions node;
  std::string out = "-";
};

Result<int> run_features(const FeaturesCommand& options) {
  const auto status = status_of_node(options.node);
  if (!status && options.node.state != kKeptResultsFile) return std::unexpected(status.error());
  const Report report = TRY(look_at_node(options.node));
  TRY(write_file(options.out, kubernetes::features(report, status)));
  return static_cast<int>(Exit::ok);
}

}  // namespace

void declare_kubernetes_features(CommandSpec& command) {
  auto options = std::make_shared<FeaturesCommand>();
  command.run = [options] { return run_features(*options); };
  add_node_options(command, options->node);
  command.add({{.name = "--out",
                .value = &options->out,
                .help = "Replace this file instead of printing",
                .type = "FILE",
                .files = Files::written}});
  command.footer = "Exit codes: 0 they are written, whatever they say; 2 wrong usage.";
}

}  // namespace gpuready::cli
