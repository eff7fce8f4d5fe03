#include <memory>

#include "kubernetes/cli/kubernetes_commands.h"
#include "kubernetes/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct ConditionCommand {
  NodeOptions node;
  std::string name;
};

Result<kubernetes::Condition> condition(const ConditionCommand& options) {
  if (options.name == "untested") return kubernetes::untested(status_of_node(options.node));
  return TRY(judge_node(options.node)).condition;
}

Result<int> run_condition(const ConditionCommand& options) {
  const auto found = TRY(condition(options));
  TRY(write_file("-", found.line + "\n"));
  return static_cast<int>(exit_of(found));
}

}  // namespace

void declare_kubernetes_condition(CommandSpec& command) {
  auto options = std::make_shared<ConditionCommand>();
  command.run = [options] { return run_condition(*options); };
  command.add({{.name = "CONDITION",
                .value = &options->name,
                .help = "not-ready: a GPU has a problem; untested: no test that counts has passed",
                .one_of = {"not-ready", "untested"},
                .required = true}});
  add_node_options(command, options->node);
  command.footer =
      "Exit codes: 0 the condition does not hold; 1 it holds; others: unknown (2 wrong usage, 4 "
      "undetermined). One line of at most 80 bytes says why.";
}

}  // namespace gpuready::cli
